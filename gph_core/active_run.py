"""One sampling run while it lasts: which step is this, full or cached, from which anchors.

A run is created when sampling starts and dropped when it ends, so nothing can be left over from
another prompt, size or model. It sees noise levels, branch keys and tensors, no sampler and no
model.
"""

from __future__ import annotations

import bisect
import threading
import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from .policies import Policy, combine
from .record import RunRecord
from .schedule import Schedule

# Some samplers recompute noise levels through exp and log: up to 3e-5 relative was seen.
SIGMA_TOLERANCE = 1e-4


@dataclass(frozen=True, slots=True)
class Anchor:
    """The residual of one branch at a full step."""

    step: int
    residual: Tensor


@dataclass(frozen=True, slots=True)
class Call:
    """One model call: its step (None between grid points), kind and start time in seconds."""

    step: int | None
    cached: bool
    started: float


def is_anchor_needed(schedule: Schedule, anchor_step: int, now: int, num_anchors: int) -> bool:
    """Whether a cached step at or after ``now`` will still use an anchor.

    Only the next cached step matters: it is the one with the fewest full steps in between.
    """
    full = set(schedule.full_steps)
    next_cached = next((n for n in range(now, schedule.num_steps) if n not in full), None)
    if next_cached is None:
        return False
    newer = sum(anchor_step < step < next_cached for step in schedule.full_steps)
    return newer < num_anchors


class Decision(NamedTuple):
    """What to do in one model call."""

    step: int | None  # None off the grid
    residual: Tensor | None  # to add in a cached call; None for a full call
    keeps: bool  # whether the residual of this full call will be used


class ActiveRun:
    """Decides, predicts and keeps anchors during one run.

    A *branch* is one conditioning of one evaluation (positive or negative prompt, an area, a
    context window); its key is any hashable. Anchors never cross branches.
    """

    def __init__(self, schedule: Schedule, policy: Policy, sigmas: Sequence[float]) -> None:
        num_steps = len(sigmas) - 1
        if schedule.num_steps != num_steps:
            raise ValueError(
                f"the schedule covers {schedule.num_steps} steps but the sampler runs {num_steps}; "
                "set the same step count, or choose a speed that fits any step count"
            )
        self.schedule = schedule
        self.policy = policy
        self.notes: list[str] = []
        self._sigmas = tuple(sigmas)
        self._full = frozenset(schedule.full_steps)
        self._anchors: dict[Hashable, list[Anchor]] = {}
        self._calls: list[Call] = []
        self._latest_step = 0
        self._stopped = False
        self._peak_bytes = 0
        self._lock = threading.Lock()  # with several devices, each calls from its own thread

    def begin_call(self, sigma: float, branches: Sequence[Hashable]) -> Decision:
        """Decide on one model call.

        The call is full when the schedule says so, when the noise level is not on the grid, or when
        one of the branches has no anchor yet.

        Args:
            sigma: noise level of the call.
            branches: one key per equal slice of the batch, in batch order; none if unknown.
        """
        with self._lock:
            step = self._step_at(sigma)
            residual = None
            if step is None:
                if self.schedule.num_cached:
                    self.note("evaluations between two steps were computed in full")
            else:
                self._forget_up_to(step)
                if step not in self._full and not self._stopped:
                    residual = self._predict(step, branches)
                    if residual is None:
                        self.note("steps were computed in full because a branch had no anchor yet")
            self._calls.append(Call(step, residual is not None, time.perf_counter()))
            keeps = (
                step is not None
                and residual is None
                and bool(branches)
                and not self._stopped
                and self._is_needed(step, step + 1)
            )
            return Decision(step, residual, keeps)

    def end_full_call(
        self, step: int, branches: Sequence[Hashable], residuals: Sequence[Tensor] | None
    ) -> None:
        """Store the residuals of a full call whose decision says ``keeps``.

        Args:
            step: the step of the decision.
            branches: as in ``begin_call``.
            residuals: one for each branch, or None when they could not be recorded.
        """
        with self._lock:
            if self._stopped:
                return
            if residuals is None:
                self.note("steps were computed in full because the blocks could not be observed")
                return
            for branch, residual in zip(branches, residuals, strict=True):
                kept = [a for a in self._anchors.get(branch, []) if a.step < step]
                self._anchors[branch] = [Anchor(step, residual), *kept][: self.policy.num_anchors]
            self._peak_bytes = max(self._peak_bytes, self.cache_bytes)

    @property
    def cache_bytes(self) -> int:
        """Memory of all anchors held now."""
        tensors = (anchor.residual for anchors in self._anchors.values() for anchor in anchors)
        return sum(tensor.numel() * tensor.element_size() for tensor in tensors)

    def stop_caching(self, reason: str) -> None:
        """Compute everything in full from here on."""
        with self._lock:
            self._stopped = True
            self._anchors.clear()
            self.note(reason)

    def note(self, reason: str) -> None:
        """Remember, once, why something went differently from the plan."""
        if reason not in self.notes:
            self.notes.append(reason)

    def finish(self) -> RunRecord:
        """Drop all tensors and return the record of what happened."""
        ended = time.perf_counter()
        self._anchors.clear()
        ends = [*(call.started for call in self._calls[1:]), ended]
        seconds: dict[bool, list[float]] = {False: [], True: []}  # by whether the call was cached
        for call, end in zip(self._calls, ends, strict=False):  # no call: one end, no begin
            seconds[call.cached].append(end - call.started)
        full_steps = {c.step for c in self._calls if c.step is not None and not c.cached}
        cached_steps = {c.step for c in self._calls if c.step is not None} - full_steps
        return RunRecord(
            schedule=str(self.schedule),
            policy=str(self.policy),
            sigmas=self._sigmas,
            full_steps=tuple(sorted(full_steps)),
            cached_steps=tuple(sorted(cached_steps)),
            full_seconds=tuple(seconds[False]),
            cached_seconds=tuple(seconds[True]),
            cache_bytes=self._peak_bytes,
            notes=tuple(self.notes),
        )

    def _is_needed(self, anchor_step: int, now: int) -> bool:
        return is_anchor_needed(self.schedule, anchor_step, now, self.policy.num_anchors)

    def _predict(self, step: int, branches: Sequence[Hashable]) -> Tensor | None:
        if not branches:
            return None
        parts = []
        for branch in branches:
            anchors = [a for a in self._anchors.get(branch, []) if a.step < step]
            if not anchors:
                return None
            weights = self.policy.weights([a.step for a in anchors], step)
            parts.append(combine([a.residual for a in anchors[: len(weights)]], weights))
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def _step_at(self, sigma: float) -> int | None:
        """The step whose noise level this is, or None off the grid."""
        levels = self._sigmas[:-1]  # falling
        right = bisect.bisect_left(levels, -sigma, key=lambda level: -level)
        candidates = [n for n in (right - 1, right) if 0 <= n < len(levels)]
        step = min(candidates, key=lambda n: abs(levels[n] - sigma))
        return step if abs(levels[step] - sigma) <= SIGMA_TOLERANCE * abs(sigma) else None

    def _forget_up_to(self, step: int) -> None:
        """Drop anchors that no cached step from here on can use."""
        if step == self._latest_step:
            return
        if step < self._latest_step - 2:  # heunpp2 steps back by one; further means a new start
            self._anchors.clear()
        self._latest_step = step
        for branch, anchors in self._anchors.items():
            self._anchors[branch] = [a for a in anchors if self._is_needed(a.step, step)]
