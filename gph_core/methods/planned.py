"""Plans of methods that choose a schedule before any run, and rules of uniform spacing."""

from __future__ import annotations

from collections.abc import Callable

from ..planning.planners import Plan
from ..schedule import Schedule, image_uniform, uniform
from .method import Method, Setting
from .table import METHODS, VARIANTS

RULES: dict[str, Callable[[int, int], Schedule]] = {
    "uniform (images)": image_uniform, "uniform (videos)": uniform,
}  # fmt: skip
PLANNED = {n: method for n, method in (METHODS | VARIANTS).items() if not method.is_adaptive}
FEWEST = 4  # full steps for which the rules of uniform spacing were published


def planned(method: Method, setting: Setting) -> Plan:
    """Plan of a method; ``ValueError`` if its policy cannot work with so few full steps."""
    assert method.plan is not None
    plan = method.plan(setting)
    needed = plan.policy.min_anchors
    if plan.schedule.num_cached and plan.schedule.num_full <= needed:
        raise ValueError(
            f"{plan.policy} needs {needed} first full steps and the last one, not "
            f"{plan.schedule.num_full} in all; ask for {needed + 1} full steps or more"
        )
    plan.policy.check(plan.schedule)
    return noted(plan) if "uniform" in method.rule else plan


def noted(plan: Plan) -> Plan:
    """Plan of uniform spacing, with a note on numbers that the published rules do not cover."""
    if plan.schedule.num_full >= FEWEST or not plan.schedule.num_cached:
        return plan
    note = (
        f"the published rule keeps three first steps and the last one full, {FEWEST} in all; "
        f"with {plan.schedule.num_full} some of these are cached"
    )
    return plan._replace(note="; ".join(filter(None, (plan.note, note))))
