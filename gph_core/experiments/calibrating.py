"""Calibration of methods on examples: sample what their fits need, then fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from ..calibration.entry import COUNTS, Calibration
from ..calibration.samples import RunFacts
from ..calibration.table import RECIPES, Recipe
from ..texts import counted, named
from .jobs import Job, Jobs
from .runner import Examples

Save = Callable[..., None]  # of entries


class Calibrated(NamedTuple):
    """Outcome of calibrating several methods."""

    entries: dict[str, Calibration]
    left_out: dict[str, str]  # why, by method
    notes: list[str]


def calibrate_all(
    examples: Examples, facts: RunFacts, methods: Sequence[str],
    entries: Mapping[str, Calibration], jobs: Jobs, save: Save = lambda *entries: None,
) -> Calibrated:  # fmt: skip
    """Calibrate methods on the same full runs; impossible ones are left out.

    Values are fitted to all examples that an entry has, those of former workloads too.

    Args:
        methods: of ``RECIPES``.
        entries: what there is already: only what is missing is sampled, and an entry without a
            new example keeps its values and thresholds.
        jobs: take the number of an example and methods, and give the tensors of its run by
            method, or the reason why a method has none.
        save: told the entries that have changed, after each example and in the end.

    Raises:
        ValueError: none of the methods is possible, or an entry was made under other conditions.
    """
    conditions = examples.setup.conditions
    reasons = reasons_against(examples, facts)
    left_out = {method: reason for method in methods if (reason := reasons[method])}
    found = {m: entries.get(m) or Calibration(m, conditions) for m in methods if not reasons[m]}
    if not found:
        possible = ", ".join(method for method in RECIPES if not reasons[method]) or "none"
        raise ValueError(f"{'; '.join(left_out.values())}. Possible here: {possible}")
    for entry in found.values():
        entry.check(conditions)
    done = Calibrated(found, left_out, [])
    _sample_missing(examples, done, jobs, save)
    for method, entry in list(found.items()):
        with _leaving_out(method, done):
            found[method] = _with_values(entry, facts)
    done.notes.extend(_notes(examples, done, entries))
    changed = [entry for method, entry in found.items() if entry is not entries.get(method)]
    if changed:
        save(*changed)
    return done


def reasons_against(examples: Examples, facts: RunFacts) -> dict[str, str]:
    """Reasons why methods cannot be calibrated on these runs, by method; empty if they can."""

    def reason(recipe: Recipe) -> str:
        why = recipe.refusal(facts) or examples.setup.incompatibility(recipe.site) or ""
        return why.partition(";")[0]  # the remedy is for runs that cache

    reasons = {method: reason(recipe) for method, recipe in RECIPES.items()}
    return {method: f"{method}: {why}" if why else "" for method, why in reasons.items()}


def _sample_missing(examples: Examples, done: Calibrated, jobs: Jobs, save: Save) -> None:
    """Sample the examples that methods lack, each in one run for all of these methods."""
    entries, names = done.entries, examples.names()
    taken: list[tuple[int, list[str]]] = []

    def lacking(name: str) -> list[str]:
        return [method for method, entry in entries.items() if entry.missing([name])]

    missing = [number for number, name in enumerate(names) if lacking(name)]

    def asked() -> Iterator[Job]:
        for number in missing:
            if methods := lacking(names[number]):  # others may have failed meanwhile
                taken.append((number, methods))
                yield taken[-1]

    for count, (samples,) in enumerate(jobs(asked(), len(missing) * examples.num_steps)):
        number, methods = taken[count]
        for method in methods:
            if method not in entries:  # it has failed on an example before this one
                continue
            with _leaving_out(method, done):
                tensors = samples[method]
                if isinstance(tensors, str):
                    raise ValueError(tensors)
                entries[method] = entries[method].with_sample(names[number], tensors)
        if sampled := [entries[method] for method in methods if method in entries]:
            save(*sampled)


def _with_values(entry: Calibration, facts: RunFacts) -> Calibration:
    """Entry with values fitted to all its examples; unchanged where it has them already.

    On another machine the same fit may end in another last digit, which is no reason to drop
    thresholds. Samples are only ever added, so that their number tells.
    """
    if sum(entry.report.get(count, 0) for count in COUNTS) == len(entry.samples):
        return entry
    recipe = RECIPES[entry.method]
    form = recipe.form(facts.num_steps)
    with entry.damaged("samples"):
        samples = [form.read(sample) for sample in entry.samples.values()]
    return entry.with_values(recipe.values(samples, facts))


@contextmanager
def _leaving_out(method: str, done: Calibrated) -> Iterator[None]:
    """Leave a method out if the block raises ``ValueError``."""
    try:
        yield
    except ValueError as error:
        done.left_out[method] = named(method, str(error))
        del done.entries[method]


def _notes(
    examples: Examples, done: Calibrated, former: Mapping[str, Calibration]
) -> Iterator[str]:  # fmt: skip
    """Notes on examples, and on calibrations that extend former ones."""
    yield from examples.notes
    given = set(examples.names())
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
