"""Calibration of methods on a workload: sample the input of their fits, then fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import comfy.model_management
import comfy.utils

from ...gph_core.calibration.entry import COUNTS, Calibration
from ...gph_core.calibration.samples import Setup
from ...gph_core.calibration.table import RECIPES, Recipe
from ...gph_core.texts import counted, named
from ..sample.workload import Workload
from ..workers.jobs import Job, Mapped
from .calibration_runs import CalibrationRuns, OnPart

Save = Callable[..., None]  # of entries


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
    mapped: Mapped | None = None,
) -> Calibrated:  # fmt: skip
    """Calibrate methods on the same full runs; impossible ones are left out.

    Values are fitted to all examples that an entry has, those of former workloads too.

    Args:
        methods: of ``RECIPES``.
        entries: what there is already: only what is missing is sampled, and an entry without a
            new example keeps its values and thresholds.
        save: told the entries that have changed, after each example and in the end.
        mapped: of workers that sample the examples; none: they are sampled here.

    Raises:
        ValueError: none of the methods is possible, or an entry was made under other conditions.
    """
    runs, conditions = CalibrationRuns(workload), workload.setup.conditions
    reasons = reasons_against(runs)
    left_out = {method: reason for method in methods if (reason := reasons[method])}
    found = {m: entries.get(m) or Calibration(m, conditions) for m in methods if not reasons[m]}
    if not found:
        possible = ", ".join(method for method in RECIPES if not reasons[method]) or "none"
        raise ValueError(f"{'; '.join(left_out.values())}. Possible here: {possible}")
    for entry in found.values():
        entry.check(conditions)
    done = Calibrated(found, left_out, [])
    _sample_missing(runs, done, progress, save, mapped)
    for method, entry in list(found.items()):
        with _leaving_out(method, done):
            found[method] = _with_values(entry, runs.setup)
    done.notes.extend(_notes(workload, done, entries))
    changed = [entry for method, entry in found.items() if entry is not entries.get(method)]
    if changed:
        save(*changed)
    return done


def reasons_against(runs: CalibrationRuns) -> dict[str, str]:
    """Reasons why methods cannot be calibrated on these runs, by method; empty if they can."""

    def reason(recipe: Recipe) -> str:
        setup = runs.workload.setup
        found = recipe.refusal(runs.setup) or setup.incompatibility(recipe.site)
        return (found or "").partition(";")[0]  # the remedy is for runs that cache

    found = {method: reason(recipe) for method, recipe in RECIPES.items()}
    return {method: f"{method}: {why}" if why else "" for method, why in found.items()}


def _sample_missing(
    runs: CalibrationRuns, done: Calibrated, progress: OnPart, save: Save, mapped: Mapped | None
) -> None:
    """Sample the examples that methods lack, each in one run for all of these methods."""
    found = done.entries
    names = runs.workload.names()
    missing = [n for n, name in enumerate(names) if any(e.missing([name]) for e in found.values())]
    taken: list[tuple[int, list[str]]] = []

    def jobs() -> Iterator[tuple[int, list[str]]]:
        for number in missing:
            methods = [m for m, entry in found.items() if entry.missing([names[number]])]
            if methods:  # those that lack it may have failed meanwhile
                taken.append((number, methods))
                yield taken[-1]

    def here(jobs: Iterable[Job]) -> Iterator[Any]:
        for number, methods in jobs:
            yield runs.samples(
                number, methods, lambda part: progress((count + part) / len(missing))
            )

    count = 0
    for count, samples in enumerate((mapped or here)(jobs()), 1):
        number, methods = taken[count - 1]
        for method in methods:
            if method not in found:  # it has failed on an example before this one
                continue
            with _leaving_out(method, done):
                tensors = samples[method]
                if isinstance(tensors, str):
                    raise ValueError(tensors)
                found[method] = found[method].with_sample(names[number], tensors)
        progress(count / len(missing))
        if sampled := [found[method] for method in methods if method in found]:
            save(*sampled)


def _with_values(entry: Calibration, setup: Setup) -> Calibration:
    """Entry with values fitted to all its examples; unchanged where it has them already.

    On another machine the same fit may end in another last digit, which is no reason to drop
    thresholds. Samples are only ever added, so that their number tells.
    """
    if sum(entry.report.get(count, 0) for count in COUNTS) == len(entry.samples):
        return entry
    recipe = RECIPES[entry.method]
    form = recipe.form(setup.num_steps)
    with entry.damaged("samples"):
        samples = [form.read(sample) for sample in entry.samples.values()]
    return entry.with_values(recipe.values(samples, setup))


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
