"""Calibrated values under other conditions than theirs: with a note, or refused."""

import comfy.samplers
import pytest
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.cache import adaptive
from golden_path_pack.nodes.cache.plan_schedule import PlanSchedule
from golden_path_pack.nodes.schema.types import COUNT

from ...support.comfy.calibrate_nodes import (
    CASES,
    FULL,
    STEPS,
    calibrated,
    found,
    inputs,
    with_lora,
    work_of,
)
from ...support.zoo import zoo

pytestmark = pytest.mark.usefixtures("in_a_run")


def notes_of(given, plan):
    """Of a run of the first example under Adaptive Cache."""
    return [n for n in work_of(given).sampling(0).under(plan)[1].notes if "calibration of" in n]


def test_a_fit_serves_other_settings_at_a_threshold_with_one_note_and_its_threshold_does_not():
    model = zoo.build(CASES["FLUX dev"])
    given = inputs(count=1, model=model)
    calibrated("MagCache", **given)
    threshold, *_ = found("MagCache", **given)
    by_hand = adaptive.plan_of("MagCache", "Threshold", threshold, "mine")
    by_speed = adaptive.plan_of("MagCache", COUNT, 0.0, "mine", FULL)
    assert notes_of(given, by_hand) == notes_of(given, by_speed) == []
    lora = "other weights or patches of the model, such as a LoRA"
    others = {
        "another size": inputs(count=1, model=model, size=12),
        lora: given | {"model": with_lora(model)},
        "other noise levels": inputs(count=1, model=model, steps=13),
        "another sampler; another CFG": given | {"sampler": comfy.samplers.sampler_object("heun")}
        | {"cfg": 2.0},
    }  # fmt: skip
    for words, other in others.items():
        assert notes_of(other, by_hand) == [
            f"this run differs from the calibration of MagCache ({words}), so what was measured "
            "there may fit less well"
        ]
        with pytest.raises(ValueError, match="MagCache was calibrated with "):
            notes_of(other, by_speed)
    with pytest.raises(ValueError, match=f"with {lora}; choose a calibration"):
        notes_of(others[lora], by_speed)


def test_a_fit_of_another_model_is_refused_at_a_threshold_too():
    calibrated("MagCache", **inputs(count=1))
    plan = adaptive.plan_of("MagCache", "Threshold", 0.1, "mine")
    with pytest.raises(ValueError, match="calibrated with the family FLUX, this run has Qwen"):
        notes_of(inputs("Qwen-Image", count=1), plan)


def test_planned_weights_fit_runs_like_those_that_they_were_calibrated_on():
    given = inputs(count=2)
    calibrated("L2P", **given)
    plan = PlanSchedule.execute("L2P", 50, COUNT, FULL, "mine", given["sigmas"], given["model"])
    schedule, policy, text = plan.result
    assert "on examples that it was not fitted to" in text
    _, record = work_of(given).sampling(0).cached(Schedule.parse(schedule), policy)
    assert len(record.cached_steps) == STEPS - FULL
    assert record.notes == ()
