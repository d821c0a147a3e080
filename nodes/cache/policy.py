"""The *Policy Selector* node."""

from __future__ import annotations

from collections.abc import Iterator
from os.path import isfile
from pathlib import Path
from typing import Any

from comfy_api.latest import io

from ...gph_core.paths.library import NONE
from ...gph_core.policies import causal_linear
from ...gph_core.policies.allowed import RANGES
from ...gph_core.policies.base import Policy
from ...gph_core.policies.fitted import Fitted
from ...gph_core.policies.table import CAUSAL_LINEAR, CHOICES, FITTED_POLICY, Options
from ..library import user_paths
from ..library.library import find, fitted_paths
from ..library.user_files import written_at
from ..schema import users
from ..schema.inputs import check_choice, check_known
from ..schema.node import Node
from ..schema.types import CATEGORY, GOLDEN, PolicyType

RECURSIVE, DIVIDED = "recursive", "divided"
WEIGHTS = "causal_linear"  # folder of fitted weights


def weights_file(name: str) -> Path:
    """Weights file of a name; ``ValueError`` says what to do if there is none."""
    root, own = users.place_of(name)
    folder = root / WEIGHTS
    if not own.strip():
        raise ValueError(
            "causal linear needs fitted weights, but no file is named; take the policy of Plan "
            "Schedule, which fits them, in place of this node's, or put a safetensors file into "
            f"{folder} and write its name"
        )
    if Path(own).name != own or not isfile(folder / own):  # or too long for a name
        raise ValueError(f"there is no file {own!r} in {folder}; write the name of a file there")
    return folder / own


def fitted_policy(choice: str) -> Policy:
    """Fitted weights of an option of *Golden Path Library*; ``ValueError`` without any."""
    if choice == NONE:
        raise ValueError(
            f"{FITTED_POLICY} needs a golden path with weights, but none is chosen; choose one at "
            "path, or let Schedule Search find one with the policy fitted"
        )
    policy = find(choice).policy
    if not isinstance(policy, Fitted):
        raise ValueError(
            f"the path {choice!r} has no fitted weights, it was found with {policy}; choose "
            "another path, or that policy"
        )
    return policy


def _weights_path(name: str) -> Path:
    folder, own = users.place_of(name)
    return folder / WEIGHTS / own


def _every_weights() -> Iterator[Path]:
    for folder in users.readable_folders().values():
        yield from (folder / WEIGHTS).glob("*")


def limits(option: str, least: float | None = None) -> dict[str, Any]:
    """Limits of an option's input; the same hold for values in files.

    Args:
        least: lowest value, if it stands for no value.
    """
    low, high = RANGES[option]
    return {"min": low if least is None else least, "max": high}


