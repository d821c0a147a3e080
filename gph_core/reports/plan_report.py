"""Text of *Plan Schedule*: a plan and its conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..calibration.entry import Calibration
from ..files.condition_diff import in_words
from ..methods.method import Method
from ..methods.planned import RULES
from ..model.families import is_video
from ..planning.planners import Plan
from ..schedule import uniform


def plan_text(name: str, plan: Plan, method: Method | None, family: str) -> Iterator[str]:
    """Lines on a plan: what it is and what it costs.

    Args:
        name: of the method, or of a rule of uniform spacing.
        method: None for a rule.
    """
    schedule = plan.schedule
    yield f"{name}: {method.rule} ({method.source})" if method else name
    if method is None or "uniform" in method.rule:
        of_videos = is_video(family) if method else RULES[name] is uniform
        line = f"spaced by the GPH paper's rule for {'videos' if of_videos else 'images'}"
        is_guess = method is not None and not family
        yield line + ("; if your model makes videos, connect it to model" if is_guess else "")
    yield (
        f"{schedule}: {schedule.num_full} of {schedule.num_steps} steps full, at most "
        f"{schedule.num_steps / schedule.num_full:.2f}x faster"
    )
    yield f"policy: {plan.policy}"
    if risk := plan.policy.risk(schedule):
        yield f"warning: {risk}"
    if plan.cost:
        yield f"cost {plan.cost:.4g}, comparable only with plans of this calibration"
    if plan.note:
        yield plan.note


def calibration_text(calibration: Calibration | None, present: Mapping[str, Any]) -> Iterator[str]:
    """Lines on a plan's conditions, and on those that were not compared."""
    if calibration is not None:
        levels = "" if "sigmas" in present else "noise levels (connect sigmas), "
        model = "" if "family" in present else "model (connect it), "
        yield f"calibrated for: {in_words(calibration.conditions)}"
        yield f"calibration: {calibration.summary()}"
        yield f"not checked here: {levels}{model}sampler, CFG and size"
