"""Propagation Gain: what it measures, beside runs by hand, and what its file keeps."""

import json

import comfy.samplers
import numpy as np
import pytest
import torch
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.extrapolation import Hermite, Reuse, Taylor
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor
from golden_path_pack.nodes.analyze.propagation_gain import PropagationGain

from ...support.comfy import tiny
from ...support.comfy.isolations import PROMPTS, STEPS, demo_inputs, inputs, run
from ...support.comfy.recorded_runs import recorded
from ...support.comfy.tiny_recordings import examples
from ...support.selection import later

pytestmark = pytest.mark.usefixtures("in_a_run")

MEASURED = range(1, STEPS - 1)


def steps_of(result):
    """By example, what was measured of its steps."""
    return [example["steps"] for example in json.loads(result[2])["examples"]]


def sampled(model, schedule, example, policy=None):
    """Final latent of KSampler under a schedule, in the scale of the model."""
    seed = example.seed
    noise = comfy.sample.prepare_noise(torch.zeros(1, 16, 8, 8), seed)
    latent = comfy.sample.sample(
        tiny.attach(model, schedule, policy), noise, STEPS, 3.0, "euler", "simple",
        example.positive, example.negative, torch.zeros_like(noise), disable_pbar=True, seed=seed,
    )  # fmt: skip
    return latent * model.model.latent_format.scale_factor


def isolated(step):
    return ",".join(str(n) for n in range(STEPS) if n != step) + f"/{STEPS}"


@pytest.mark.parametrize(
    "policy",
    [Reuse(), *later(Taylor(1), Reuse(Site.OUTPUT), Taylor(1, site=Site.GUIDED))],
    ids=str,
)
def test_the_output_error_is_that_of_a_run_with_this_step_cached(model, policy):
    measured = steps_of(run(model, policy=policy).result)
    for example, steps in zip(examples(2), measured, strict=True):
        full = sampled(model, f"0-{STEPS - 1}/{STEPS}", example)
        assert [found["step"] for found in steps] == [*MEASURED]
        for found in steps:
            alone = sampled(model, isolated(found["step"]), example, policy)
            expected = (alone - full).norm().item()
            assert found["output_error"] == pytest.approx(expected, rel=1e-3)
            assert expected > 1e-3


def test_errors_of_features_and_velocities_are_those_of_hooks(model):
    # Residuals of both prompts together, and the velocity after guidance.
    found, _ = steps_of(run(model, longest_jump=3).result)
    with recorded(model, is_wan=False) as (watched, runs):
        sampled(watched, f"0-{STEPS - 1}/{STEPS}", examples(1)[0])
    (hand,) = runs
    residuals = [a - b for a, b in zip(hand.after, hand.before, strict=True)]
    for step in MEASURED:
        for distance, error in enumerate(found[step - 1]["feature_errors"], 1):
            expected = (residuals[step] - residuals[step - distance]).norm().item()
            assert error == pytest.approx(expected, rel=1e-4)
    assert [len(step["feature_errors"]) for step in found] == [1, 2, 2, 2]


def test_reused_guided_velocities_are_their_own_features(model):
    found, _ = steps_of(run(model, policy=Reuse(Site.GUIDED)).result)
    with recorded(model, is_wan=False) as (watched, runs):
        sampled(watched, f"0-{STEPS - 1}/{STEPS}", examples(1)[0])
    guided, sigmas = runs[0].guided, inputs(model)["sigmas"]
    for step in found:
        k = step["step"]
        change = (guided[k] - guided[k - 1]).norm().item()
        assert step["feature_errors"][0] == pytest.approx(change, rel=1e-4)
        assert step["velocity_error"] == pytest.approx(change, rel=1e-4)
        length = (sigmas[k] - sigmas[k + 1]).item()
        assert step["next_state_error"] == pytest.approx(change * length, rel=1e-4)


def test_the_demo_model_has_a_sensitivity_a_figure_and_numbers():
    result = PropagationGain.execute(**demo_inputs())
    sensitivity, figure, text = result.result
    report = json.loads(text)
    assert figure.shape[0] == 1
    assert figure.shape[-1] == 3
    assert figure.std() > 0
    steps = [example["steps"] for example in report["examples"]]
    assert [example["prompt"] for example in report["examples"]] == PROMPTS.splitlines()
    # The gains once more, from the numbers of the examples.
    for place, step in enumerate(MEASURED):
        here = [rows[place] for rows in steps]
        velocity = np.mean([s["velocity_error"] / s["feature_errors"][0] for s in here])
        future = np.mean([s["output_error"] / s["next_state_error"] for s in here])
        expected = velocity * report["step_size"][place] * future
        assert sensitivity.gains[step] == pytest.approx(expected)
        assert report["propagation_gain"]["mean"][place] == pytest.approx(expected)
    assert sensitivity.gains[0] is sensitivity.gains[-1] is None
    assert sensitivity.conditions["family"] == "FLUX"
    assert len(report["correlations"]) == 6
    (shown,) = result.ui["gph_summary"]
    assert shown["text"].startswith("2 examples, 4 steps of 6 cached alone, residual reuse\n")
    assert (
        f"largest propagation gain: {max(report['propagation_gain']['mean']):.3g} at step"
        in (shown["text"])
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sampler": "heun"}, "covers samplers of one Euler step .* euler and ddim .*, not heun"),
        ({"sampler": "euler_ancestral"}, "not euler_ancestral: .* choose euler"),
        ({"policy": TwoAnchor()}, "predicted inside the model; choose a policy"),
        ({"sigmas": torch.tensor([1.0, 0.5, 0.6, 0.0])}, "noise levels do not fall at step 1"),
    ],
)
def test_what_cannot_be_measured_is_an_error_before_anything_runs(model, changes, message, user):
    if "sampler" in changes:
        changes = {"sampler": comfy.samplers.sampler_object(changes["sampler"])}
    with pytest.raises(ValueError, match=message):
        run(model, **changes)
    assert not list(user.rglob("*.jsonl"))


def short(model, **changes):
    """What is measured in a run of three steps."""
    return run(model, sigmas=torch.tensor([1.0, 0.7, 0.3, 0.0]), **changes)


def test_other_conditions_need_another_name(model):
    short(model)
    others = {
        "made with the guidance cfg 3.0, now it is cfg 2.0": {"cfg": 2.0},
        'made with the policy "residual reuse"': {"policy": Hermite(2)},
        "made with the longest jump 3, now it is 2": {"longest_jump": 2},
    }
    for message, changes in others.items():
        with pytest.raises(ValueError, match=message):
            short(model, **changes)


def test_ddim_is_covered_as_it_is_euler(model):
    ddim = short(model, sampler=comfy.samplers.sampler_object("ddim"), name="ddim")
    assert steps_of(ddim.result) == steps_of(short(model).result)


def test_it_runs_again_when_its_file_has_changed(model):
    before = PropagationGain.fingerprint_inputs(name="mine", cfg=3.0)
    short(model)
    after = PropagationGain.fingerprint_inputs(name="mine", cfg=3.0)
    assert before != after == PropagationGain.fingerprint_inputs(name=None)
    assert "contains '/'" in PropagationGain.validate_inputs(name="a/b")
