"""The *Adaptive Cache* node: methods that decide during each run which steps are full."""

from __future__ import annotations

from typing import Any

from comfy_api.latest import io

from ...gph_core.gates.base import check_threshold
from ...gph_core.methods.table import ADAPTIVE, ALL
from ...gph_core.paths.library import NONE
from ...gph_core.paths.speeds import SPEEDS
from ...gph_core.policies.base import Policy
from ...gph_core.run_plan import THRESHOLD, RunPlan, adaptive
from ..hook import patching
from ..library import calibrations
from ..schema.inputs import check_choice
from ..schema.node import Node
from ..schema.types import COUNT, METHODS, OTHER_CACHES, PolicyType
from .report import Reporter

CHOICES = (*SPEEDS, COUNT, THRESHOLD)


class AdaptiveCache(Node):
    """Cache a MODEL with a method that decides during each run."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="GPH_AdaptiveCache",
            display_name="Adaptive Cache",
            category=METHODS,
            description=(
                "Speeds up sampling with a method that decides during the run which steps run "
                "the whole transformer: TeaCache, SeaCache, SenCache, DiCache and others. Put it "
                "between the model and the sampler. In most cases a fixed golden path is just as "
                "good, and its speed is known before the run."
            ),
            search_aliases=[
                *OTHER_CACHES, "SeaCache", "SenCache", "DiCache", "dynamic", "threshold",
            ],
            inputs=[
                io.Model.Input("model"),
                io.Combo.Input(
                    "method",
                    options=list(ADAPTIVE),
                    default="SeaCache",
                    tooltip=(
                        "The rule that decides which steps are full. "
                        + "; ".join(f"{n}: {ALL[n].rule}" for n in ADAPTIVE)
                        + ". SeaCache and TeaCache work with FLUX, Chroma, Qwen-Image, "
                        "HunyuanVideo, Wan, SD3, MageFlow, Lens, JoyImage and LTX-Video; for other "
                        "models choose DiCache or First Block Cache."
                    ),
                ),
                io.Combo.Input(
                    "speed",
                    options=list(CHOICES),
                    default=THRESHOLD,
                    tooltip=(
                        "Quality, Balanced, Fast: about 42, 26, 18 % of the steps are full, with "
                        "the threshold that Calibrate Ratio found. full_steps below: your own "
                        "number, likewise. Threshold: the threshold below, with the method's own "
                        "limits."
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
                        "Only for Threshold. Larger: more cached steps, faster, further from the "
                        "full run. The scale depends on the method and the model."
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
                    tooltip="How cached steps are predicted. Unconnected: the method's own policy.",
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
    def check_inputs(
        cls, method: str | None = None, speed: str | None = None, calibration: str | None = None
    ) -> None:
        check_choice(method, ADAPTIVE, "an adaptive method")
        check_choice(speed, CHOICES, "a speed")
        if method is not None and speed is not None and calibration is not None:
            plan_of(method, speed, 0.0, calibration)

    @classmethod
    def fingerprint_inputs(cls, calibration: str | None = None, **inputs) -> Any:
        # Otherwise ComfyUI gives equal nodes one MODEL, which reports to only one of them. A file
        # may have changed under the same name.
        return cls.hidden.unique_id, calibrations.FILES.changed_at(calibration)

    @classmethod
    def execute(
        cls, model, method: str, speed: str, threshold: float, calibration: str,
        policy: Policy | None = None, full_steps: int = 10,
    ) -> io.NodeOutput:  # fmt: skip
        plan = plan_of(method, speed, threshold, calibration, full_steps, policy)
        reporter = Reporter(cls.hidden.unique_id, "Adaptive Cache")
        return io.NodeOutput(patching.attach(model, plan, reporter))


def plan_of(
    method: str, speed: str, threshold: float, calibration: str, full_steps: int = 0,
    policy: Policy | None = None,
) -> RunPlan:  # fmt: skip
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
    speed_or_count = full_steps if speed == COUNT else speed
    return adaptive(row, policy or row.policy, chosen, speed_or_count, entry)
