"""The *Plan Schedule* node: schedules of methods that decide before any run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from comfy_api.latest import io

from ...gph_core.analysis.step_sensitivity import StepSensitivity, plan_by_sensitivity
from ...gph_core.calibration.entry import Calibration
from ...gph_core.files.condition_diff import in_words
from ...gph_core.methods.method import Method, Setting
from ...gph_core.methods.table import METHODS, VARIANTS
from ...gph_core.model.families import is_video
from ...gph_core.paths.retarget import num_full
from ...gph_core.paths.speeds import OF_STEPS, SPEEDS
from ...gph_core.planning.planners import Plan
from ...gph_core.policies.extrapolation import Reuse
from ...gph_core.reports.calibration_report import described
from ...gph_core.schedule import Schedule, image_uniform, uniform
from ..hook.conditions import of_model, of_sigmas
from ..library import calibrations
from ..schema.inputs import count_input, speed_input
from ..schema.types import CATEGORY, COUNT, PolicyType, ScheduleType, SensitivityType
from .adaptive import NONE, check_full, fit_of

RULES: dict[str, Callable[[int, int], Schedule]] = {
    "uniform (images)": image_uniform, "uniform (videos)": uniform,
}  # fmt: skip
PLANNED = {n: method for n, method in (METHODS | VARIANTS).items() if not method.is_adaptive}
GAIN = Method(
    "propagation gain",
    "source paper, propagation from one cached step",
    "cheapest path through feature errors, each times its propagation gain",
    Reuse(),  # the plan's is that of the measurement
    plan=lambda s: plan_by_sensitivity(s.fit, _full_of(s)),
)
ROWS = PLANNED | {GAIN.name: GAIN}
CHOICES = (*ROWS, *RULES)
FEWEST = 4  # full steps for which the rules of uniform spacing were published


class PlanSchedule(io.ComfyNode):
    """Choose a schedule and a policy from a method and a number of full steps."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        rules = "; ".join(f"{name}: {method.rule}" for name, method in ROWS.items())
        return io.Schema(
            node_id="GPH_PlanSchedule",
            display_name="Plan Schedule",
            category=CATEGORY,
            description=(
                "Gives the schedule and the policy of a method that settles them before any run: "
                "TaylorSeer, HiCache, L2P, DPCache, BudCache, MeanCache, propagation gain, or "
                "uniform spacing. "
                "Connect both to Golden Path Cache and set its speed to Custom."
            ),
            search_aliases=[
                "TaylorSeer", "HiCache", "L2P", "DPCache", "BudCache", "MeanCache", "uniform",
                "schedule", "planner",
            ],
            inputs=[
                io.Combo.Input(
                    "method",
                    options=list(CHOICES),
                    default="DPCache",
                    tooltip=f"How it chooses. {rules}; uniform: that, with residual reuse.",
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
                        "Your noise levels: they give the steps, and the calibration has to be for "
                        "them. Without sigmas that is not checked."
                    ),
                ),
                io.Model.Input(
                    "model",
                    optional=True,
                    tooltip=(
                        "What you sample with: the calibration has to be of it, and even spacing "
                        "is that for images or for videos by its kind. Without a model that is not "
                        "checked, and without a calibration even spacing is that for images."
                    ),
                ),
                SensitivityType.Input(
                    "sensitivity",
                    optional=True,
                    tooltip=f"From Propagation Gain, in place of a calibration: for {GAIN.name}.",
                ),
            ],
            outputs=[
                ScheduleType.Output(display_name="schedule"),
                PolicyType.Output(display_name="policy"),
                io.String.Output(display_name="text"),
            ],
        )  # fmt: skip

    @classmethod
    def validate_inputs(cls, method: str | None, calibration: str | None) -> bool | str:
        # Naming an input turns ComfyUI's own check of it off. A linked value is not known yet.
        if method is not None and method not in CHOICES:
            return f"{method!r} is not a planned method; choose one of {', '.join(CHOICES)}"
        try:
            if None not in (method, calibration):
                _calibration(method, calibration)
        except ValueError as error:
            return str(error)
        return True

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
            steps = len(sigmas) - 1
            present |= of_sigmas(sigmas.tolist())
        full = full_steps if speed == COUNT else num_full(steps, SPEEDS[speed], OF_STEPS)
        check_full(full, steps, fewest=1, spare=0)
        known = _calibration(method, calibration)
        if method == GAIN.name:
            known = _measured(sensitivity)
        if known is not None:
            _check(known, steps, present)
        conditions = {} if known is None else known.conditions
        family = present.get("family") or conditions.get("family") or ""
        if method in RULES:
            plan = _noted(Plan(RULES[method](steps, full), Reuse(), 0.0))
        else:
            row = ROWS[method]
            fit = sensitivity if row is GAIN else fit_of(row, known)
            plan = planned(row, Setting(steps, full, family, fit=fit, conditions=conditions))
        lines = [*_plan_text(method, plan, family), *_calibration_text(known, present)]
        return io.NodeOutput(str(plan.schedule), plan.policy, "\n".join(lines))


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
    return _noted(plan) if "uniform" in method.rule else plan


