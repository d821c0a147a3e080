"""Wrappers of one run around ComfyUI's calls: decide, compute or predict, remember.

``APPLY_MODEL`` runs outside a compiled model and, being the last one added, inside everything
else; ``PREDICT_NOISE`` sees the result of guidance.
"""

from __future__ import annotations

from collections.abc import Callable

from comfy.patcher_extension import WrappersMP

from ...gph_core.policies.base import Site
from ...gph_core.run.active_run import ActiveRun
from .branch_calls import OutputCalls, StackCalls
from .branches import guided


def wrappers(run: ActiveRun) -> dict[str, Callable]:
    """Wrappers that a run needs, by their place in ComfyUI."""
    if run.policy.site is Site.GUIDED:
        return {WrappersMP.PREDICT_NOISE: GuidedCalls(run).predict_noise}
    calls = StackCalls(run) if run.policy.site is Site.STACK else OutputCalls(run)
    return {
        WrappersMP.PREDICT_NOISE: calls.predict_noise,
        WrappersMP.CALC_COND_BATCH: calls.calc_cond_batch,
        WrappersMP.APPLY_MODEL: calls.apply_model,
    }


class GuidedCalls:
    """Cache of the velocity after guidance: on cached steps nothing of the model runs."""

    def __init__(self, run: ActiveRun) -> None:
        self._run = run

    def predict_noise(self, executor, x, timestep, model_options, *args, **kwargs):
        guider, sigma = executor.class_obj, float(timestep[0])
        if _post_cfg(model_options) > _post_cfg(guider.model_options):
            self._run.stop_caching(
                "caching stopped because the sampler reads more than the result of guidance; "
                "choose a residual policy"
            )
        branches = [(tuple(x.shape), guided(guider.conds, sigma))]
        decision = self._run.begin_call(sigma, branches)
        velocity = None
        if decision.is_cached:
            (velocity,) = decision.predicted(self._run.policy, x)
            denoised = x - sigma * velocity
        else:
            denoised = executor(x, timestep, model_options, *args, **kwargs)
        if decision.keeps:
            if velocity is None:
                velocity = (x - denoised) / sigma
            # Cloned: a sampler may go on in place.
            self._run.end_call(decision, branches, [(velocity,)], latent=x.clone())
        return denoised


def _post_cfg(model_options: dict) -> int:
    """Number of functions that read the branches after guidance."""
    return len(model_options.get("sampler_post_cfg_function", ()))
