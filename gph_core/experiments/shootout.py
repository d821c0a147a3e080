"""Runs of *Method Shootout*: each example in full, then with each candidate."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..methods.candidates import FULL
from ..quality.shootout import CandidateRun, Results
from .candidates import Candidate
from .jobs import Jobs
from .runner import Examples


class Standing(NamedTuple):
    """Results on the examples that all candidates have run.

    Args:
        candidates: the full run first.
        found: results by name of the candidate, in the order of the examples.
        prompts: name, prompt and seed of each example.
        num_steps: of the full run.
        conditions: what all results depend on.
    """

    candidates: Sequence[Candidate]
    found: Mapping[str, Sequence[CandidateRun]]
    prompts: Sequence[Mapping[str, Any]]
    num_steps: int
    conditions: Mapping[str, Any]


@dataclass(frozen=True)
class Shootout:
    """Study of all examples with all candidates, the full run first.

    Runs known from former sessions are not repeated, except the full run of an unfinished example,
    with which the rest of its runs are compared.

    Args:
        metrics: names of those that are measured.
        jobs: take the number of an example and names of candidates, and give their runs in JSON,
            one by one, each with whether to keep it.
        on_example: called after each example that something was run for.
    """

    examples: Examples
    candidates: Sequence[Candidate]
    metrics: Collection[str]
    results: Results
    jobs: Jobs
    on_example: Callable[[Shootout], None] = lambda _: None

    @functools.cached_property
    def _numbers(self) -> dict[str, int]:
        """Numbers of the examples by name."""
        return {name: number for number, name in enumerate(self.examples.names())}

    def found(self) -> dict[str, list[CandidateRun]]:
        """Results by candidate, of the examples that all of them have run, in their order."""
        plans = {c.name: c.plan for c in self.candidates}
        found: dict[str, list[CandidateRun]] = {name: [] for name in plans}
        for example in self._numbers:
            known = {
                name: result
                for name, plan in plans.items()
                if (result := self.results.get(example, name, plan)) is not None
            }
            if known.keys() == plans.keys():
                for name, result in known.items():
                    found[name].append(result)
        return found

    def standing(self) -> Standing:
        """Results so far, for a report."""
        found = self.found()
        examples = {
            result.example: self.examples.examples[self._numbers[result.example]]
            for result in found[FULL]
        }
        prompts = [
            {"example": name, "prompt": example.prompt, "seed": example.seed}
            for name, example in examples.items()
        ]
        steps, conditions = self.examples.num_steps, self.results.conditions
        return Standing(self.candidates, found, prompts, steps, conditions)

    def run(self) -> None:
        """Make all runs that are missing."""
        missing = {
            number: some for name, number in self._numbers.items() if (some := self._missing(name))
        }
        full, steps = self.candidates[0], 0
        for some in missing.values():  # the full run comes first in any case
            steps += sum(c.schedule.num_steps for c in dict.fromkeys([full, *some]))
        asked = ((number, [c.name for c in some]) for number, some in missing.items())
        for runs in self.jobs(asked, steps):
            for text, is_kept in runs:
                self.results.add(CandidateRun.from_json(text), is_kept)
            self.on_example(self)

    def _missing(self, example: str) -> list[Candidate]:
        """Runs without a result, or without a metric that can be measured now."""
        measured = set(self.metrics)
        found = {c: self.results.get(example, c.name, c.plan) for c in self.candidates}
        return [
            candidate
            for candidate, result in found.items()
            if result is None or (candidate.name != FULL and not measured <= result.metrics.keys())
        ]
