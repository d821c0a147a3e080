"""Calibration of methods on a workload: sample the input of their fits, then fit."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import comfy.model_management
import comfy.utils
from comfy.samplers import KSAMPLER
from torch import Tensor

from ...gph_core.calibration import planned, polynomial, residual_ratios, sensitivities
from ...gph_core.calibration.entry import Calibration, Fitted
from ...gph_core.gates.coefficients import SignalKind
from ...gph_core.policies.base import Policy, Site
from ...gph_core.policies.extrapolation import Reuse
from ...gph_core.policies.mean_velocity import MeanVelocity
from ...gph_core.reports.texts import counted, named
from ..cache import time_changes
from ..hook import compatibility, samplers
from ..sample.sampler_variants import reporting_states
from ..sample.workload import Workload
from .adaptive_samples import MagCacheSample, SenCacheSample, TeaCacheSample
from .calibration_samples import Sample, Together
from .planned_samples import DPCacheSample, L2PSample, MeanCacheSample

# By method, a policy of the site at which it observes: what rules that out rules it out.
SITES: dict[str, Policy] = {
    "TeaCache": Reuse(),
    "SenCache": Reuse(Site.OUTPUT),
    "MagCache": Reuse(),
    "L2P": Reuse(Site.OUTPUT),
    "DPCache": Reuse(),
    "MeanCache": MeanVelocity(),
}
FITTED = tuple(SITES)

# Called with the part that is done, 0 to 1, before each run and each step; cancels by an exception.
OnPart = Callable[[float], None]
Save = Callable[..., None]  # of entries


class Fit(NamedTuple):
    """Recipe for calibrating one method."""

    sample: Callable[[], Sample]
    values: Callable[[Sequence[Mapping[str, Tensor]]], Fitted]


class Calibrated(NamedTuple):
    """Outcome of calibrating several methods."""

    entries: dict[str, Calibration]
    left_out: dict[str, str]  # why, by method
    notes: list[str]


class Bar:
    """Progress bar of a node, where the user can cancel."""

    def __init__(self, node_id: str | None) -> None:
        self._bar = comfy.utils.ProgressBar(1000, node_id=node_id)

    def __call__(self, part: float) -> None:
        comfy.model_management.throw_exception_if_processing_interrupted()
        self._bar.update_absolute(round(1000 * part))


def calibrate_all(
    workload: Workload, methods: Sequence[str], entries: Mapping[str, Calibration],
    progress: OnPart = lambda part: None, save: Save = lambda *entries: None,
) -> Calibrated:  # fmt: skip
    """Calibrate methods on the same full runs; impossible ones are left out.

    Values are fitted to all examples that an entry has, those of former workloads too.

    Args:
        methods: of ``FITTED``.
        entries: what there is already: only what is missing is sampled, and an entry without a
            new example keeps its values and thresholds.
        save: told the entries that have changed, after each example and in the end.

    Raises:
        ValueError: none of the methods is possible, or an entry was made under other conditions.
    """
    reasons, conditions = reasons_against(workload), workload.conditions()
    left_out = {method: reason for method in methods if (reason := reasons[method])}
    found = {m: entries.get(m) or Calibration(m, conditions) for m in methods if not reasons[m]}
    if not found:
        possible = ", ".join(method for method in FITTED if not reasons[method]) or "none"
        raise ValueError(f"{'; '.join(left_out.values())}. Possible here: {possible}")
    for entry in found.values():
        entry.check(conditions)
    done, fits = Calibrated(found, left_out, []), fits_of(workload)
    _sample_missing(workload, fits, done, progress, save)
    for method, entry in list(found.items()):
        with _leaving_out(method, done):
            found[method] = _with_values(entry, fits[method])
    done.notes.extend(_notes(workload, done, entries))
    changed = [entry for method, entry in found.items() if entry is not entries.get(method)]
    if changed:
        save(*changed)
    return done


def reasons_against(workload: Workload) -> dict[str, str]:
    """Reasons why methods of ``FITTED`` cannot be calibrated here, by method; empty if they can."""
    patcher, sampler = workload.guider.model_patcher, workload.sampler
    levels = workload.sigmas.tolist()
    family, name = compatibility.identify(patcher)
    found = {
        m: compatibility.incompatibility(p, patcher, sampler, levels) for m, p in SITES.items()
    }
    if family is not None and family.signal is None:
        found["TeaCache"] = f"the input of the first block of {name} cannot be read"
    if max(levels) > 1:
        found["SenCache"] = (
            f"its noise levels are those of flow models, 0 to 1, not {max(levels):g}"
        )
    if not isinstance(sampler, KSAMPLER):
        found["MeanCache"] = "the states of another extension's sampler cannot be read"
    elif samplers.makes_several_calls(sampler):
        found["MeanCache"] = (
            f"it needs a sampler that calls the model once per step, not {samplers.name(sampler)}"
        )
    # What follows the reason is about runs that cache.
    short = {method: (reason or "").partition(";")[0] for method, reason in found.items()}
    return {method: f"{method}: {reason}" if reason else "" for method, reason in short.items()}


def fits_of(workload: Workload) -> dict[str, Fit]:
    """Fit of each method of ``FITTED``."""
    n, levels = workload.num_steps, workload.sigmas.tolist()
    times = time_changes.time_signal(workload.guider.model_patcher, levels)
    return {
        "TeaCache": Fit(lambda: TeaCacheSample(n, times), partial(_polynomial, times is not None)),
        "SenCache": Fit(lambda: SenCacheSample(n), sensitivities.table),
        "MagCache": Fit(lambda: MagCacheSample(n), residual_ratios.table),
        "L2P": Fit(lambda: L2PSample(n), planned.products),
        "DPCache": Fit(lambda: DPCacheSample(n), planned.costs),
        "MeanCache": Fit(lambda: MeanCacheSample(levels), planned.costs),
    }


def _sample_missing(
    workload: Workload, fits: Mapping[str, Fit], done: Calibrated, progress: OnPart, save: Save
) -> None:
    """Sample the examples that methods lack, each in one run for all of these methods."""
    found = done.entries
    names = workload.names()
    missing = [n for n, name in enumerate(names) if any(e.missing([name]) for e in found.values())]
    for count, number in enumerate(missing):
        name = names[number]
        samples = {m: fits[m].sample() for m, entry in found.items() if entry.missing([name])}
        if not samples:  # those that lack it have failed meanwhile
            continue
        on_part = partial(_tell_part, progress, count, len(missing))
        last = _run(workload, number, tuple(samples.values()), on_part)
        for method, sample in samples.items():
            with _leaving_out(method, done):
                tensors = sample.tensors(last)
                if any(tensor.isnan().any() for tensor in tensors.values()):
                    raise ValueError(
                        f"{method}: the values of example {number + 1} are not finite; leave "
                        "this example out"
                    )
                found[method] = found[method].with_sample(name, tensors)
        if sampled := [found[method] for method in samples if method in found]:
            save(*sampled)


def _run(workload: Workload, number: int, samples: Sequence[Sample], on_part: OnPart) -> Tensor:
    """Final state of an example's full run, which samples watch."""
    on_part(0.0)
    sampling, ends = workload.sampling(number), deque(maxlen=1)  # states are large
    if isinstance(sampling.sampler, KSAMPLER):
        sampling = replace(sampling, sampler=reporting_states(sampling.sampler, ends.append))
    latent = sampling.watched(
        Together(samples), lambda step, *_: on_part((step + 1) / workload.num_steps)
    )
    return ends[-1] if ends else latent


