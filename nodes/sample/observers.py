"""Observers of a run: they start it at a state, keep its record, and save states for others."""

from __future__ import annotations

from collections.abc import Hashable

from torch import Tensor

from ...gph_core.paths.conditions import Choice
from ...gph_core.policies.base import Anchor
from ...gph_core.run.active_run import ActiveRun
from ...gph_core.run.record import RunRecord
from ...gph_core.schedule import Schedule
from ...gph_core.search.prefix import PrefixMemory, State
from .sampler_variants import CPU


class Observer:
    """Listener that starts a run at a state and keeps its record; a refusal is an error."""

    def __init__(self, start: State | None = None) -> None:
        self.start = start
        self.run: ActiveRun | None = None
        self.record: RunRecord | None = None

    @property
    def the_record(self) -> RunRecord:
        if self.record is None:
            raise RuntimeError("the sampler did not run")
        return self.record

    def planned(self, line: str, choice: Choice) -> None:
        """Ignore the plan."""

    def stepped(self, step: int, kind: str) -> None:
        """Ignore the step."""

    def refused(self, reason: str) -> None:
        raise ValueError(reason)

    def started(self, run: ActiveRun) -> None:
        self.run = run
        if self.start:
            run.anchors.restore(self.start.anchors)

    def finished(self, record: RunRecord) -> None:
        self.record = record


class Keeper:
    """Saves states of a run in main memory."""

    def __init__(
        self, memory: PrefixMemory[State], name: Hashable, schedule: Schedule, observer: Observer
    ) -> None:
        self._memory, self._name, self._schedule = memory, name, schedule
        self._observer = observer
        self._anchors: dict = {}
        self._copies: dict[int, tuple[Anchor, Anchor]] = {}  # by the id of the original, kept too

    def reached(self, step: int, latent: Tensor) -> None:
        """Keep ``latent``, the state before a step that the sampler has evaluated."""
        if self._memory.wants(self._name, self._schedule, step) and self._anchors:
            state = State(step, latent.to(CPU, copy=True), self._anchors)
            self._memory.keep(self._name, self._schedule, state)
        self._anchors = {}
        run = self._observer.run
        assert run is not None
        held = run.anchors.snapshot()
        # An anchor that the run has dropped must not stay on the device because of its copy.
        alive = {id(anchor) for anchors in held.values() for anchor in anchors}
        self._copies = {key: pair for key, pair in self._copies.items() if key in alive}
        if self._memory.wants(self._name, self._schedule, step + 1):
            self._anchors = {b: tuple(map(self._in_main_memory, a)) for b, a in held.items()}

    def _in_main_memory(self, anchor: Anchor) -> Anchor:
        """Single copy of an anchor in main memory, shared by all states that use it."""
        if id(anchor) not in self._copies:
            self._copies[id(anchor)] = anchor, anchor.to(CPU)
        return self._copies[id(anchor)][1]