class PolicySelector(Node):
    """Choose how cached steps are predicted."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="GPH_PolicySelector",
            display_name="Policy Selector",
            category=CATEGORY,
            description="Chooses how Golden Path Cache predicts the steps it does not compute.",
            search_aliases=[
                *GOLDEN, "cache policy", "TaylorSeer", "HiCache", "DiCache", "MeanCache", "DPCache",
                "L2P",
            ],
            inputs=[
                io.Combo.Input(
                    "policy",
                    options=list(CHOICES),
                    default="residual reuse",
                    tooltip=(
                        "residual reuse: repeat what the blocks added at the newest full step. "
                        "Taylor, Hermite: continue the trend of the last full steps. two-anchor: "
                        "as far along the trend as the first block says. velocity ...: predict the "
                        "result after guidance; a cached step costs nothing, and any model works. "
                        "damped velocity: along its trend, less where CFG is strong. "
                        "output ...: the same for each prompt apart. causal linear: from a file of "
                        "weights; Plan Schedule fits them and gives this policy with them. fitted: "
                        "from a golden path that has weights."
                    ),
                    # The page shows only the inputs of the choice.
                    extra_dict={"gph_inputs": {name: c.options for name, c in CHOICES.items()}},
                ),
                io.Int.Input(
                    "order",
                    default=1,
                    **limits("order"),
                    optional=True,
                    tooltip=(
                        "For Taylor and Hermite. 1 follows the slope, 2 the curvature too: larger "
                        "reacts more strongly, amplifies errors over long gaps and keeps one more "
                        "full step in memory."
                    ),
                ),
                io.Float.Input(
                    "scale",
                    default=0.5,
                    **limits("scale"),
                    step=0.05,
                    optional=True,
                    tooltip=(
                        "For Hermite. Larger follows the trend more, smaller stays closer to "
                        "residual reuse. The method's authors use 0.5."
                    ),
                ),
                io.Int.Input(
                    "span",
                    default=4,
                    **limits("span"),
                    optional=True,
                    tooltip=(
                        "For mean velocity: how many steps it looks back. Larger follows the trend "
                        "more; 1 repeats the last velocity."
                    ),
                ),
                io.String.Input(
                    "weights",
                    default="",
                    optional=True,
                    tooltip=(
                        "For causal linear with weights of your own: the name of a safetensors "
                        "file in the folder golden_path/causal_linear of ComfyUI's user directory."
                    ),
                ),
                io.Combo.Input(
                    "differences",
                    options=[RECURSIVE, DIVIDED],
                    default=RECURSIVE,
                    optional=True,
                    tooltip=(
                        "For Taylor, Hermite and token prediction of order 2. recursive is what "
                        "the papers' codes do; divided is exact on unequal gaps, but amplifies "
                        "errors more."
                    ),
                ),
                io.Float.Input(
                    "max_amplification",
                    default=0.0,
                    **limits("max_amplification", least=0.0),
                    step=0.5,
                    optional=True,
                    tooltip=(
                        "For Taylor, Hermite and token prediction: lowers the order where the "
                        "weights add up to more than this. Larger allows bolder predictions; 0 "
                        "sets no limit, 8 is a cautious one."
                    ),
                ),
                io.Int.Input(
                    "max_distance",
                    default=0,
                    **limits("max_distance", least=0),
                    optional=True,
                    tooltip=(
                        "For Taylor, Hermite and token prediction: extrapolate at most this many "
                        "steps ahead of the newest full step. Larger follows the trend further; 0 "
                        "sets no limit."
                    ),
                ),
                io.Combo.Input(
                    "path",
                    options=[NONE, *fitted_paths()],
                    default=NONE,
                    optional=True,
                    tooltip=(
                        "For fitted: the golden path whose weights it takes, yours first. They "
                        "hold for the schedule of that path alone."
                    ),
                ),
            ],
            outputs=[PolicyType.Output(display_name="policy")],
        )  # fmt: skip

    @classmethod
    def check_inputs(
        cls, policy: str | None = None, weights: str | None = None, path: str | None = None
    ) -> None:
        check_choice(policy, CHOICES, "a policy")
        check_known(
            (lambda name: causal_linear.load(weights_file(name)), weights)
            if policy == CAUSAL_LINEAR
            else (fitted_policy, path if policy == FITTED_POLICY else None)
        )

    @classmethod
    def fingerprint_inputs(
        cls, policy: str | None, weights: str | None = "", path: str | None = NONE, **kwargs
    ) -> Any:
        # Weights fitted again under the same name are another policy.
        versions: dict[str, Any] = {}
        if policy in (CAUSAL_LINEAR, None):
            versions |= written_at(weights, _weights_path, _every_weights())
        if policy in (FITTED_POLICY, None) and path != NONE:
            versions["path"] = repr([find(path)] if path else user_paths.read())
        return versions

    @classmethod
    def execute(
        cls, policy: str, order: int = 1, scale: float = 0.5, span: int = 4, weights: str = "",
        differences: str = RECURSIVE, max_amplification: float = 0.0, max_distance: int = 0,
        path: str = NONE,
    ) -> io.NodeOutput:  # fmt: skip
        extrapolation = {
            "divided": differences == DIVIDED,
            "max_amplification": max_amplification or None,  # 0 means none
            "max_distance": max_distance or None,
        }
        options = Options(
            order, scale, span, lambda: weights_file(weights), extrapolation,
            lambda: fitted_policy(path),
        )  # fmt: skip
        return io.NodeOutput(CHOICES[policy].make(options))
