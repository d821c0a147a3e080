"""Attach a cache plan to a MODEL: the only file that touches ComfyUI's model options.

The MODEL clone carries one ``OUTER_SAMPLE`` wrapper and the frozen plan. When sampling begins,
that wrapper starts an ``ActiveRun`` (see ``starting``) and adds the wrappers of ``calls`` to the
options of this run only. However sampling ends, options and model are then as they were.
"""

from __future__ import annotations

import copy
import math
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import comfy.model_patcher
from comfy.patcher_extension import WrappersMP, add_wrapper_with_key

from ...gph_core.calibration.samples import Together
from ...gph_core.policies.base import Site
from ...gph_core.policies.extrapolation import Reuse
from ...gph_core.run.active_run import ActiveRun
from ...gph_core.run.latent_range import LatentRange
from ...gph_core.run_plan import RunPlan
from ...gph_core.schedule import Schedule
from . import calls, compiler
from .fingerprint import KEY
from .observing import ObservedCalls
from .setup import SamplingSetup
from .starting import Learner, RunListener, after_whole, lesson_of, start

# Only one of our runs at a time on each ComfyUI model; an RLock, as runs can be nested.
_LOCKS: weakref.WeakKeyDictionary[Any, threading.RLock] = weakref.WeakKeyDictionary()
_LOCK = threading.Lock()  # guards their dictionary


def attach(
    model, plan: RunPlan, reporter: RunListener, switch: calls.Switch | None = None,
    learner: Learner | None = None,
):  # fmt: skip
    """Clone of the MODEL that samples under the plan; the MODEL itself stays unchanged.

    Args:
        switch: lets calls bypass the cache.
        learner: learns from its runs.
    """
    # A second cache node on the same model replaces the first: two would cache each other's steps.
    patched = without_cache(model)
    patched.add_wrapper_with_key(
        WrappersMP.OUTER_SAMPLE, KEY, _PlannedSampling(plan, reporter, switch, learner)
    )
    return patched


def plan_of(model) -> RunPlan | None:
    """Plan that a MODEL samples under; None without a cache of this pack."""
    wrappers = model.get_wrappers(WrappersMP.OUTER_SAMPLE, KEY)
    return next((w.plan for w in wrappers if isinstance(w, _PlannedSampling)), None)


def without_cache(model):
    """Clone of the MODEL that computes every step in full."""
    plain = model.clone()
    plain.remove_wrappers_with_key(WrappersMP.OUTER_SAMPLE, KEY)
    return plain


def uncached(model):
    """The MODEL itself if it has no cache of this pack, as ComfyUI loads every clone anew."""
    return without_cache(model) if model.get_wrappers(WrappersMP.OUTER_SAMPLE, KEY) else model


def watched(model, watcher: Together):
    """Clone of the MODEL that computes every step in full and reports each."""

    def wrappers(sigmas: list[float]) -> Mapping[str, Callable]:
        run = ActiveRun(Schedule.all_full(len(sigmas) - 1), Reuse(), sigmas)
        return ObservedCalls(run, watcher).wrappers()

    return wrapped(model, wrappers)


def wrapped(model, wrappers: Callable[[list[float]], Mapping[str, Callable]]):
    """Clone of the MODEL whose calls go through wrappers instead of a cache.

    Args:
        wrappers: takes the noise levels of a run, returns its wrappers by their place in ComfyUI.
    """
    patched = without_cache(model)

    def outer_sample(executor, noise, latent_image, sampler, sigmas, *args, **kwargs):
        guider = executor.class_obj
        setup = SamplingSetup(guider, sampler, sigmas.tolist(), latent_image.shape)
        with (
            _wrapped(guider, wrappers(setup.sigmas)) as options,
            compiler.off_in_run(setup, options),
        ):
            return executor(noise, latent_image, sampler, sigmas, *args, **kwargs)

    patched.add_wrapper_with_key(WrappersMP.OUTER_SAMPLE, KEY, outer_sample)
    return patched


