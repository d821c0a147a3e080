"""Advanced inputs of *Schedule Search*: objective, algorithm, limits."""

from __future__ import annotations

from typing import Any

from comfy_api.latest import io

from ...gph_core.quality.metric_table import PAGE_ROWS
from ...gph_core.quality.objective import CAPPED, DEFAULT, FOR_SEARCHES, HARDLY, JOINT
from ...gph_core.search.algorithms.table import ALGORITHMS
from ..sample import lpips_weights

AUTOMATIC = "automatic"
FIRST_ONLY, PUBLISHED_ENDS = "first step only", "first and last steps as published"
# The values are the ``fixed_ends`` of ``search_space``.
REQUIRED_STEPS = {AUTOMATIC: None, FIRST_ONLY: False, PUBLISHED_ENDS: True}
OBJECTIVE_NAMES = (*FOR_SEARCHES, JOINT)


def advanced_inputs() -> list[Any]:
    """Advanced inputs, all of which have a default."""
    return [
        io.Combo.Input(
            "objective",
            options=list(OBJECTIVE_NAMES),
            default=DEFAULT,
            optional=True,
            tooltip=(
                f"What closest means. {CAPPED}: pixels, as far as people see a difference. "
                f"{HARDLY}: the share of examples with at least 33 dB. PSNR: pixels, however "
                "small the difference. SSIM: structure. LPIPS: as people see it, "
                "needs weights. latent MSE: a rough measure without a VAE. PSNR Δt: how a video "
                "changes from frame to frame, so that flicker counts."
            ),
            advanced=True,
            extra_dict={"gph_metrics": PAGE_ROWS},  # see web/shared/metrics.js
        ),
        io.Combo.Input(
            "lpips",
            options=lpips_weights.options(),
            default=lpips_weights.OFF,
            optional=True,
            tooltip="Weights for LPIPS, as in Quality Compare.",
            advanced=True,
        ),
        io.Combo.Input(
            "algorithm",
            options=[AUTOMATIC, *ALGORITHMS],
            default=AUTOMATIC,
            optional=True,
            tooltip=(
                "automatic: hill climbing where weights are fitted, else simulated annealing; "
                "all schedules where there are few."
            ),
            advanced=True,
        ),
        io.Int.Input(
            "evaluations",
            default=0,
            min=0,
            max=1_000_000,
            optional=True,
            tooltip="The largest number of different schedules to try. 0: no limit.",
            advanced=True,
        ),
        io.Int.Input(
            "batch_size",
            default=1,
            min=1,
            max=64,
            optional=True,
            tooltip="Examples sampled at once. Larger is faster for small models only.",
            advanced=True,
        ),
        io.Boolean.Input(
            "racing",
            default=True,
            optional=True,
            tooltip=(
                "Drop a schedule after some examples if it is clearly behind (99 % sure). "
                "Only schedules scored on all examples can win."
            ),
            advanced=True,
        ),
        io.Float.Input(
            "state_gib",
            default=4.0,
            min=0.0,
            max=1024.0,
            step=0.5,
            optional=True,
            tooltip=(
                "Main memory for states from which later runs continue, so that schedules share "
                "their first steps (fitted, or the sampler euler). 0: every run starts from the "
                "beginning."
            ),
            advanced=True,
        ),
        io.Int.Input(
            "seed",
            default=0,
            min=0,
            max=2**31 - 1,
            # If the page drew a new seed after each run, no study could continue.
            control_after_generate=False,
            optional=True,
            tooltip="For the search, not for the images.",
            advanced=True,
        ),
        io.Combo.Input(
            "required_steps",
            options=list(REQUIRED_STEPS),
            default=AUTOMATIC,
            optional=True,
            tooltip=(
                "Which steps are full in every schedule. as published: steps 0, 1, 2 and the "
                "last of 50, fewer first steps in shorter runs. automatic: only the first step "
                "where weights are fitted, else as published."
            ),
            advanced=True,
        ),
    ]
