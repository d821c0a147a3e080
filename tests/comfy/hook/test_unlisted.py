"""hook/compatibility: other transformers are computed in full with the reason, or by velocities."""

from pathlib import Path

import comfy.sample
import comfy.samplers
import pytest
import torch
from comfy.patcher_extension import WrappersMP
from golden_path_pack.gph_core.model import families
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.extrapolation import Reuse, Taylor
from golden_path_pack.gph_core.policies.fitted import Fitted

from ...support.comfy import tiny
from ...support.zoo import zoo
from ...support.zoo.zoo_unlisted import CASES

STEPS, FULL = 6, (0, 1, 3)
SCHEDULE = "0,1,3/6"
# Numbers without a meaning: of each cached step, for its newest full steps.
WEIGHTS = {2: {1: 1.4, 0: -0.3}, 4: {3: 1.2, 1: -0.1}, 5: {3: 1.3, 1: -0.5, 0: 0.1}}
FITTED = Fitted(SCHEDULE, tuple((step, tuple(of.items())) for step, of in WEIGHTS.items()))
REUSED = {2: {1: 1.0}, 4: {3: 1.0}, 5: {3: 1.0}}


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES.keys())
def case(request):
    return request.param


@pytest.fixture(scope="module")
def model(case):
    return zoo.build(case)


@pytest.fixture(scope="module")
def plain(case, model):
    return zoo.sample(case, model, steps=STEPS)


def test_residuals_are_refused_with_the_reason_and_nothing_changes(case, model, plain):
    assert families.detect(model.model.diffusion_model) is None
    listener = tiny.Listener()
    assert zoo.same(
        zoo.sample(case, tiny.attach(model, SCHEDULE, Reuse(), listener), steps=STEPS), plain
    )
    assert listener.refusals == [
        f"{case.family} is not a supported transformer (docs/models.md lists them); use an output "
        "or velocity policy, a path with fitted weights, or EasyCache: these work with any model"
    ]


def by_hand(case, model, weights, calls):
    """Latents of a run whose cached steps take a weighted sum of the guided velocities."""
    velocities, steps = {}, []

    def predict(executor, x, timestep, *args, **kwargs):
        step, sigma = len(steps), float(timestep[0])
        steps.append(1)
        if step in weights:
            velocity = sum(w * velocities[n] for n, w in weights[step].items())
            return x - sigma * velocity
        calls.append(step)
        denoised = executor(x, timestep, *args, **kwargs)
        velocities[step] = (x - denoised) / sigma
        return denoised

    patched = model.clone()
    patched.add_wrapper_with_key(WrappersMP.PREDICT_NOISE, "by hand", predict)
    return zoo.sample(case, patched, steps=STEPS)


@pytest.mark.parametrize(
    ("policy", "weights"),
    [(Reuse(Site.GUIDED), REUSED), (FITTED, WEIGHTS)],
    ids=["reuse", "fitted"],
)
def test_guided_velocities_are_predicted_as_by_hand(case, model, plain, policy, weights):
    listener, calls = tiny.Listener(), []
    expected = by_hand(case, model, weights, calls)
    assert calls == [*FULL]
    found = zoo.sample(case, tiny.attach(model, SCHEDULE, policy, listener), steps=STEPS)
    (record,) = listener.records
    assert (record.full_steps, record.cached_steps) == (FULL, (2, 4, 5))
    for one, other, full in zip(found, expected, plain, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)
        assert not torch.allclose(one, full, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("policy", [Taylor(1, site=Site.GUIDED), Reuse(Site.OUTPUT)], ids=str)
def test_the_model_does_not_run_on_such_a_cached_step(case, model, policy):
    calls = []
    handle = model.model.diffusion_model.register_forward_pre_hook(lambda *_: calls.append(1))
    try:
        zoo.sample(case, tiny.attach(model, SCHEDULE, policy), steps=STEPS, cfg=1.0)
    finally:
        handle.remove()
    assert len(calls) == len(FULL)


@pytest.mark.skipif("causal Wan" not in CASES, reason="this ComfyUI does not have it")
def test_the_sampler_of_causal_wan_is_never_cached():
    case = CASES["causal Wan"]
    model = zoo.build(case)
    sampler = comfy.samplers.ksampler("ar_video", {"num_frame_per_block": 1})
    listener, latent = tiny.Listener(), zoo.empty_latent(case)
    found = []
    for sampled in (model, tiny.attach(model, "0/2", Reuse(Site.GUIDED), listener)):
        with torch.inference_mode():
            result = comfy.sample.sample_custom(
                sampled, torch.ones_like(latent), 1.0, sampler, zoo.sigmas(model, 2),
                case.conditioning(1, 5), case.conditioning(2, 5), latent, disable_pbar=True, seed=1,
            )  # fmt: skip
        found.append(result.clone())
    assert torch.equal(*found)
    assert listener.refusals == [
        "the sampler ar_video needs all of its model calls; choose another"
    ]


def test_the_page_on_models_names_each(case):
    page = (Path(__file__).parents[3] / "docs" / "models.md").read_text("utf-8")
    assert f"`{case.family}`" in page.partition("## Not cached at their blocks")[2]