def _tell_part(progress: OnPart, count: int, total: int, part: float) -> None:
    progress((count + part) / total)


def _with_values(entry: Calibration, fit: Fit) -> Calibration:
    """Entry with values fitted to all its examples; unchanged where it has them already.

    On another machine the same fit may end in another last digit, which is no reason to drop
    thresholds. Samples are only ever added, so that their number tells.
    """
    counts = ("num_examples", "num_fit", "num_held_out")
    if sum(entry.report.get(count, 0) for count in counts) == len(entry.samples):
        return entry
    return entry.with_values(fit.values(list(entry.samples.values())))


def _polynomial(is_time: bool, samples: Sequence[Mapping[str, Tensor]]) -> Fitted:
    """Polynomial of TeaCache, and the signal that it belongs to."""
    fitted = polynomial.fit(samples, time_only=is_time)
    signal = SignalKind.TIME_PROJECTION if is_time else SignalKind.MODULATED
    return fitted._replace(values={**fitted.values, "signal": signal.value})


@contextmanager
def _leaving_out(method: str, done: Calibrated) -> Iterator[None]:
    """Leave a method out if the block raises ``ValueError``."""
    try:
        yield
    except ValueError as error:
        done.left_out[method] = named(method, str(error))
        del done.entries[method]


def _notes(
    workload: Workload, done: Calibrated, former: Mapping[str, Calibration]
) -> Iterator[str]:  # fmt: skip
    """Further notes on calibrations that extend former ones."""
    yield from workload.notes
    given = set(workload.names())
    others = max((len(e.samples.keys() - given) for e in done.entries.values()), default=0)
    if others:
        yield (
            f"the values also include {counted(others, 'example')} of former calibrations in this "
            "file; choose another name to use only the new ones"
        )
    for method, entry in done.entries.items():
        if method in former and former[method].thresholds and not entry.thresholds:
            yield (
                f"the values of {method} have changed, so its thresholds are deleted; run "
                "Calibrate Ratio again"
            )
