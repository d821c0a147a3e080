"""The *Plan Schedule* node: schedules of methods that decide before any run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from comfy_api.latest import io

from ...gph_core.analysis.step_sensitivity import StepSensitivity, plan_by_sensitivity
from ...gph_core.calibration.entry import Calibration, fit_of
from ...gph_core.methods.method import Method, Setting
from ...gph_core.methods.planned import PLANNED, RULES, noted, planned
from ...gph_core.paths.library import NONE
from ...gph_core.paths.speeds import check_full, full_of
from ...gph_core.planning.planners import Plan
from ...gph_core.policies.extrapolation import Reuse
from ...gph_core.reports.plan_report import calibration_text, plan_text
from ..hook.setup import of_model, of_sigmas
from ..library import calibrations
from ..schema.inputs import check_choice, count_input, speed_input
from ..schema.node import Node
from ..schema.types import (
    COUNT,
    METHODS,
    PolicyType,
    ScheduleText,
    ScheduleType,
    SensitivityType,
)

GAIN = Method(
    "propagation gain",
    "GPH paper, propagation from one cached step",
    "cheapest path through feature errors, each multiplied by its propagation gain",
    Reuse(),  # plans have the policy of the measurement instead
    plan=lambda s: plan_by_sensitivity(s.fit, _full_of(s)),
)
ROWS = PLANNED | {GAIN.name: GAIN}
CHOICES = (*ROWS, *RULES)


class PlanSchedule(Node):
    """Choose a schedule and a policy from a method and a number of full steps."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        rules = "; ".join(f"{name}: {method.rule}" for name, method in ROWS.items())
        return io.Schema(
            node_id="GPH_PlanSchedule",
            display_name="Plan Schedule",
            category=METHODS,
            description=(
                "Outputs the schedule and the policy of a method that fixes them before the run: "
                "TaylorSeer, HiCache, L2P, DPCache, BudCache, MeanCache, propagation gain, or "
                "uniform spacing. Connect both to Golden Path Cache and set its speed to Custom."
            ),
            search_aliases=[
                "TaylorSeer, HiCache, L2P", "DPCache, BudCache, MeanCache", "uniform", "planner",
            ],
            inputs=[
                io.Combo.Input(
                    "method",
                    options=list(CHOICES),
                    default="DPCache",
                    tooltip=(
                        f"How the full steps are chosen. {rules}; uniform: uniform spacing with "
                        "residual reuse."
                    ),
                ),
                io.Int.Input(
                    "steps",
                    default=50,
                    min=1,
                    max=1000,
                    tooltip="The sampler's step count, unless sigmas are connected.",
                ),
                speed_input(),
                count_input(fewest=1),
                io.Combo.Input(
                    "calibration",
                    options=[NONE, *calibrations.FILES.names()],
                    default=NONE,
                    tooltip=(
                        "A file of Calibrate, made with your model, sampler, steps, size and CFG. "
                        f"Needed by {', '.join(n for n, m in PLANNED.items() if m.needs)}."
                    ),
                ),
                io.Sigmas.Input(
                    "sigmas",
                    optional=True,
                    tooltip=(
                        "Your noise levels. They set the number of steps, and the calibration "
                        "must match them. Unconnected: this is not checked."
                    ),
                ),
                io.Model.Input(
                    "model",
                    optional=True,
                    tooltip=(
                        "As in your workflow. The calibration must be of this model, and even "
                        "spacing follows the rule for its kind, images or videos. Unconnected: "
                        "not checked, and without a calibration the rule is that for images."
                    ),
                ),
                SensitivityType.Input(
                    "sensitivity",
                    optional=True,
                    tooltip=(
                        f"From Propagation Gain, only for {GAIN.name}, which needs no "
                        "calibration."
                    ),
                ),
            ],
            outputs=[
                ScheduleType.Output(display_name="schedule"),
                PolicyType.Output(display_name="policy"),
                io.String.Output(display_name="text"),
            ],
        )  # fmt: skip

    @classmethod
    def check_inputs(cls, method: str | None = None, calibration: str | None = None) -> None:
        check_choice(method, CHOICES, "a planned method")
        if method is not None and calibration is not None:
            _calibration(method, calibration)

    @classmethod
    def fingerprint_inputs(cls, calibration: str | None = None, **inputs) -> Any:
        # A file may have changed under the same name.
        return calibrations.FILES.changed_at(calibration)

    @classmethod
    def execute(
        cls, method: str, steps: int, speed: str, full_steps: int, calibration: str, sigmas=None,
        model=None, sensitivity: StepSensitivity | None = None,
    ) -> io.NodeOutput:  # fmt: skip
        present = {} if model is None else of_model(model)
        if sigmas is not None:
            steps = max(len(sigmas) - 1, 0)
            present |= of_sigmas(sigmas.tolist())
        full = full_steps if speed == COUNT else full_of(speed, steps)
        check_full(full, steps, fewest=1, spare=0)
        entry = _calibration(method, calibration)
        if method == GAIN.name:
            entry = _measured(sensitivity)
        if entry is not None:
            _check(entry, steps, present)
        conditions = {} if entry is None else entry.conditions
        family = present.get("family") or conditions.get("family") or ""
        if method in RULES:
            plan = noted(Plan(RULES[method](steps, full), Reuse(), 0.0))
        else:
            row = ROWS[method]
            fit = sensitivity if row is GAIN else fit_of(row, entry)
            plan = planned(row, Setting(steps, full, family, fit=fit, conditions=conditions))
        text = plan_text(method, plan, ROWS.get(method), family)
        lines = [*text, *calibration_text(entry, present)]
        schedule = ScheduleText(plan.schedule, f"planned by {method}")
        return io.NodeOutput(schedule, plan.policy, "\n".join(lines))


def _calibration(method: str, name: str) -> Calibration | None:
    """Calibration that a method needs; ``ValueError`` says what to do if it is missing."""
    if method in RULES or not ROWS[method].needs:
        return None
    if name == NONE:
        raise ValueError(
            f"{method} needs {PLANNED[method].needs} of your model; run Calibrate for it, and "
            "choose its file in calibration"
        )
    return calibrations.load(name, PLANNED[method].name)


def _measured(sensitivity: StepSensitivity | None) -> Calibration:
    """Conditions of a sensitivity curve, in the form of a calibration."""
    if sensitivity is None:
        raise ValueError(
            f"{GAIN.name} needs the effect of each step on the final latent of your model; "
            "connect the sensitivity of Propagation Gain"
        )
    report = {"num_examples": sensitivity.num_prompts}
    return Calibration(GAIN.name, sensitivity.conditions, report=report)


def _full_of(setting: Setting) -> int:
    assert setting.num_full is not None
    return setting.num_full


def _check(entry: Calibration, steps: int, present: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` if a calibration is for other conditions or another step count."""
    entry.check(present, partly=True)
    calibrated = len(entry.conditions.get("sigmas", [])) - 1
    if calibrated != steps:
        raise ValueError(
            f"{entry.method} was calibrated for {calibrated} steps, this plan is for {steps}; "
            "set the same step count, or calibrate for this one"
        )
