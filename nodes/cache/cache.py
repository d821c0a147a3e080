"""The *Golden Path Cache* node."""

from __future__ import annotations

import math
from collections.abc import Sequence

from comfy_api.latest import io

from ...gph_core.paths.custom import OWN
from ...gph_core.paths.speeds import AUTOMATIC, NAMES
from ...gph_core.policies.base import Policy
from ...gph_core.policies.extrapolation import Reuse
from ...gph_core.run_plan import BUDGET_MIB, RunPlan, by_speed, fixed
from ...gph_core.schedule import Schedule
from ..hook import patching
from ..learn.learner import Learner
from ..library import user_paths
from ..schema.inputs import check_choice, check_known
from ..schema.node import Node
from ..schema.types import (
    CATEGORY,
    DEFAULT_SCHEDULE,
    GOLDEN,
    OTHER_CACHES,
    PolicyType,
    ScheduleType,
    origin_of,
)
from .report import Reporter

CUSTOM, OFF = "Custom", "Off"
CHOICES = (*NAMES, CUSTOM, OFF)
# Bytes that may stay on the model's device, from the budget in MiB.
CACHE_DEVICES = {
    "automatic": lambda budget_mib: budget_mib * 2**20,
    "model device": lambda budget_mib: math.inf,
    "CPU": lambda budget_mib: 0,
}

# Models that people search for together with "faster" or "speed up".
MODELS = ("FLUX", "Wan", "Qwen-Image", "Z-Image", "HunyuanVideo", "LTX")

# Images to learn from.
LEARN = {"off": 0, "from 2 images": 2, "from 4 images": 4, "from 8 images": 8}


