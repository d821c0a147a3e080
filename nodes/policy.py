"""The *Policy Selector* node."""

from __future__ import annotations

from comfy_api.latest import io

from ..gph_core.policies import Hermite, Reuse, Taylor
from .types import CATEGORY, PolicyType

POLICIES = {
    "residual reuse": lambda order, scale: Reuse(),
    "Taylor": lambda order, scale: Taylor(order),
    "Hermite": Hermite,
}


class PolicySelector(io.ComfyNode):
    """How cached steps are predicted."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="GPH_PolicySelector",
            display_name="Policy Selector",
            category=CATEGORY,
            description="Chooses how Golden Path Cache predicts the steps it does not compute.",
            search_aliases=["TaylorSeer", "HiCache", "BudCache"],
            inputs=[
                io.Combo.Input(
                    "policy",
                    options=list(POLICIES),
                    default="residual reuse",
                    tooltip=(
                        "residual reuse: repeat the newest full step; robust, least memory. "
                        "Taylor: extrapolate from the last full steps; better when they are close, "
                        "worse over long gaps. Hermite: a damped Taylor."
                    ),
                ),
                io.Int.Input(
                    "order",
                    default=1,
                    min=1,
                    max=2,
                    tooltip=(
                        "For Taylor and Hermite. 1 follows the slope, 2 the curvature too: larger "
                        "reacts more strongly, amplifies errors over long gaps and keeps one more "
                        "full step in memory."
                    ),
                ),
                io.Float.Input(
                    "scale",
                    default=0.5,
                    min=0.05,
                    max=1.0,
                    step=0.05,
                    tooltip=(
                        "For Hermite. Larger follows the trend more, smaller stays closer to "
                        "residual reuse. The method's authors use 0.5."
                    ),
                    advanced=True,
                ),
            ],
            outputs=[PolicyType.Output(display_name="policy")],
        )

    @classmethod
    def execute(cls, policy: str, order: int, scale: float) -> io.NodeOutput:
        return io.NodeOutput(POLICIES[policy](order, scale))
