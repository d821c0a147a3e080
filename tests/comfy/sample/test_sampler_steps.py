"""Steps of ComfyUI's samplers: found without a model, and what is fitted with them."""

from types import SimpleNamespace

import comfy.samplers
import pytest
import torch
from comfy import model_sampling as sampling
from comfy.samplers import KSAMPLER
from golden_path_pack.gph_core.fitting.closed_loop import fit
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.hook.setup import SamplingSetup
from golden_path_pack.nodes.sample import sampler_steps

NAMES = (
    "euler", "ddim", "dpmpp_2m", "res_multistep", "uni_pc", "uni_pc_bh2", "deis", "ipndm",
    "ipndm_v", "lms", "gradient_estimation",
)  # fmt: skip
SAMPLINGS = {
    "flow": (sampling.ModelSamplingDiscreteFlow, sampling.CONST),
    "epsilon": (sampling.ModelSamplingDiscrete, sampling.EPS),
}
STEPS = 9

pytestmark = pytest.mark.filterwarnings("ignore:__array_wrap__ must accept context")  # its deis


class Patcher:
    """What samplers ask a MODEL for."""

    def __init__(self, kind, steps=STEPS):
        self.steps = steps
        self.sampling = type("Sampling", SAMPLINGS[kind], {})()

    def get_model_object(self, name):
        return self.sampling

    @property
    def levels(self):
        return comfy.samplers.calculate_sigmas(self.sampling, "simple", self.steps)


class Model:
    """Model that remembers its states and velocities."""

    def __init__(self, patcher, velocity):
        self.inner_model = SimpleNamespace(model_patcher=patcher)
        self._velocity, self.states, self.velocities = velocity, [], []

    def __call__(self, x, sigma, **_):
        self.states.append(x.clone())
        self.velocities.append(self._velocity(x, float(sigma[0])))
        return x - sigma[0] * self.velocities[-1]


def steps_of(sampler, levels, patcher):
    guider = SimpleNamespace(model_patcher=patcher)
    return sampler_steps.steps_of(SamplingSetup(guider, sampler, levels, (1, 4)))


def run(patcher, sampler, start, velocity):
    """States at which a sampler evaluates a model, and its last; the velocities there."""
    model = Model(patcher, velocity)
    end = sampler.sampler_function(
        model, start.clone(), patcher.levels.clone(), extra_args={"seed": 7}, disable=True,
        callback=lambda _: None, **sampler.extra_options,
    )  # fmt: skip
    return [*model.states, end], model.velocities


@pytest.mark.parametrize("kind", SAMPLINGS)
@pytest.mark.parametrize("name", NAMES)
def test_the_steps_reproduce_the_states_of_comfyuis_sampler(name, kind):
    patcher, sampler = Patcher(kind), comfy.samplers.sampler_object(name)
    steps = steps_of(sampler, patcher.levels.tolist(), patcher)
    random = torch.Generator().manual_seed(1)
    start = torch.randn(2, 3, 4, 5, generator=random) * patcher.levels[0]
    states, velocities = run(
        patcher, sampler, start, lambda x, _: torch.randn(x.shape, generator=random)
    )
    assert len(velocities) == STEPS
    state = start
    for n, moves in enumerate(steps.moves):
        state = state + sum(length * velocities[j] for j, length in moves)
        error = (state - states[n + 1]).abs().max()
        assert error <= 1e-5 * states[n + 1].abs().max()


@pytest.mark.parametrize("name", NAMES)
def test_on_a_linear_model_the_fit_ends_where_the_full_run_does(name):
    patcher, sampler = Patcher("flow"), comfy.samplers.sampler_object(name)
    random = torch.Generator().manual_seed(2)
    levels, other = patcher.levels.tolist(), torch.randn(1, 2, 4, 4, generator=random)

    # Combinations of the start and of ``other``, at any step, so any two give all.
    def velocity(x, sigma):
        return 0.7 * x - (1 - sigma) * other

    starts = [torch.randn(1, 2, 4, 4, generator=random) for _ in range(3)]
    full = [run(patcher, sampler, start, velocity)[0] for start in starts]
    found = fit(
        Schedule.parse(f"0,1,5/{STEPS}"), steps_of(sampler, levels, patcher),
        lambda n: [states[n] for states in full],
        lambda n, now: [velocity(x, levels[n]) for x in now],
    )  # fmt: skip
    for end, states in zip(found.ends, full, strict=True):
        torch.testing.assert_close(end, states[-1], rtol=1e-4, atol=1e-4)


def test_rounding_at_high_noise_levels_is_no_move():
    # In double precision, less than a millionth is left of a velocity after six more steps.
    patcher = Patcher("epsilon", 50)
    steps = steps_of(comfy.samplers.sampler_object("dpmpp_2m"), patcher.levels.tolist(), patcher)
    assert max(n - moves[-1][0] for n, moves in enumerate(steps.moves)) <= 6


def test_the_end_of_uni_pc_is_at_its_own_noise_level():
    patcher = Patcher("flow")
    levels = patcher.levels.tolist()
    found = [
        steps_of(comfy.samplers.sampler_object(name), levels, patcher).end_level
        for name in ("euler", "dpmpp_2m", "uni_pc")
    ]
    assert found == [0, 0, pytest.approx(0.001)]


NOISE, MORE = "it adds noise during sampling", "it evaluates the model 17 times in 9 steps"
REFUSED = {
    "euler_ancestral": NOISE, "dpmpp_sde": NOISE, "dpmpp_2m_sde": NOISE, "er_sde": NOISE,
    "sa_solver": NOISE, "lcm": NOISE, "dpm_2": MORE, "heun": MORE, "exp_heun_2_x0": MORE,
    "heunpp2": "it evaluates the model 24 times in 9 steps",
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_other_samplers_are_refused_with_the_reason(name):
    patcher = Patcher("flow")
    with pytest.raises(ValueError, match=f"the sampler {name}: {REFUSED[name]}"):
        steps_of(comfy.samplers.sampler_object(name), patcher.levels.tolist(), patcher)


def test_euler_with_churn_is_refused_and_without_noise_an_ancestral_one_is_not():
    patcher, ksampler = Patcher("flow"), comfy.samplers.ksampler
    with pytest.raises(ValueError, match=NOISE):
        steps_of(ksampler("euler", {"s_churn": 1.0}), patcher.levels.tolist(), patcher)
    found = steps_of(ksampler("euler_ancestral", {"eta": 0.0}), patcher.levels.tolist(), patcher)
    assert all(len(moves) == 1 for moves in found.moves)


def test_a_function_that_needs_more_than_a_model_is_refused_with_its_error():
    def sample_mine(model, x, sigmas, **_):
        return model.secret

    patcher = Patcher("flow")
    with pytest.raises(ValueError, match=r"sampler mine: .*trying it failed .*secret.*choose one"):
        steps_of(KSAMPLER(sample_mine), patcher.levels.tolist(), patcher)
    with pytest.raises(ValueError, match="not built like ComfyUI's"):
        steps_of(object(), patcher.levels.tolist(), patcher)
