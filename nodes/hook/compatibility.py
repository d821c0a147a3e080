"""Identity of a model, and reasons why its runs cannot be cached."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from ...gph_core.gates.base import Look
from ...gph_core.model import families
from ...gph_core.model.family import Family
from ...gph_core.paths.conditions import Choice
from ...gph_core.policies.base import Policy, Site
from ...gph_core.policies.mean_velocity import MeanVelocity
from . import samplers
from .model_call import uncompiled

if TYPE_CHECKING:
    from .setup import SamplingSetup

# Transformer options by which nodes of other extensions tell their own code to cache.
_OTHERS = {"rel_l1_thresh": "TeaCache", "magcache_thresh": "MagCache"}


def identify(patcher) -> tuple[Family | None, str]:
    """Family of a MODEL, if it is listed, and a name for it."""
    transformer = uncompiled(patcher.model.diffusion_model)
    family = families.detect(transformer)
    return family, family.name if family else type(transformer).__name__


def of_policy(policy: Policy, setup: SamplingSetup) -> str | None:
    """Reason why no run can be cached, often with a remedy after a semicolon; None if one can."""
    if other := other_cache(setup.patcher):
        return (
            f"{other} is also active on this model; remove it: two caches together spoil the image"
        )
    sampler_name = samplers.name(setup.sampler)
    said = f"the sampler {sampler_name}"
    for step, (sigma, following) in enumerate(itertools.pairwise(setup.sigmas)):
        if following >= sigma:
            return f"the noise levels do not fall at step {step} ({sigma:g} to {following:g})"
    if policy.site is Site.STACK and setup.family is None:
        return (
            f"{setup.name} is not a supported transformer (docs/models.md lists them); use an "
            "output or velocity policy, a path with fitted weights, or EasyCache: these work with "
            "any model"
        )
    if samplers.needs_every_call(sampler_name):
        return f"{said} needs all of its model calls; choose another"
    if policy.site is Site.GUIDED and samplers.reads_the_branches(sampler_name):
        return (
            f"{said} needs both prompts at every step, which {policy} leaves out; choose a "
            "residual policy, or another sampler"
        )
    if isinstance(policy, MeanVelocity) and samplers.is_stochastic(setup.sampler):
        return (
            f"{policy} follows the states of the run, to which {said} adds noise; choose another "
            "policy or sampler"
        )
    return None


def of_gate(choice: Choice, setup: SamplingSetup) -> str | None:
    """Reason why a gate cannot work, where ``of_policy`` finds none.

    Reasons in the model come before those in the policy.
    """
    gate, policy, method = choice.gate, choice.policy, choice.method
    family, name, patcher = setup.family, setup.name, setup.patcher
    if gate is None:
        return None
    if patcher.get_additional_models_with_key("multigpu"):
        return (
            f"{method} decides on one prompt before the others are computed, but several devices "
            "compute them at once; use one device, or Golden Path Cache"
        )
    if gate.look is not Look.LATENT and family is None:
        return (
            f"{method} looks into the transformer, but {name} is not a supported one "
            "(docs/models.md lists them); EasyCache works with any model"
        )
    if gate.look is Look.MODULATED and (family is None or family.signal is None):
        return (
            f"what {method} looks at is not known for {name} (docs/methods.md lists the families); "
            "DiCache and First Block Cache work with it"
        )
    if gate.look is not Look.LATENT and policy.site is not Site.STACK:
        return (
            f"{method} looks into the first block, which {policy} does not run on cached steps; "
            "connect a residual policy, or none"
        )
    if gate.reads_outputs and policy.site is not Site.OUTPUT:
        return (
            f"{method} needs the outputs for each prompt, which {policy} does not keep; connect an "
            "output policy, or none"
        )
    if policy.site is Site.GUIDED:
        return (
            f"{method} decides on one prompt, but {policy} sees the result of guidance only; "
            "connect an output policy"
        )
    return None


def in_full(reason: str) -> str:
    """Message for a run that cannot be cached."""
    return f"this node caches nothing: {reason}"


def refuse_other_caches(patcher) -> None:
    """Raise ``ValueError`` if another cache acts on a MODEL: no run would be full."""
    if other := other_cache(patcher):
        raise ValueError(
            f"{other} is active on this model, so that no run of it is a full one that others "
            f"could be compared with; take {other} out of the workflow"
        )


def other_cache(patcher) -> str:
    """Name of a cache on a MODEL that is not ours, such as ComfyUI's EasyCache; empty without."""
    options = patcher.model_options.get("transformer_options", {})
    if own := options.get("easycache"):
        return own.name  # EasyCache or LazyCache
    return next((name for key, name in _OTHERS.items() if options.get(key)), "")
