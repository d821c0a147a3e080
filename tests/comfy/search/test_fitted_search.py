"""Schedule Search with weights that are fitted to every schedule, and the speed that takes them."""

import functools
import json
import re

import comfy.ldm.flux.model
import comfy.model_management
import comfy.sample
import comfy.samplers
import pytest
import torch
from golden_path_pack.demo import comfy_model
from golden_path_pack.gph_core.experiments import examples as fitted_examples
from golden_path_pack.gph_core.paths.spacings import even, spacings
from golden_path_pack.gph_core.policies.as_json import policy_from_json, policy_to_json
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.policies.fitted import Fitted
from golden_path_pack.gph_core.run.record import RunRecord
from golden_path_pack.gph_core.run_plan import by_speed, fixed
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.gph_core.search.selection import PlainSteps
from golden_path_pack.gph_core.search.study import Measurement
from golden_path_pack.nodes.hook import patching
from golden_path_pack.nodes.library import user_paths
from golden_path_pack.nodes.sample import runner
from golden_path_pack.nodes.sample.assessing import Assessor
from golden_path_pack.nodes.sample.runner import LocalRunner
from golden_path_pack.nodes.sample.sampling import Sampling
from golden_path_pack.nodes.sample.workload import Workload, guider_for
from golden_path_pack.nodes.schema.types import COUNT
from golden_path_pack.nodes.search.schedule_search import AUTOMATIC, FITTED
from golden_path_pack.nodes.search.search_inputs import PUBLISHED_ENDS
from golden_path_pack.nodes.search.search_session import SearchSession

from ...support.comfy import tiny
from ...support.comfy.demo_examples import examples
from ...support.selection import later
from ...support.zoo import zoo
from .searched import once
from .test_schedule_search import demo

pytestmark = pytest.mark.usefixtures("in_a_run", "user")
STEPS = 12


def fitted(**changes):
    return demo(**{"policies": FITTED, "speed": "Quality", "evaluations": 3} | changes).result


searched = once(fitted)


def sampled(plan, cfg=5.0, sampler="euler"):
    """Latent and record of a scoring example of the demo model, under a plan or in full."""
    model, listener = comfy_model.load_model(), tiny.Listener()
    patched = patching.attach(model, plan, listener) if plan else model
    example = examples()[0]
    guider = guider_for(model, None, cfg, example)
    guider.model_patcher = patched
    guider.model_options = patched.model_options
    noise = comfy.sample.prepare_noise(torch.zeros(1, 48, 8, 8), example.seed)
    if isinstance(sampler, str):
        sampler = comfy.samplers.sampler_object(sampler)
    latent = guider.sample(
        noise, torch.zeros_like(noise), sampler, zoo.sigmas(model, STEPS), disable_pbar=True,
        seed=example.seed,
    )  # fmt: skip
    return latent, listener.records[0] if plan else None


def test_a_fitted_path_is_delivered_and_kept_with_its_weights():
    schedule, policy, _, table = fitted()
    assert isinstance(policy, Fitted)
    assert policy.schedule == schedule
    assert {step for step, _ in policy.weights} == set(Schedule.parse(schedule).cached_steps)
    assert "fitted" in table
    (path,) = user_paths.read()
    assert (str(path.schedule), path.policy) == (schedule, policy)
    assert policy_from_json(policy_to_json(policy)) == policy


@pytest.mark.long
def test_neither_reused_states_nor_states_on_disk_change_anything(monkeypatch):
    found = searched()[:2]
    monkeypatch.setattr(fitted_examples, "STATES_IN_MEMORY", 0)
    assert fitted(study="other", state_gib=0.0)[:2] == found


@pytest.mark.parametrize("name", ["euler", *later("dpmpp_2m")])
def test_the_speed_takes_the_fitted_path_and_comes_closer_than_reuse(name):
    schedule = fitted(sampler=comfy.samplers.sampler_object(name))[0]
    full, _ = sampled(None, sampler=name)
    latent, record = sampled(by_speed("Quality", Reuse(), user_paths.every), sampler=name)
    assert re.fullmatch(
        r"demo, 5 of 12, fitted here on 2 examples, PSNR \d\d\.\d dB on \d+ others", record.origin
    )
    assert (record.policy, record.schedule) == ("fitted", schedule)
    assert (len(record.full_steps), record.notes) == (5, ())
    plan = fixed(Schedule.parse(schedule), Reuse())
    reuse, _ = sampled(plan, sampler=name)
    assert (latent - full).square().mean() < (reuse - full).square().mean()


def test_the_report_that_a_picture_keeps_has_the_weights():
    _, policy, *_ = searched()
    _, record = sampled(by_speed("Quality", Reuse(), user_paths.every))
    kept = RunRecord.from_dict(json.loads(json.dumps(record.to_dict())))
    assert policy_from_json(kept.policy_data) == policy


