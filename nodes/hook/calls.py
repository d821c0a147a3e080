"""Wrappers of one run around ComfyUI's calls: decide, compute or predict, remember.

``APPLY_MODEL`` runs outside a compiled model and, being the last one added, inside everything
else; ``PREDICT_NOISE`` sees the result of guidance.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from comfy.patcher_extension import WrappersMP

from ...gph_core.policies.base import Site
from ...gph_core.run.active_run import ActiveRun
from . import fingerprint
from .branch_calls import OutputCalls, StackCalls
from .branches import guided
from .variants import Variants, marks


def wrappers(run: ActiveRun) -> dict[str, Callable]:
    """Wrappers that a run needs, by their place in ComfyUI."""
    if run.policy.site is Site.GUIDED:
        guidance = GuidedCalls(run)
        return {
            WrappersMP.PREDICT_NOISE: guidance.predict_noise,
            WrappersMP.APPLY_MODEL: guidance.apply_model,
        }
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
        self._variants = Variants()
        self._is_asked = False  # whether the sampler asks the guider at all

    def predict_noise(self, executor, x, timestep, model_options, *args, **kwargs):
        self._is_asked = True
        self._run.begin_evaluation()
        self._variants.begin_evaluation()
        guider, sigma = executor.class_obj, float(timestep[0])
        if _post_cfg(model_options) > _post_cfg(guider.model_options):
            self._run.stop_caching(
                "caching stopped because the sampler reads more than the result of guidance; "
                "choose a residual policy"
            )
        branches = [self._branch(guider, x, sigma, model_options)]
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

    def apply_model(self, executor, x, t, *args, **kwargs):
        if not self._is_asked:
            self._run.stop_caching(
                "caching stopped because the sampler does not ask the guider, whose results "
                "velocity policies and fitted paths predict; choose a residual policy"
            )
            self._run.begin_call(float(t[0]), ())
        return executor(x, t, *args, **kwargs)

    def _branch(self, guider, x, sigma: float, model_options: dict) -> Hashable:
        """Key of the guided result: it is another one once anything under it changes."""
        options = model_options.get("transformer_options", {})
        place = (tuple(x.shape), guided(guider.conds, sigma, options))
        _, numbers = fingerprint.guidance(guider)
        return (*place, self._variants.number(place, marks(model_options, numbers)))


def _post_cfg(model_options: dict) -> int:
    """Number of functions that read the branches after guidance."""
    return len(model_options.get("sampler_post_cfg_function", ()))