def _noted(plan: Plan) -> Plan:
    """Plan of uniform spacing, with a note where the published rules say nothing."""
    if plan.schedule.num_full >= FEWEST or not plan.schedule.num_cached:
        return plan
    note = (
        f"the published rule keeps three first steps and the last one full, {FEWEST} in all; with "
        f"{plan.schedule.num_full} it has to leave some of these out"
    )
    return plan._replace(note="; ".join(filter(None, (plan.note, note))))


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
            f"{GAIN.name} needs what each step does to the final latent of your model; connect "
            "the sensitivity of Propagation Gain"
        )
    report = {"num_examples": sensitivity.num_prompts}
    return Calibration(GAIN.name, sensitivity.conditions, report=report)


def _full_of(setting: Setting) -> int:
    assert setting.num_full is not None
    return setting.num_full


def _check(known: Calibration, steps: int, present: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` for a plan made under other conditions or for other steps."""
    known.check(present, partly=True)
    calibrated = len(known.conditions.get("sigmas", [])) - 1
    if calibrated != steps:
        raise ValueError(
            f"{known.method} was calibrated for {calibrated} steps, this plan is for {steps}; "
            "set the same step count, or calibrate for this one"
        )


def _plan_text(name: str, plan: Plan, family: str) -> Iterator[str]:
    """Text of a plan: what it is and what it costs."""
    schedule = plan.schedule
    yield f"{name}: {ROWS[name].rule} ({ROWS[name].source})" if name in ROWS else name
    if name in RULES or "uniform" in ROWS[name].rule:
        of_videos = is_video(family) if name in ROWS else RULES[name] is uniform
        line = f"spaced by the source paper's rule for {'videos' if of_videos else 'images'}"
        is_guess = name in ROWS and not family
        yield line + ("; if your model makes videos, connect it as model" if is_guess else "")
    yield (
        f"{schedule}: {schedule.num_full} of {schedule.num_steps} steps full, at most "
        f"{schedule.num_steps / schedule.num_full:.2f}x faster"
    )
    yield f"policy: {plan.policy}"
    if plan.cost:
        yield f"cost {plan.cost:.4g}, to compare with plans of this calibration only"
    if plan.note:
        yield plan.note


def _calibration_text(known: Calibration | None, present: Mapping[str, Any]) -> Iterator[str]:
    """Text of a plan's conditions, and of those that could not be compared."""
    if known is not None:
        levels = "" if "sigmas" in present else "noise levels (connect sigmas), "
        model = "" if "family" in present else "model (connect it), "
        yield f"calibrated for: {in_words(known.conditions)}"
        yield f"calibration: {described(known)}"
        yield f"not checked here: {levels}{model}sampler, CFG and size"
