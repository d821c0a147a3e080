"""The *Adaptive Cache* node: methods that decide during each run which steps are full."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from comfy_api.latest import io

from ...gph_core.calibration.entry import Calibration
from ...gph_core.gates.base import Gate, check_threshold
from ...gph_core.methods.method import Method, Setting
from ...gph_core.methods.table import ADAPTIVE, ALL
from ...gph_core.paths.choice import Choice, Conditions
from ...gph_core.paths.library import NONE
from ...gph_core.paths.retarget import num_full
from ...gph_core.paths.speeds import OF_STEPS, SPEEDS
from ...gph_core.policies.base import Policy
from ...gph_core.schedule import Schedule
from ..hook import compatibility, conditions, patching, time_changes
from ..library import calibrations
from ..schema.types import CATEGORY, COUNT, PolicyType
from .report import Reporter

THRESHOLD = "Threshold"
CHOICES = (*SPEEDS, COUNT, THRESHOLD)


class AdaptiveCache(io.ComfyNode):
    """Cache a MODEL by a method that decides in each run."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="GPH_AdaptiveCache",
            display_name="Adaptive Cache",
            category=CATEGORY,
            description=(
                "Makes sampling faster with a method that decides in each run which steps run the "
                "whole transformer: TeaCache, SeaCache, SenCache, DiCache and others. For "
                "comparison: a fixed golden path is usually as good, and its speed is known before "
                "the run. Place it between the model and the sampler."
            ),
            search_aliases=[
                "TeaCache", "SeaCache", "SenCache", "DiCache", "EasyCache", "MagCache",
                "FirstBlockCache", "WaveSpeed", "adaptive", "dynamic", "cache",
            ],
            inputs=[
                io.Model.Input("model"),
                io.Combo.Input(
                    "method",
                    options=list(ADAPTIVE),
                    default="SeaCache",
                    tooltip=(
                        "What decides. " + "; ".join(f"{n}: {ALL[n].rule}" for n in ADAPTIVE)
                        + ". SeaCache and TeaCache work with FLUX, Chroma, Qwen-Image, "
                        "HunyuanVideo, Wan, SD3, MageFlow and LTX-Video; with other models take "
                        "DiCache or First Block Cache."
                    ),
                ),
                io.Combo.Input(
                    "speed",
                    options=list(CHOICES),
                    default=THRESHOLD,
                    tooltip=(
                        "Quality, Balanced, Fast: about 42, 26, 18 % of the steps full, or the "
                        "count below, with the threshold that Calibrate Ratio found for it. "
                        "Threshold: the one below, with the method's own limits for few cached "
                        "steps."
                    ),
                ),
                io.Float.Input(
                    "threshold",
                    default=0.2,
                    min=0.0,
                    max=1000.0,
                    step=0.001,
                    round=0.00001,
                    tooltip=(
                        "Only for Threshold. Larger caches more: faster, further from the full "
                        "run. Its scale differs from method to method and from model to model."
                    ),
                ),
                io.Combo.Input(
                    "calibration",
                    options=[NONE, *calibrations.FILES.names()],
                    default=NONE,
                    tooltip=(
                        "A file of Calibrate, made with this model, sampler, steps, size and CFG. "
                        "SenCache always needs one, TeaCache and MagCache on most models, and all "
                        "of them for a speed."
                    ),
                ),
                PolicyType.Input(
                    "policy",
                    optional=True,
                    tooltip="How cached steps are predicted. Unconnected: as the method does.",
                ),
                io.Int.Input(
                    "full_steps",
                    default=10,
                    min=2,
                    max=1000,
                    optional=True,
                    tooltip=f"Only for {COUNT!r}, as in Calibrate Ratio. More: slower, closer.",
                    advanced=True,
                ),
            ],
            outputs=[io.Model.Output(tooltip="The model, with the method.")],
            hidden=[io.Hidden.unique_id],
        )  # fmt: skip

    @classmethod
    def validate_inputs(
        cls, method: str | None, speed: str | None, calibration: str | None
    ) -> bool | str:
        # Naming an input turns ComfyUI's own check of it off. A linked value is not known yet.
        for value, options, what in (
            (method, ADAPTIVE, "an adaptive method"), (speed, CHOICES, "a speed"),
        ):  # fmt: skip
            if value is not None and value not in options:
                return f"{value!r} is not {what}; choose one of {', '.join(options)}"
        if None not in (method, speed, calibration):
            try:
                plan_of(method, speed, 0.0, calibration)
            except ValueError as error:
                return str(error)
        return True

    @classmethod
    def fingerprint_inputs(cls, calibration: str | None = None, **inputs) -> Any:
        # ComfyUI would give equal nodes one MODEL, and that one reports to a single node. A file
        # may have changed under the same name.
        return cls.hidden.unique_id, calibrations.FILES.changed_at(calibration)

    @classmethod
    def execute(
        cls, model, method: str, speed: str, threshold: float, calibration: str,
        policy: Policy | None = None, full_steps: int = 10,
    ) -> io.NodeOutput:  # fmt: skip
        plan = plan_of(method, speed, threshold, calibration, full_steps)
        if policy is not None:
            plan = replace(plan, policy=policy)
        reporter = Reporter(cls.hidden.unique_id, "Adaptive Cache")
        return io.NodeOutput(patching.attach(model, plan, reporter))