@dataclass(frozen=True)
class _PlannedSampling:
    """Wrapper that ``attach`` adds."""

    plan: RunPlan
    reporter: RunListener
    switch: calls.Switch | None
    learner: Learner | None = None

    def __call__(
        self, executor, noise, latent_image, sampler, sigmas, denoise_mask=None, callback=None,
        *args, **kwargs,
    ):  # fmt: skip
        if len(sigmas) < 2:  # no step to take
            return executor(
                noise, latent_image, sampler, sigmas, denoise_mask, callback, *args, **kwargs
            )
        guider, reporter, shape = executor.class_obj, self.reporter, latent_image.shape
        setup = SamplingSetup(guider, sampler, sigmas.tolist(), shape)
        lesson = lesson_of(
            self.learner, self.plan, setup, noise, latent_image, denoise_mask, *args[1:], **kwargs
        )  # fmt: skip
        run = start(lesson.plan, reporter, setup, continues=not noise.any())
        for note in lesson.notes:
            run.note(note)
        latents = LatentRange([math.prod(shape[1:]) for shape in kwargs.get("latent_shapes") or ()])
        wrappers = calls.ranged(calls.wrappers(run), run, latents)
        if self.switch is not None:
            wrappers = self.switch.over(wrappers)
        keeps_tokens = run.policy.site is Site.STACK and run.schedule.num_cached > 0
        with (
            _wrapped(guider, wrappers) as options,
            compiler.off_in_run(setup, options, keeps_tokens) as was_on,
        ):
            if was_on:
                run.note(compiler.NOTE)
            reporter.started(run)
            told, is_complete = _also_telling(run, callback), False
            try:
                result = executor(
                    noise, latent_image, lesson.sampler, sigmas, denoise_mask, told, *args,
                    **kwargs,
                )  # fmt: skip
                run.note(latents.fault(run.calls.kinds(), result))
                is_complete = True
            finally:
                record = run.finish(is_complete)
                if not is_complete:
                    reporter.finished(record)
        notes = after_whole(lesson, record)  # which may sample on the same model
        reporter.finished(replace(record, notes=(*record.notes, *notes)))
        return result


def _also_telling(run: ActiveRun, callback: Callable | None) -> Callable:
    """Sampler callback that also tells a run which steps are done."""

    def step_done(step, *rest):
        run.step_done(step)
        if callback is not None:
            callback(step, *rest)

    return step_done


@contextmanager
def _wrapped(guider, wrappers: Mapping[str, Callable]) -> Iterator[dict]:
    """Route the guider's calls through wrappers in the block; yield its transformer options."""
    original = guider.model_options
    guider.model_options = comfy.model_patcher.create_model_options_clone(original)
    options = guider.model_options.setdefault("transformer_options", {})
    here = dict(wrappers)
    direct = here.pop(WrappersMP.PREDICT_NOISE, None) if calls.goes_past_wrappers(guider) else None
    for kind, wrapper in here.items():
        add_wrapper_with_key(kind, KEY, wrapper, options)
    try:
        with _alone(guider.model_patcher.model), calls.called_through(guider, direct):
            threads = _OtherThreads(guider.model_patcher)
            add_wrapper_with_key(WrappersMP.CALC_COND_BATCH, KEY, threads.calc_cond_batch, options)
            try:
                yield options
            finally:
                threads.give_back()
    finally:
        guider.model_options = original


@contextmanager
def _alone(model) -> Iterator[None]:
    """Make other threads wait that begin a run of ours on the same weights."""
    with _LOCK:
        lock = _LOCKS.setdefault(model, threading.RLock())
    with lock:
        yield


class _OtherThreads:
    """Plain runs of other threads on the same weights, which our lock cannot hold up.

    A ComfyUI model has one current patcher: a run that begins or ends takes it from the others. So
    while there are others, our run calls a shallow copy of the model that has our patcher.
    """

    def __init__(self, patcher) -> None:
        self._patcher = patcher
        self._other = getattr(patcher.model, "current_patcher", None)

    def calc_cond_batch(self, executor, model, *args, **kwargs):
        if model is not self._patcher.model or not hasattr(model, "current_patcher"):
            return executor(model, *args, **kwargs)
        called = model
        if self._look(model):
            called = copy.copy(model)
            called.current_patcher = self._patcher
        result = executor(called, *args, **kwargs)
        self._look(model)
        return result

    def _look(self, model) -> bool:
        """Note whose patcher the model has now; return whether there is or was another run."""
        current = model.current_patcher
        is_taken = current is not self._patcher
        if is_taken:
            self._other = current  # of a run that began meanwhile; None if the others have ended
        return is_taken or self._other is not None

    def give_back(self) -> None:
        """Give the run of another thread its patcher back."""
        model = self._patcher.model
        if self._other is not None and model.current_patcher is None:
            model.current_patcher = self._other