def test_the_table_compares_with_uniform_reuse_and_with_as_many_plain_steps():
    table = searched()[3].splitlines()
    assert table[1] == "5 of 12 steps full: 5 evaluations of the model, as long as 5 plain steps"
    assert "fitted: each cached step has its own weights, fitted to all 2 scoring examples" in table
    rows = [line for line in table if line.endswith(")")]
    assert any(line.endswith("residual reuse (uniform spacing)") for line in rows)
    # 12 i / 5 for i = 0 ... 4, rounded down.
    assert any(line.endswith("0,2,4,7,9/12, plain steps (5 plain steps)") for line in rows)
    (path,) = user_paths.read()
    assert {"the same, 5 plain steps", "the same, uniform spacing, residual reuse"} <= {
        *path.quality
    }


@pytest.mark.long
def test_where_the_blocks_are_not_known_uniform_reuse_is_of_velocities():
    class Foreign(comfy.ldm.flux.model.Flux):
        pass

    model = comfy_model.load_model()
    model.model.diffusion_model.__class__ = Foreign
    _, policy, _, table = fitted(policies=AUTOMATIC, model=model)
    assert isinstance(policy, Fitted)
    assert "velocity reuse (uniform spacing)" in table


def test_plain_euler_steps_are_velocity_reuse():
    model, example = comfy_model.load_model(), examples()[0]
    work = Workload(
        guider_for(model, None, 5.0, example), [example], {"samples": torch.zeros(1, 48, 8, 8)},
        comfy.samplers.sampler_object("euler"), zoo.sigmas(model, STEPS),
    )  # fmt: skip
    of_latents = LocalRunner(work, Assessor(None, {}))
    measured = [
        of_latents.measure(even(STEPS, 5), policy, [0])
        for policy in (PlainSteps(), Reuse(Site.GUIDED))
    ]
    plain, reuse = (found.metrics[0]["latent_mse"] for found in measured)
    assert plain == pytest.approx(reuse, rel=1e-4)
    assert [found.full_steps for found in measured] == [5, 5]


def test_at_another_cfg_the_speed_takes_another_path():
    searched()
    _, record = sampled(by_speed("Quality", Reuse(), user_paths.every), cfg=3.0)
    assert record.policy == "residual reuse"
    assert "demo, 5 of 12" not in record.origin


def test_with_a_sampler_that_needs_both_prompts_the_speed_takes_another_path():
    searched()
    _, record = sampled(by_speed("Quality", Reuse(), user_paths.every), sampler="euler_cfg_pp")
    assert record.policy == "residual reuse"
    assert record.cached_steps


def test_the_same_path_as_a_schedule_of_the_users_is_refused_at_another_cfg():
    schedule, policy, *_ = searched()
    with pytest.raises(ValueError, match="cfg"):
        sampled(fixed(Schedule.parse(schedule), policy), cfg=3.0)


def test_weights_of_one_sampler_are_not_used_with_another():
    schedule, policy, *_ = fitted(sampler=comfy.samplers.sampler_object("dpmpp_2m"))
    _, record = sampled(by_speed("Quality", Reuse(), user_paths.every), sampler="euler")
    assert record.policy == "residual reuse"
    assert "demo, 5 of 12" not in record.origin
    with pytest.raises(ValueError, match="the sampler dpmpp_2m, this run has euler"):
        sampled(fixed(Schedule.parse(schedule), policy), sampler="euler")


def test_weights_without_noise_are_not_used_with_noise():
    schedule, policy, *_ = searched()
    churn = comfy.samplers.ksampler("euler", {"s_churn": 5.0})
    _, record = sampled(by_speed("Quality", Reuse(), user_paths.every), sampler=churn)
    assert record.policy == "residual reuse"
    with pytest.raises(ValueError, match="the sampler options of that time, this run has another"):
        sampled(fixed(Schedule.parse(schedule), policy), sampler=churn)


@pytest.mark.parametrize("name", ["uni_pc", *later("dpmpp_2m", "res_multistep", "deis")])
@pytest.mark.filterwarnings("ignore:__array_wrap__ must accept context")  # ComfyUI's deis
def test_a_run_of_the_fit_ends_where_the_sampler_does_under_the_weights(name, monkeypatch):
    ends = []
    of_fit = fitted_examples.fit

    def watched(*args, **options):
        ends.append(of_fit(*args, **options))
        return ends[-1]

    monkeypatch.setattr(fitted_examples, "fit", watched)
    schedule, policy, *_ = fitted(sampler=comfy.samplers.sampler_object(name))
    latent, _ = sampled(fixed(Schedule.parse(schedule), policy), sampler=name)
    # What ComfyUI makes of the last state: it divides by 1 - σ, which uni_pc leaves at 0.001.
    scale = 1 - 0.001 * (name == "uni_pc")
    torch.testing.assert_close(ends[-1].ends[0] / scale, latent, rtol=1e-3, atol=1e-3)