@dataclass(frozen=True)
class AdaptivePlan:
    """Plan of a method that decides during the run.

    Args:
        threshold: None stands for the calibrated one of the speed.
        speed: one of ``SPEEDS``, a number of full steps, or ``THRESHOLD``: the rule may depend on
            the number.
        calibration: of the method; None if it needs none here.
    """

    method: Method
    policy: Policy
    threshold: float | None
    speed: str | int = THRESHOLD
    calibration: Calibration | None = None
    device_budget: float = patching.BUDGET_MIB * 2**20
    for_others: bool = False
    is_chosen: ClassVar[bool] = False  # the method decides during the run

    def check(self, guider, sampler, sigmas, latent) -> str:
        """Note on what the calibration does not quite fit.

        ``ValueError`` if they are of another model, or its threshold of another setting: that
        promises a number of steps.
        """
        known, needs_threshold = self.calibration, self.threshold is None
        if known is None or not (needs_threshold or known.values):
            return ""
        found = conditions.conditions_of(guider, sampler, sigmas.tolist(), latent.shape)
        if needs_threshold:
            known.check(found)
        return known.check_values(found)

    def resolve(self, patcher, run: Conditions, sigma_max: float, continues: bool) -> Choice:
        if isinstance(self.speed, int):
            check_full(self.speed, run.num_steps)
        fit = fit_of(self.method, self.calibration)
        setting = setting_of(patcher, run, full_of(self.speed, run.num_steps), fit)
        forced = self.method.forced(setting, self.policy)
        threshold = self.threshold
        if threshold is None:
            assert self.calibration is not None
            wanted = run.num_steps - setting.num_full
            threshold = self.calibration.threshold(
                settings_of(self.method, setting, self.policy), wanted
            )
        selected = self.method.select(threshold, setting)
        published = self.method.published(setting) if fit is None else None
        choice = Choice(
            forced,
            f"{self.method.title}, threshold {threshold:.4g}",
            self.policy,
            note=f"coefficients published for {published.model}" if published else "",
        )
        if isinstance(selected, Gate):
            return choice._replace(gate=selected)
        full = (*selected.full_steps, *forced.full_steps)
        return choice._replace(schedule=Schedule(full, run.num_steps))


def plan_of(
    method: str, speed: str, threshold: float, calibration: str, full_steps: int = 0
) -> AdaptivePlan:
    """Plan from the node's inputs; ``ValueError`` says what is missing."""
    row, is_speed = ALL[method], speed != THRESHOLD
    check_threshold(threshold)
    is_used = calibration != NONE and (is_speed or row.needs)
    entry = calibrations.load(calibration, row.name) if is_used else None
    if is_speed and entry is None:
        raise ValueError(
            f"{method} needs a calibration for the speed {speed}: run Calibrate Ratio and choose "
            "its file, or set the speed to Threshold and try thresholds"
        )
    chosen = None if is_speed else threshold
    return AdaptivePlan(row, row.policy, chosen, full_steps if speed == COUNT else speed, entry)


def fit_of(method: Method, calibration: Calibration | None) -> Any:
    """Fitted values of a method; None without any.

    Raises ``ValueError`` that names the file if it is damaged.
    """
    if calibration is None or not calibration.values:
        return None
    try:
        return method.read(calibration.values)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise ValueError(
            f"{calibration.file} is damaged: what it holds of {method.name} cannot be read "
            f"({error!r}); delete it, and calibrate again"
        ) from error


def full_of(speed: str | int, num_steps: int) -> int | None:
    """Number of full steps at a speed; None for ``THRESHOLD``."""
    if isinstance(speed, int):
        return speed
    return num_full(num_steps, SPEEDS[speed], OF_STEPS) if speed in SPEEDS else None


def check_full(full: int, num_steps: int, fewest: int = 2, spare: int = 1) -> None:
    """Raise ``ValueError`` for a number of full steps that is out of range.

    Args:
        spare: further steps that cannot be full.
    """
    most = num_steps - spare
    if not fewest <= full <= most:
        possible = f"{fewest} to {most}" if fewest <= most else "none"
        raise ValueError(
            f"{full} full steps do not fit: of {num_steps} steps {possible} can be full; change "
            "full_steps or speed, or sample with more steps"
        )


def settings_of(method: Method, setting: Setting, policy: Policy) -> dict[str, Any]:
    """Settings under which a threshold holds, beside a calibration's conditions and values."""
    forced = str(method.forced(setting, policy))
    form = {"form": method.form} if method.form else {}
    return {"full steps": setting.num_full, "forced": forced, "policy": str(policy), **form}


def setting_of(patcher, run: Conditions, full: int | None, fit: Any = None) -> Setting:
    """Facts of a run of a MODEL that a method may use.

    Args:
        full: wanted number of full steps, if there is one.
    """
    family, _ = compatibility.identify(patcher)
    signal = family and family.signal
    has_time = signal is not None and signal.of_time is not None
    # Computed once, and only for the method that needs it: the model has to be loaded for it.
    times = functools.cache(lambda: time_changes.of_run(patcher, run.sigmas)) if has_time else None
    return Setting(run.num_steps, full, run.family or "", run.architecture, fit, times)
