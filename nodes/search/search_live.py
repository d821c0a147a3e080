"""Live messages to the page while *Schedule Search* runs."""

from __future__ import annotations

import logging
import math
import time
from dataclasses import astuple
from typing import Any

import comfy.model_management
import comfy.utils

from ...gph_core.experiments.search import ONE_EXAMPLE
from ...gph_core.policies.base import Policy
from ...gph_core.quality.objective import Objective
from ...gph_core.schedule import Schedule
from ...gph_core.search.budget import Budget
from ...gph_core.search.proposals import Score
from ...gph_core.search.protocol import Listener, Validated
from ...gph_core.search.study import Study
from ..schema import prompts

EVENT = "golden_path.search"
PAUSE_S = 0.25  # between two events: a small model scores ten schedules a second
OF_BAR = 1000
_LOG = logging.getLogger(__name__)


class SearchLive(Listener):
    """Live view of one search; ``node_id`` is the node's execution id.

    An event has the state (``preparing``, ``searching``, ``validating`` or ``done``), the used part
    of the budget, the number of scored schedules, and the best schedule so far: its text, policy
    and mean score. ``curve`` holds a pair (schedules scored, best mean) for each improvement.
    ``part`` says how many full runs (``preparing``) or comparisons (``validating``) are done, and
    of how many. At the end the best schedule is the delivered one, ``is_validated`` says whether
    its score is that on the validation examples, and ``table`` is the node's text output.
    ``workers`` has a row for each worker, if any, see ``Activity``. ``left`` is an estimate of the
    seconds until the budget is used up, or the comparisons are done; None where it is not known.
    """

    def __init__(self, node_id: str | None, unit: str, budget: Budget) -> None:
        self._node_id = prompts.displayed(node_id)
        self._prompt = prompts.current()
        self._bar = comfy.utils.ProgressBar(OF_BAR, node_id=node_id)
        self._budget = budget
        self._used: dict[Policy, float] = {}  # share of the whole budget
        self._spent: dict[Policy, float] = {}  # seconds, former runs of the study included
        self._scored: set[tuple[Policy, Schedule]] = set()
        self._objective: Objective | None = None
        self._ran = 0  # schedules that needed sampling in this session
        self._ran_seconds = 0.0
        self._first: tuple[float, float] | None = None  # used part and seconds at the first score
        self._validates_since = 0.0
        self._reported_at = 0.0
        self._told_workers: list[dict[str, Any]] = []
        self.facts: dict[str, Any] = {
            "state": "preparing", "unit": unit, "used": 0.0, "scored": 0, "per_minute": 0.0,
            "best": None, "policy": None, "score": None, "curve": [], "part": None,
            "is_validated": False, "table": "", "workers": [], "left": None, "examples": None,
        }  # fmt: skip

    def scores_on(self, num_examples: int) -> None:
        """Note the number of scoring examples; one alone deserves a warning."""
        self.facts["examples"] = num_examples
        if num_examples == 1:
            _LOG.warning("Schedule Search: %s", ONE_EXAMPLE)

    def on_run(self) -> None:
        """Note that a sampling run begins; the user may have cancelled."""
        comfy.model_management.throw_exception_if_processing_interrupted()

    def on_reference(self, done: int, total: int) -> None:
        """Report how many of the full runs for comparison are done."""
        before = {key: self.facts[key] for key in ("state", "part")}
        self.facts["part"] = [done, total]
        self.enter("preparing")
        self.facts |= before
        if done == total:
            self._tell(now=True)

    def on_workers(self, rows: list[dict[str, Any]]) -> None:
        """Report what workers do; an empty list once they have ended."""
        self.facts["workers"] = rows
        if rows != self._told_workers:
            self._tell(now=False)

    def validates(self, done: int, total: int) -> None:
        """Report that the best schedules are being compared."""
        clock = time.perf_counter()
        if not done:
            self._validates_since = clock
        left = (total - done) * (clock - self._validates_since) / done if done else None
        self.facts |= {"part": [done, total], "left": left}
        self.enter("validating")

    def scored(self, policy: Policy, study: Study, schedule: Schedule, score: Score) -> None:
        """Report that a schedule is scored, or scored again by another study of the same search."""
        facts = self.facts
        if study.objective != self._objective:  # a probe's scores are in another unit
            self._objective = study.objective
            facts |= {"best": None, "policy": None, "score": None, "curve": []}
            facts["unit"] = study.objective.name
        self._scored.add((policy, schedule))
        before = self._spent.get(policy, study.former_seconds)
        self._ran += study.seconds != before
        self._ran_seconds += study.seconds - before
        self._spent[policy] = study.seconds
        self._used[policy] = study.used * _share(study.budget, self._budget)
        facts |= {
            "state": "searching",
            "scored": len(self._scored),
            "used": max(facts["used"], min(1.0, sum(self._used.values()))),
            "per_minute": 60 * self._ran / self._ran_seconds if self._ran else 0.0,
        }
        facts["left"] = self._left(facts["used"])
        best = facts["score"]
        if score.is_whole and (best is None or score.mean > best):
            facts |= {"best": str(schedule), "policy": str(policy), "score": score.mean}
            facts["curve"].append((facts["scored"], score.mean))
        self._tell(now=best != facts["score"])

    def _left(self, used: float) -> float | None:
        """Seconds until the budget is used up, as fast as since the first score of this session."""
        self._first = self._first or (used, self._ran_seconds)
        share, seconds = used - self._first[0], self._ran_seconds - self._first[1]
        return (1 - used) * seconds / share if share > 0 else None

    def enter(self, state: str) -> None:
        """Enter and report another state."""
        self.facts["state"] = state
        self._tell(now=True)

    def finish(self, table: str, best: Validated, is_validated: bool) -> dict[str, Any]:
        """Finish the search; return the last message to the page for the node's output."""
        self.facts |= {
            "table": table, "best": str(best.schedule), "policy": str(best.policy),
            "score": best.score.mean, "is_validated": is_validated, "left": None,
        }  # fmt: skip
        self.enter("done")
        return self._event()

    def _tell(self, now: bool) -> None:
        self._bar.update_absolute(round(OF_BAR * self.facts["used"]))
        clock = time.perf_counter()
        if not now and clock - self._reported_at < PAUSE_S:
            return
        self._reported_at, self._told_workers = clock, self.facts["workers"]
        prompts.tell(EVENT, self._event())

    def _event(self) -> dict[str, Any]:
        origin = {
            "node_id": self._node_id, "workflow_id": self._prompt.workflow_id,
            "prompt_id": self._prompt.id,
        }  # fmt: skip
        return origin | self.facts


def _share(part: Budget, whole: Budget) -> float:
    """A part's share of the whole budget."""
    pairs = zip(astuple(part), astuple(whole), strict=True)
    return next((a / b for a, b in pairs if math.isfinite(b)), 1.0)