class GoldenPathCache(Node):
    """Cache a MODEL under a speed or a schedule."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="GPH_Cache",
            display_name="Golden Path Cache",
            category=CATEGORY,
            description=(
                "Makes sampling faster with a fixed schedule: some steps run the whole "
                "transformer (full), the others skip its blocks and predict their effect from "
                "earlier full steps (cached). Place it between the model and the sampler."
            ),
            search_aliases=[
                *GOLDEN, "cache", "speed", "speed up", "faster", "accelerate", "skip steps",
                *OTHER_CACHES, "WaveSpeed", *(f"speed up, faster {model}" for model in MODELS),
            ],
            inputs=[
                io.Model.Input("model"),
                io.Combo.Input(
                    "speed",
                    options=list(CHOICES),
                    default=AUTOMATIC,
                    tooltip=(
                        "How many steps stay full, for any step count: Quality 42 % (21 of 50), "
                        "Balanced 26 % (13 of 50), Fast 18 % (9 of 50); rounded, halves up. "
                        "Short runs keep at least 7, 5 and 4, but at most three in four. "
                        "Automatic: Balanced from 40 steps on, Quality for fewer. Which ones: a "
                        "path of your own search for this model and these noise levels, else a "
                        "published one, else a rule that spaces them by noise level and CFG; the "
                        "report says which and why. Custom uses the schedule below. Off hands the "
                        "model on as it is."
                    ),
                ),
                io.MultiType.Input(
                    io.String.Input("schedule", default=DEFAULT_SCHEDULE),
                    types=[ScheduleType],
                    tooltip=(
                        "Only for Custom: the full steps, then / and the number of steps, as in "
                        f"{DEFAULT_SCHEDULE}. More full steps: slower, closer to the full run. "
                        "The number after / is the sampler's step count, or that of all samplers "
                        "in a row: each takes its part."
                    ),
                ),
                PolicyType.Input(
                    "policy",
                    optional=True,
                    tooltip=(
                        "How cached steps are predicted. Unconnected: residual reuse, or the "
                        "weights of the path. Where a speed has no path: damped velocity, or "
                        "residual reuse if CFG is too strong for the gaps or the sampler adds "
                        "noise."
                    ),
                ),
                io.Combo.Input(
                    "cache_device",
                    options=list(CACHE_DEVICES),
                    default="automatic",
                    optional=True,
                    tooltip=(
                        "Where residuals wait between steps. automatic: on the model's device up "
                        "to the budget below, the rest in main memory. model device: always on "
                        "that device, fastest. CPU: always in main memory, for long videos."
                    ),
                    advanced=True,
                ),
                io.Int.Input(
                    "cache_budget_mib",
                    default=BUDGET_MIB,
                    min=0,
                    max=1_000_000,
                    optional=True,
                    tooltip=(
                        "For automatic: how many MiB of the model's device residuals may take. "
                        "Larger is faster where it fits. FLUX at 1024x1024 needs 24 MiB for each "
                        "prompt and remembered step, a Wan video of 81 frames at 480p 320. 0: "
                        "all wait in main memory, as with CPU."
                    ),
                    advanced=True,
                ),
                io.Combo.Input(
                    "learn",
                    options=list(LEARN),
                    default="off",
                    optional=True,
                    tooltip=(
                        "Only for a speed: learn a path from your own images. The first ones are "
                        "computed in full and remembered, then weights are fitted, which takes as "
                        "long as four more images at most, and from then on runs are fast and "
                        "close to full ones. More images: a better path. Each model, speed, "
                        "sampler and step count has its own, each CFG if it differs much."
                    ),
                ),
            ],
            outputs=[io.Model.Output(tooltip="The model, with the cache.")],
            hidden=[io.Hidden.unique_id],
        )  # fmt: skip

    @classmethod
    def check_inputs(
        cls, speed: str | None = None, schedule: str | None = None, learn: str | None = None
    ) -> None:  # fmt: skip
        check_speed(speed, schedule, CHOICES)
        check_choice(learn, LEARN, "a choice of learn")

    @classmethod
    def fingerprint_inputs(cls, **inputs) -> str | None:
        # Otherwise ComfyUI gives equal nodes one MODEL, which reports to only one of them.
        return cls.hidden.unique_id

    @classmethod
    def execute(
        cls, model, speed: str, schedule: str, policy: Policy | None = None,
        cache_device: str = "automatic", cache_budget_mib: int = BUDGET_MIB, learn: str = "off",
    ) -> io.NodeOutput:  # fmt: skip
        if speed == OFF:
            Reporter(cls.hidden.unique_id).off()
            return io.NodeOutput(model)
        learns = LEARN[learn] > 0 and speed != CUSTOM
        if learns:
            check_learnable(learn, policy)
        budget = CACHE_DEVICES[cache_device](cache_budget_mib)
        plan = plan_of(speed, schedule, policy, budget)
        reporter = Reporter(cls.hidden.unique_id)
        learner = Learner(LEARN[learn], reporter) if learns else None
        return io.NodeOutput(patching.attach(model, plan, reporter, learner=learner))


def check_learnable(learn: str, policy: Policy | None) -> None:
    """Raise ``ValueError`` if a connected policy keeps the learned weights from being used."""
    if policy is not None and policy != Reuse():
        raise ValueError(
            f"learn is set to {learn!r}, but the policy {policy} is connected, with which learned "
            "weights would never be used; disconnect the policy, or set learn to off"
        )


def plan_of(
    speed: str, schedule: str, policy: Policy | None, device_budget: float = BUDGET_MIB * 2**20
) -> RunPlan:
    """Plan for a speed, or for the schedule of ``CUSTOM``; ``ValueError`` if ``policy`` refuses it.

    Args:
        policy: None: residual reuse with ``CUSTOM`` and paths without weights; see
            ``without_path`` for a speed without a path.
        device_budget: see ``RunPlan``.
    """
    if speed != CUSTOM:
        user_paths.every()  # read now, so that runs begin without delay
        return by_speed(speed, policy, user_paths.every, device_budget)
    custom, policy = Schedule.parse(schedule), policy or Reuse()
    policy.check(custom)
    return fixed(custom, policy, device_budget, origin=origin_of(schedule) or OWN)


def check_speed(speed: str | None, schedule: str | None, choices: Sequence[str]) -> None:
    """Check a speed and, for ``CUSTOM``, the schedule, as far as they are known."""
    check_choice(speed, choices, "a speed")
    check_known((Schedule.parse, schedule if speed == CUSTOM else None))
