"""Wrappers of one run around ComfyUI's calls: decide, compute or predict, remember.

The wrapper ``APPLY_MODEL`` is outside a compiled model and, as the last one added, inside all
other wrappers; ``PREDICT_NOISE`` sees the result of guidance.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from comfy.patcher_extension import WrapperExecutor, WrappersMP
from comfy.samplers import CFGGuider

from ...gph_core.policies.base import Site, Streams
from ...gph_core.run.active_run import ActiveRun
from ...gph_core.run.latent_range import LatentRange
from ...gph_core.run.variants import Variants
from . import fingerprint
from .branch_calls import OutputCalls, StackCalls
from .branches import SecondPrompt, guided, marks

NO_SECOND = (
    "caching stopped because the weights of this path need what the model makes of the negative "
    "prompt for the whole latent, which this run lacks: it has one prompt (as with CFG 1), samples "
    "in context windows, or its negative prompt acts in a part of the run only; choose another path"
)


def wrappers(run: ActiveRun) -> dict[str, Callable]:
    """Wrappers that a run needs, by their place in ComfyUI."""
    if run.policy.site is Site.GUIDED:
        guidance = GuidedCalls(run)
        return {
            WrappersMP.PREDICT_NOISE: guidance.predict_noise,
            WrappersMP.CALC_COND_BATCH: guidance.calc_cond_batch,
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
        self._is_asked = False  # whether the sampler calls the guider at all
        self._second: SecondPrompt | None = None  # of this evaluation, if the policy uses it

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
            self._variants.note_cached()
            (velocity,) = decision.predicted(self._run.policy, x)
            denoised = x - sigma * velocity
        else:
            step = decision.step if decision.keeps else None
            wants_second = step is not None and self._run.policy.uses_second(step)
            self._second = SecondPrompt(x.shape, sigma) if wants_second else None
            denoised = executor(x, timestep, model_options, *args, **kwargs)
        if decision.keeps:
            feature = (velocity,) if velocity is not None else self._velocities(x, denoised, sigma)
            # Cloned: a sampler may change it in place.
            self._run.end_call(decision, branches, [feature], latent=x.clone())
        return denoised

    def calc_cond_batch(self, executor, *args):
        return self._second.calc_cond_batch(executor, *args) if self._second else executor(*args)

    def _velocities(self, x, denoised, sigma: float) -> Streams:
        """Velocities of a full step: after guidance and, if it has one, of the second prompt."""
        second, self._second = self._second, None
        if second is not None and second.velocity is None:
            self._run.stop_caching(NO_SECOND)
        of_second = () if second is None or second.velocity is None else (second.velocity,)
        return ((x - denoised) / sigma, *of_second)

    def apply_model(self, executor, x, t, *args, **kwargs):
        if not self._is_asked:
            self._run.stop_caching(
                "caching stopped because the sampler does not ask the guider, whose results "
                "velocity policies and fitted paths predict; choose a residual policy"
            )
            self._run.begin_call(float(t[0]), ())
        return executor(x, t, *args, **kwargs)

    def _branch(self, guider, x, sigma: float, model_options: dict) -> Hashable:
        """Key of the guided result; it changes with anything that the result depends on."""
        options = model_options.get("transformer_options", {})
        place = (tuple(x.shape), guided(guider.conds, sigma, options))
        _, numbers = fingerprint.guidance(guider)
        option_marks = marks({**model_options, **numbers})
        return (*place, self._variants.number(place, option_marks, sigma))


def ranged(
    wrappers: Mapping[str, Callable], run: ActiveRun, latents: LatentRange
) -> dict[str, Callable]:
    """Wrappers of a run that also note its latents at each evaluation."""
    predict = wrappers[WrappersMP.PREDICT_NOISE]

    def noting(executor, x, timestep, *args, **kwargs):
        # Scaled now: a sampler or a model may change them in place.
        sampling = executor.class_obj.model_patcher.get_model_object("model_sampling")
        before = sampling.calculate_input(timestep[:1], latents.rms(x))
        denoised = predict(executor, x, timestep, *args, **kwargs)
        latents.evaluated(run.calls.evaluation, before, latents.rms(denoised))
        return denoised

    return {**wrappers, WrappersMP.PREDICT_NOISE: noting}


def _post_cfg(model_options: dict) -> int:
    """Number of functions that read the branches after guidance."""
    return len(model_options.get("sampler_post_cfg_function", ()))


def goes_past_wrappers(guider) -> bool:
    """Whether a guider may predict noise without its ``PREDICT_NOISE`` wrappers, as NAG's do."""
    own = (getattr(type(guider), name, None) for name in ("__call__", "outer_predict_noise"))
    return tuple(own) != (CFGGuider.__call__, CFGGuider.outer_predict_noise)


@contextmanager
def called_through(guider, wrapper: Callable | None) -> Iterator[None]:
    """Route samplers' calls of a guider through a ``PREDICT_NOISE`` wrapper."""
    if wrapper is None:
        yield
        return
    kind = type(guider)

    def call(self, *args, **kwargs):
        asked = WrapperExecutor.new_class_executor(partial(kind.__call__, self), self, [wrapper])
        return asked.execute(*args, **kwargs)

    # Python looks up __call__ in the class only.
    names = {"__call__": call, "__module__": kind.__module__}
    guider.__class__ = type(kind.__name__, (kind,), names)
    try:
        yield
    finally:
        guider.__class__ = kind


class Switch:
    """Switch that is on except within ``off``; the run ignores calls made there."""

    def __init__(self) -> None:
        self._is_on = True

    @contextmanager
    def off(self) -> Iterator[None]:
        self._is_on = False
        try:
            yield
        finally:
            self._is_on = True

    def over(self, wrappers: Mapping[str, Callable]) -> dict[str, Callable]:
        """Wrappers, by their place in ComfyUI, that this switch can turn off."""
        return {place: self._switched(wrapper) for place, wrapper in wrappers.items()}

    def _switched(self, wrapper: Callable) -> Callable:
        def switched(executor, *args, **kwargs):
            return (wrapper if self._is_on else _pass)(executor, *args, **kwargs)

        return switched


def _pass(executor, *args, **kwargs):
    return executor(*args, **kwargs)
