"""Conditions under which calibrations, and policies fitted to a schedule, hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...gph_core.calibration.entry import OF_VALUES, WEIGHTS, Calibration
from ...gph_core.policies.base import Policy
from ...gph_core.policies.fitted import NEEDED, Fitted
from . import compatibility, fingerprint, samplers

# The conditions without which a policy with weights for each step means nothing.
OF_WEIGHTS = (*OF_VALUES, "sigmas", "cfg")


def conditions_of(guider, sampler, sigmas: Sequence[float], latent_shape) -> dict[str, Any]:
    """Conditions of a calibration, as far as a run can tell.

    Prompts and images, which ``fingerprint.of_sampling`` includes, differ from run to run and are
    left out.

    Args:
        latent_shape: ``[B, C, ...]``; the batch size does not matter.
    """
    kind, numbers = fingerprint.guidance(guider)
    return {
        **of_model(guider.model_patcher),
        "sampler": samplers.name(sampler) or type(sampler).__name__,
        "sampler options": fingerprint.of_options(sampler),
        **of_sigmas(sigmas),
        "guider": kind,
        "cfg": numbers.pop("cfg", None),
        "numbers of the guider": numbers,
        "latent": list(latent_shape[1:]),
    }


def of_model(patcher) -> dict[str, Any]:
    """Conditions that a MODEL alone determines."""
    _, family = compatibility.identify(patcher)
    return {
        "family": family,
        "model": fingerprint.of_architecture(patcher),
        WEIGHTS: fingerprint.of_model(patcher),
        "precision": str(patcher.model_dtype()),
        "model options": fingerprint.of_model_options(patcher),
    }


def of_sigmas(sigmas: Sequence[float]) -> dict[str, Any]:
    """Condition that noise levels alone determine."""
    return {"sigmas": [round(float(level), 6) for level in sigmas]}


def check_policy(policy: Policy, found: Mapping[str, Any]) -> str:
    """Line on how a run differs from what a policy was fitted for; empty if it does not.

    Raises ``ValueError`` if its weights mean nothing there. Unknown conditions are not compared.

    Args:
        found: conditions of the run, see ``conditions_of``.
    """
    known = {name: value for name, value in policy.conditions.items() if name in found}
    run = {name: found[name] for name in known}
    needed = NEEDED if isinstance(policy, Fitted) else OF_WEIGHTS
    line = Calibration(str(policy), known).check_values(run, needed)
    if not isinstance(policy, Fitted) or not policy.missing:
        return line
    missing = (
        f"the weights do not say for which {', '.join(policy.missing)} they were fitted, so nobody "
        "knows whether they suit this run; compare it with a full one"
    )
    return "; ".join(filter(None, (missing, line)))