def test_a_sampler_with_noise_is_refused_before_anything_is_sampled(monkeypatch):
    sampler = comfy.samplers.sampler_object("euler_ancestral")
    monkeypatch.setattr(Sampling, "full", None)
    with pytest.raises(ValueError, match="can be searched: weights cannot be fitted for the sam"):
        fitted(sampler=sampler)


def test_automatic_fits_weights_where_the_sampler_allows_it():
    assert isinstance(fitted(policies=AUTOMATIC)[1], Fitted)


def test_automatic_takes_residual_reuse_for_another_sampler_and_says_so():
    # It draws noise at every step: no weights are ever fitted for it.
    sampler = comfy.samplers.sampler_object("euler_ancestral")
    _, policy, _, table = fitted(policies=AUTOMATIC, sampler=sampler)
    assert policy == Reuse()
    assert "fitted was left out: " in table
    assert "euler_ancestral" in table


@pytest.mark.long
def test_first_and_last_steps_can_be_required_as_published():
    # All of 6 steps with 3 full: beside step 0 two of 1 to 5, or one of 1 to 4 and step 5.
    model = comfy_model.load_model()
    few = {"sigmas": zoo.sigmas(model, 6), "speed": COUNT, "full_steps": 3, "evaluations": 0}
    assert "10 schedules scored" in fitted(**few)[3]
    assert "4 schedules scored" in fitted(**few, required_steps=PUBLISHED_ENDS, study="other")[3]


@pytest.mark.parametrize("place", [0, *later(-1)])
def test_few_evaluations_give_the_best_of_the_first_spacings(monkeypatch, place):
    """Validation compares all of them, the last one, too, which three evaluations do not reach."""
    best = spacings(STEPS, 5)[place]

    def measure(_, schedule, examples):
        return Measurement([{"psnr": 90.0 if schedule == best else 9.0} for _ in examples], 1.0)

    monkeypatch.setattr(fitted_examples.UnderPolicy, "measure", measure)
    schedule, _, _, table = fitted()
    assert "3 schedules scored" in table
    assert Schedule.parse(schedule) == best


@pytest.mark.long
def test_a_batch_that_does_not_fit_into_memory_is_halved(monkeypatch):
    whole = fitted(batch_size=2)[0]
    of_any = runner.velocity_at

    def of_one(sampling, step, state):
        if len(state) > 1:
            raise comfy.model_management.OOM_EXCEPTION("out of memory")
        return of_any(sampling, step, state)

    monkeypatch.setattr(runner, "velocity_at", of_one)
    schedule, _, _, table = fitted(batch_size=2, study="small")
    assert schedule == whole
    assert "out of memory: from now on examples are sampled 1 at a time" in table


def test_the_full_runs_of_the_scoring_examples_are_sampled_once(monkeypatch):
    runs = []
    plain = comfy.samplers.sampler_object("euler")
    function = plain.sampler_function

    @functools.wraps(function)
    def counted(model, x, sigmas, **options):
        runs.append(len(sigmas) - 1)
        return function(model, x, sigmas, **options)

    monkeypatch.setattr(plain, "sampler_function", counted)
    monkeypatch.setattr(SearchSession, "_controls", lambda *_: [])  # runs of their own
    fitted(sampler=plain, validation=(), batch_size=1)
    assert runs == [STEPS] * 2  # one an example: the rest are Euler steps of the fit


@pytest.mark.long
def test_the_weights_that_are_delivered_need_no_full_runs_again(monkeypatch):
    begun = []
    plain = comfy.samplers.sampler_object("euler")
    function = plain.sampler_function

    @functools.wraps(function)
    def watched(model, x, sigmas, **options):
        begun.append(float(x.flatten()[0]))
        return function(model, x, sigmas, **options)

    monkeypatch.setattr(plain, "sampler_function", watched)
    monkeypatch.setattr(SearchSession, "_controls", lambda *_: [])
    fitted(sampler=plain, batch_size=1)
    scoring, others = begun[:2], begun[2:]  # the full runs of two examples, then validation's
    assert others
    assert not set(scoring) & set(others)


@pytest.mark.long
def test_batches_change_nothing_but_rounding():
    alone, together = fitted(batch_size=1)[:2], fitted(batch_size=2, study="other")[:2]
    assert alone[0] == together[0]
    for (step, one), (other_step, other) in zip(alone[1].weights, together[1].weights, strict=True):
        assert step == other_step
        assert [w for _, w in one] == pytest.approx([w for _, w in other], rel=1e-3, abs=1e-3)
