"""Conditions under which the weights of a policy hold."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..policies.base import Policy
from ..policies.fitted import NEEDED, Fitted
from .entry import NOISE_LEVELS, OF_VALUES, Calibration

# The conditions without which a policy with weights for each step means nothing.
OF_WEIGHTS = (*OF_VALUES, "sigmas", "cfg")
# What fitted weights need to be equal, as it is: looked at first, which is quick.
EXACT = tuple(name for name in NEEDED if name not in (*NOISE_LEVELS, "cfg"))
ROUNDING = 1e-6  # of a CFG that was computed


# How far a run's CFG may be from that of a fit, as a part of it (``bench carry``).
FAR_CFG = 0.2


def carries(fitted: Any, of_run: Any) -> bool:
    """Whether weights that were fitted under one CFG are of use under another."""
    if fitted == of_run:
        return True
    if not isinstance(fitted, (int, float)) or not isinstance(of_run, (int, float)):
        return False
    if 1 in (fitted, of_run):  # without a negative prompt, which weights may need
        return False
    return fitted > 0 and abs(of_run - fitted) <= FAR_CFG * fitted + ROUNDING


def check_policy(policy: Policy, of_run: Mapping[str, Any]) -> str:
    """Line on how a run differs from what a policy was fitted for; empty if it does not.

    Raises ``ValueError`` if its weights mean nothing there. Unknown conditions are not compared.

    Args:
        of_run: conditions of the run, as of a calibration.
    """
    stated = {name: value for name, value in policy.conditions.items() if name in of_run}
    same = {name: of_run[name] for name in stated}
    needed: Collection[str] = NEEDED if isinstance(policy, Fitted) else OF_WEIGHTS
    if isinstance(policy, Fitted) and carries(stated.get("cfg"), same.get("cfg")):
        needed = [name for name in needed if name != "cfg"]
    _check_channels(policy, of_run)
    line = Calibration(str(policy), stated).check_values(same, needed)
    if not isinstance(policy, Fitted) or not policy.missing:
        return line
    missing = (
        f"the weights do not say for which {', '.join(policy.missing)} they were fitted, so nobody "
        "knows whether they suit this run; compare it with a full one"
    )
    return "; ".join(filter(None, (missing, line)))


def _check_channels(policy: Policy, of_run: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` if weights are of other channels than a run's latent, ``[C, ...]``."""
    channels = policy.channels if isinstance(policy, Fitted) else 1
    latent = of_run.get("latent")
    if channels > 1 and latent and latent[0] != channels:
        raise ValueError(
            f"the weights are for latents of {channels} channels, this run's have {latent[0]}; "
            "choose a path that was fitted for this model"
        )
