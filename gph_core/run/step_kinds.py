"""Kinds of the steps of one run: full or cached, as planned and as the run changes them."""

from __future__ import annotations

from collections.abc import Callable

from ..schedule import Schedule


class StepKinds:
    """Steps that are to be full: at first those of the schedule.

    Args:
        on_step: told a step and its kind, ``full``, ``cached`` or ``refused`` (full against the
            schedule), once it is known; again if a later call of the step changes it.
    """

    def __init__(
        self, schedule: Schedule, on_step: Callable[[int, str], None] | None = None
    ) -> None:
        self._num_steps = schedule.num_steps
        self._full = set(schedule.full_steps)
        self._on_step = on_step
        self._reported: dict[int, str] = {}

    @property
    def schedule(self) -> Schedule:
        """The schedule with all changes so far."""
        return Schedule(tuple(self._full), self._num_steps)

    def is_full(self, step: int) -> bool:
        """Whether a step is to be full."""
        return step in self._full

    def newest_full(self, step: int) -> int:
        """The last full step before a step; 0 if there is none."""
        return max((n for n in self._full if n < step), default=0)

    def make_full(self, step: int) -> None:
        """Compute a step in full, whatever the schedule says."""
        self._full.add(step)

    def make_cached(self, step: int) -> None:
        """Cache a step, whatever the schedule says."""
        self._full.discard(step)

    def tell(self, step: int, cached: bool) -> None:
        """Report the kind of a step, if it is new; one full call makes the step full."""
        kind = "cached" if cached else "full" if self.is_full(step) else "refused"
        if self._on_step and self._reported.get(step) not in (kind, "refused"):
            self._reported[step] = kind
            self._on_step(step, kind)
