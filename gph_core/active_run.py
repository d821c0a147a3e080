"""One sampling run while it lasts: which step is this, full or cached, and what is predicted.

A run is created when sampling starts and dropped when it ends, so nothing can be left over from
another prompt, size or model. It sees noise levels, branch keys and tensors, no sampler and no
model.
"""

from __future__ import annotations

import bisect
import math
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from .anchors import Anchors
from .policies import Anchor, Now, Policy, Prediction, Streams
from .record import RunRecord
from .schedule import Schedule

# Some samplers recompute noise levels through exp and log: up to 3e-5 relative was seen.
SIGMA_TOLERANCE = 1e-4


@dataclass(frozen=True, slots=True)
class Call:
    """One model call: its step (None between grid points), kind and start time in seconds."""

    evaluation: int  # of the sampler; it may take several calls
    step: int | None
    cached: bool
    started: float


class Decision(NamedTuple):
    """What to do in one call."""

    step: int | None  # None off the grid
    sigma: float
    anchors: tuple[list[Anchor], ...] | None  # of each branch; None for a full call
    keeps: bool  # whether what this call computes or predicts will be used

    @property
    def is_cached(self) -> bool:
        return self.anchors is not None


class ActiveRun:
    """Decides and predicts during one run; ``anchors`` holds what it remembers.

    A *branch* is one conditioning of one evaluation (positive or negative prompt, an area, a
    context window), or the guided result of all of them; its key is any hashable. Anchors never
    cross branches.

    Args:
        device_budget: see ``Anchors``.
        family: the model's name, for the record and the policy's check.
        origin: where the schedule comes from, for the record.
        on_step: told a step and its kind, ``full``, ``cached`` or ``refused`` (full against the
            schedule), once it is known; again if a later call of the step changes it.
        for_others: see ``Anchors``.
    """

    def __init__(
        self,
        schedule: Schedule,
        policy: Policy,
        sigmas: Sequence[float],
        device_budget: float = math.inf,
        family: str = "",
        origin: str = "",
        on_step: Callable[[int, str], None] | None = None,
        for_others: bool = False,
    ) -> None:
        num_steps = len(sigmas) - 1
        if schedule.num_steps != num_steps:
            raise ValueError(
                f"the schedule covers {schedule.num_steps} steps but the sampler runs {num_steps}; "
                "set the same step count, or choose a speed that fits any step count"
            )
        policy.check(schedule, family)
        self.schedule = schedule
        self.policy = policy
        self.family = family
        self.origin = origin
        self.notes: list[str] = []
        self.anchors = Anchors(policy, schedule, device_budget, for_others)
        self._sigmas = tuple(sigmas)
        self._full = frozenset(schedule.full_steps)
        self._found_steps: dict[float, int | None] = {}
        self._calls: list[Call] = []
        self._evaluation: int | None = None  # each call is one, unless the sampler's are told
        self._stopped = ""  # why
        self._on_step = on_step
        self._told: dict[int, str] = {}
        self._lock = threading.Lock()  # with several devices, each calls from its own thread

    def begin_evaluation(self) -> None:
        """The sampler evaluates the model anew: the calls from here on belong together."""
        self._evaluation = 0 if self._evaluation is None else self._evaluation + 1

    def begin_call(self, sigma: float, branches: Sequence[Hashable]) -> Decision:
        """Decide on one call.

        The call is full when the schedule says so, when the noise level is not on the grid, or when
        one of the branches has no anchor yet.

        Args:
            sigma: noise level of the call.
            branches: one key per equal slice of the batch, in batch order; none if unknown.
        """
        with self._lock:
            step = self._step_at(sigma)
            anchors = None
            if step is None:
                if self.schedule.num_cached:
                    self.note("evaluations between two steps were computed in full")
            else:
                self.anchors.forget_up_to(step)
                if step not in self._full and not self._stopped:
                    anchors = self.anchors.before(step, branches)
                    if anchors is None:
                        self.note("steps were computed in full because a branch had no anchor yet")
                self._tell(step, anchors is not None)
            evaluation = len(self._calls) if self._evaluation is None else self._evaluation
            self._calls.append(Call(evaluation, step, anchors is not None, time.perf_counter()))
            keeps = (
                step is not None
                and (anchors is None or self.policy.keeps_predictions)
                and bool(branches)
                and not self._stopped
                and self.anchors.are_used_after(step)
            )
            return Decision(step, sigma, anchors, keeps)

    def is_planned_cached(self, sigma: float) -> bool:
        """Whether the schedule caches the step of a noise level, whatever is stored."""
        step = self._step_at(sigma)
        return step is not None and step not in self._full and not self._stopped

    def predict(self, decision: Decision, like: Tensor) -> Streams:
        """The feature of a cached call under a ``Prediction``, all branches in one batch.

        Args:
            decision: a cached one.
            like: a tensor on the device of the call; the state, for policies that use states.
        """
        assert decision.anchors is not None
        assert decision.step is not None
        assert isinstance(self.policy, Prediction)
        now = Now(decision.step, decision.sigma, self._sigmas[decision.step + 1], like)
        parts = [
            self.policy.predict([a.to(like.device) for a in anchors], now)
            for anchors in decision.anchors
        ]
        return _joined(parts)

    def probe_anchors(self, decision: Decision, device: torch.device) -> tuple[Anchor, Anchor]:
        """The two newest anchors for a ``ProbedPrediction``, all branches in one batch.

        A branch with one anchor counts it twice, which is reuse.
        """
        assert decision.anchors is not None
        here = [[anchor.to(device) for anchor in anchors[:2]] for anchors in decision.anchors]
        newest, before = (
            Anchor(
                side[0].step,
                side[0].sigma,
                _joined([a.feature for a in side]),
                probe=_joined([a.probe for a in side if a.probe is not None]),
            )
            for side in ([a[0] for a in here], [a[-1] for a in here])
        )
        return newest, before

    def end_call(
        self,
        decision: Decision,
        branches: Sequence[Hashable],
        features: Sequence[Streams] | None,
        probes: Sequence[Streams | None] = (),
        latent: Tensor | None = None,
    ) -> None:
        """Store what a call computed or predicted, if its decision says ``keeps``.

        Args:
            decision: that of ``begin_call``.
            branches: as in ``begin_call``.
            features: one for each branch, or None when they could not be recorded.
            probes: likewise, for policies that probe.
            latent: the state, for policies that use states.
        """
        step = decision.step
        if step is None or not decision.keeps:
            return
        with self._lock:
            if self._stopped:
                return
            if features is None:
                self.note("steps were computed in full because the blocks could not be observed")
                return
            if not self.policy.uses_latents:
                latent = None
            pairs = zip(features, probes or [None] * len(features), strict=True)
            anchors = [Anchor(step, decision.sigma, f, latent, probe) for f, probe in pairs]
            self.anchors.insert(branches, anchors)

    def stop_caching(self, reason: str) -> None:
        """Compute everything in full from here on."""
        with self._lock:
            self._stopped = self._stopped or reason
            self.anchors.clear()
            self.note(reason)

    def note(self, reason: str) -> None:
        """Remember, once, why something went differently from the plan."""
        if reason not in self.notes:
            self.notes.append(reason)

    def finish(self) -> RunRecord:
        """Drop all tensors and return the record of what happened."""
        ended = time.perf_counter()
        self.anchors.clear()
        ends = [*(call.started for call in self._calls[1:]), ended]
        # By whether it was cached, and by evaluation: on a GPU only the last call of one waits.
        seconds: dict[bool, dict[int, float]] = {False: {}, True: {}}
        for call, end in zip(self._calls, ends, strict=False):  # no call: one end, no begin
            times = seconds[call.cached]
            times[call.evaluation] = times.get(call.evaluation, 0.0) + end - call.started
        full_steps = {c.step for c in self._calls if c.step is not None and not c.cached}
        cached_steps = {c.step for c in self._calls if c.step is not None} - full_steps
        return RunRecord(
            schedule=str(self.schedule),
            origin=self.origin,
            family=self.family,
            site=self.policy.site.value,
            policy=str(self.policy),
            sigmas=self._sigmas,
            full_steps=tuple(sorted(full_steps)),
            cached_steps=tuple(sorted(cached_steps)),
            full_seconds=tuple(seconds[False].values()),
            cached_seconds=tuple(seconds[True].values()),
            cache_bytes=self.anchors.peak_bytes,
            notes=tuple(self.notes),
            caching_stopped=self._stopped,
        )

    def _tell(self, step: int, cached: bool) -> None:
        """Report the kind of a step, if it is new; one full call makes the step full."""
        kind = "cached" if cached else "full" if step in self._full else "refused"
        if self._on_step and self._told.get(step) not in (kind, "refused"):
            self._told[step] = kind
            self._on_step(step, kind)

    def _step_at(self, sigma: float) -> int | None:
        """The step whose noise level this is, or None off the grid."""
        if sigma not in self._found_steps:
            levels = self._sigmas[:-1]  # falling
            right = bisect.bisect_left(levels, -sigma, key=lambda level: -level)
            candidates = [n for n in (right - 1, right) if 0 <= n < len(levels)]
            step = min(candidates, key=lambda n: abs(levels[n] - sigma))
            is_close = abs(levels[step] - sigma) <= SIGMA_TOLERANCE * abs(sigma)
            self._found_steps[sigma] = step if is_close else None
        return self._found_steps[sigma]


def _joined(parts: Sequence[Streams]) -> Streams:
    """Features of several branches as one batch."""
    if len(parts) == 1:
        return parts[0]
    return tuple(torch.cat(streams) for streams in zip(*parts, strict=True))
