"""Record that a sampling run leaves behind: decisions, times, memory. No tensors."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..files import forms
from ..schedule import Schedule

FORMAT = 2
_DERIVED = ("speedup", "ideal_speedup", "refused_steps")


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The decisions and costs of one run.

    Seconds are per evaluation by the sampler, from its start to the start of the next one, and so
    include the sampler's own work.
    """

    schedule: str  # as planned
    origin: str  # where the schedule comes from, in words
    family: str
    site: str
    policy: str
    sigmas: tuple[float, ...]
    full_steps: tuple[int, ...]  # as it happened: at least one call of the step was full
    cached_steps: tuple[int, ...]
    full_seconds: tuple[float, ...]
    cached_seconds: tuple[float, ...]
    cache_bytes: int  # peak memory of the anchors and of what a gate keeps
    notes: tuple[str, ...]  # why the run differed from its plan
    caching_stopped: str = ""  # why all was in full from some step on; among the notes, too
    gate: str = ""  # the adaptive method's rule, which chose the schedule
    # What it compared with its threshold at each step; None where nothing was compared.
    gate_values: tuple[float | None, ...] = ()
    # The policy, see ``as_json``; None for one with weights, and in older recordings.
    policy_data: Mapping[str, Any] | None = None

    @property
    def realized(self) -> Schedule:
        """The schedule as it happened; ``ValueError`` for a run that did not do all steps."""
        done, num_steps = len(self.full_steps) + len(self.cached_steps), len(self.sigmas) - 1
        if done != num_steps:
            raise ValueError(f"the run did {done} of its {num_steps} steps, so it has no schedule")
        return Schedule(self.full_steps, num_steps)

    @property
    def refused_steps(self) -> tuple[int, ...]:
        """Steps that were planned to be cached but computed in full."""
        planned = set(Schedule.parse(self.schedule).full_steps)
        return tuple(step for step in self.full_steps if step not in planned)

    @property
    def ideal_speedup(self) -> float:
        """Speed-up if cached steps cost nothing: N / F of the planned schedule.

        A sampler that evaluates some steps twice may save a little more.
        """
        schedule = Schedule.parse(self.schedule)
        planned = schedule.num_steps / schedule.num_full
        full, cached = len(self.full_seconds), len(self.cached_seconds)
        return max(planned, (full + cached) / full) if full else planned

    @property
    def speedup(self) -> float:
        """Estimated speed-up over computing every call in full; 1 if nothing was computed.

        The estimate takes the usual full call of the same run, so it needs no second run: the
        median, as the first one may load or compile. If the mean is shorter, it takes that, or a
        few slow calls could make the speed-up larger than the ideal one.
        """
        total = sum(self.full_seconds) + sum(self.cached_seconds)
        if not self.full_seconds or not self.cached_seconds:
            return 1.0
        usual = min(statistics.median(self.full_seconds), statistics.fmean(self.full_seconds))
        return (sum(self.full_seconds) + usual * len(self.cached_seconds)) / total

    def summary(self) -> str:
        """One line for the log."""
        full, cached = sum(self.full_seconds), sum(self.cached_seconds)
        done = len(self.full_steps) + len(self.cached_steps)
        line = (
            f"{self.family}, {self.site}: "
            f"{len(self.full_steps)} of {done} steps full ({full:.2f} s), "
            f"{len(self.cached_steps)} cached ({cached:.2f} s), policy {self.policy}, "
            f"about {self.speedup:.2f}x faster than all steps in full, "
            f"{self.cache_bytes / 2**20:.1f} MiB cache"
        )
        return "; ".join((line, *self.notes))

    def to_dict(self) -> dict:
        """Plain data with a format version, ready for JSON."""
        derived = {name: getattr(self, name) for name in _DERIVED}
        return {"format": FORMAT, **derived, **asdict(self)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RunRecord:
        """Read what ``to_dict`` wrote and JSON gave back; ``ValueError`` for anything else."""
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise ValueError(f"this is not a run record of format {FORMAT}")
        others = ("format", *_DERIVED)
        record = forms.read(cls, {n: v for n, v in data.items() if n not in others})
        Schedule.parse(record.schedule)
        num_steps = len(record.sigmas) - 1
        done = (*record.full_steps, *record.cached_steps)
        if not all(0 <= step < num_steps for step in done):
            raise ValueError(f"a run of {num_steps} steps did the steps {done}")
        return record
