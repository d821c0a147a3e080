"""One sampling run while it lasts: which step is this, full or cached, and what is remembered.

A run is created when sampling starts and dropped when it ends, so nothing can be left over from
another prompt, size or model. It sees noise levels, branch keys and tensors, no sampler and no
model.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Hashable, Sequence

from torch import Tensor

from ..gates.base import Gate, GateInput
from ..gates.gating import Gating
from ..policies.as_json import policy_data
from ..policies.base import Anchor, Policy, Streams
from ..schedule import Schedule
from .anchors import Anchors
from .call_log import CallLog
from .decision import Decision
from .noise_levels import NoiseLevels
from .record import RunRecord
from .step_kinds import StepKinds


BETWEEN = "evaluations between two steps were computed in full"
OTHER_LEVELS = (
    "caching stopped because the sampler tells the model other noise levels than those of its "
    "steps, and which step is which cannot be told; choose a sampler that evaluates the model once "
    "a step, such as euler"
)
UNSURE = (
    "steps were computed in full until it was sure that the sampler, which tells the model other "
    "noise levels than those of its steps, evaluates it once a step"
)


class ActiveRun:
    """Decides during one run; ``anchors`` holds what it remembers.

    A *branch* is one conditioning of one evaluation (a prompt, an area, a context window), or the
    guided result of all of them; its key is any hashable. Anchors never cross branches.

    Args:
        schedule: which steps are full; those that it caches are left to the gate, if there is one.
        device_budget, for_others, spare, goes_back: see ``Anchors``.
        family: the model's name, for the record and the policy's check.
        origin: where the schedule comes from, for the record.
        on_step: see ``StepKinds``.
        gate: decides during the run which of the cached steps are full after all.
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
        gate: Gate | None = None,
        spare: int = 0,
        goes_back: bool = False,
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
        # What a gate will need is not known: it needs what any schedule could.
        for_others = for_others or gate is not None
        self.anchors = Anchors(policy, schedule, device_budget, for_others, spare, goes_back)
        self.gating = Gating(gate) if gate else None
        self.kinds = StepKinds(schedule, on_step)
        self._levels = NoiseLevels(sigmas)
        self._calls = CallLog()
        self._pending: list[tuple[Sequence[Hashable], list[Anchor]]] = []  # of the step under way
        self._stopped = ""  # why
        self._lock = threading.Lock()  # with several devices, each calls from its own thread

    def begin_evaluation(self) -> None:
        """The sampler evaluates the model anew: the calls from here on belong together."""
        self._pending.clear()
        self._calls.begin_evaluation()

    def step_done(self, step: int) -> None:
        """The sampler reports a step as done, so what was evaluated since the last one is its."""
        if not 0 <= step < self.schedule.num_steps:
            return
        with self._lock:
            is_confirmed = self._calls.step_in_order == step
            if self._calls.step_done(step):
                self.kinds.tell(step, False)
                if not self.kinds.is_full(step) and not self._stopped:
                    self.note(UNSURE)
            for branches, anchors in self._pending if is_confirmed else ():
                self.anchors.insert(branches, anchors)
            self._pending.clear()
        self._check_order()

    def all_done(self) -> None:
        """The sampler has gone through all steps, reported or not."""
        self._calls.all_done(self.schedule.num_steps)
        self._check_order()

    def begin_call(self, sigma: float, branches: Sequence[Hashable], leading: int = 0) -> Decision:
        """Decide on one call; if the decision has a ``leader``, ``settle`` it.

        The call is full when the schedule says so, when its step is not known, or when one of the
        branches has no anchor yet.

        Args:
            sigma: noise level of the call.
            branches: one key per equal slice of the batch, in batch order; none if unknown.
            leading: the branch that decides for all, see ``Gating``.
        """
        with self._lock:
            step, is_pending = self._step_at(sigma)
            anchors = leader = levels = None
            if step is not None:
                levels = self._levels.of_step(step, sigma)
            if step is not None and not is_pending:
                anchors, leader = self._place(step, branches, leading)
            is_on_level = step is not None and step == self._levels.step_at(sigma)
            call = self._calls.begin(
                None if is_pending else step, anchors is not None, is_on_level
            )
            keeps = self._keeps(step, branches, anchors)
            decision = Decision(step, sigma, levels, anchors, keeps, call, leader, is_pending)
            if step is not None and leader is None and not is_pending:
                self.kinds.tell(step, decision.is_cached)
            return decision

    def settle(
        self, decision: Decision, branches: Sequence[Hashable], gate_input: GateInput | None
    ) -> Decision:
        """The decision on a call, once the gate has seen its step.

        Args:
            gate_input: of the ``leader``; None if it could not be observed, which ends the caching.
        """
        if gate_input is None and not self._stopped:
            self.stop_caching(
                "caching stopped because what the adaptive method looks at could not be observed; "
                "choose EasyCache, which looks at latents and outputs alone"
            )
        with self._lock:
            assert self.gating is not None
            step, is_cached = decision.step, False
            assert step is not None
            if gate_input is not None and not self._stopped:
                is_cached = self.gating.decide(gate_input, forced=not decision.is_cached)
                if math.isnan(self.gating.values[step]):
                    self.note("steps were computed in full because a signal was no number")
                if not is_cached:
                    self.kinds.make_full(step)
            self.kinds.tell(step, is_cached)
            anchors = decision.anchors if is_cached else None
            self._calls.settle(decision.call, is_cached)
            keeps = self._keeps(step, branches, anchors)
            return decision._replace(anchors=anchors, keeps=keeps, leader=None)

    def is_planned_cached(self, sigma: float) -> bool:
        """Whether the schedule caches the step of a noise level, whatever is stored."""
        step, is_pending = self._step_at(sigma)
        is_planned = step is not None and not is_pending and not self.kinds.is_full(step)
        return is_planned and not self._stopped

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
            latent: the states of the branches in one batch, for policies that use states.
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
            latent = latent if self.policy.uses_latents else None
            anchors = decision.new_anchors(features, probes, latent)
            if decision.is_pending:
                self._pending.append((branches, anchors))
                return
            beside = self.gating.num_bytes if self.gating else 0
            self.anchors.insert(branches, anchors, beside)
            if self.gating and self.gating.gate.reads_outputs and not decision.is_cached:
                self.gating.computed(step, branches, [feature[0] for feature in features])

    def stop_caching(self, reason: str) -> None:
        """Compute everything in full from here on, if anything was to be cached."""
        if self.schedule.num_cached == 0:
            return
        with self._lock:
            self._stopped = self._stopped or reason
            self._drop()
            self.note(reason)

    def note(self, reason: str) -> None:
        """Remember, once, why something went differently from the plan."""
        if reason not in self.notes:
            self.notes.append(reason)

    def finish(self) -> RunRecord:
        """Drop all tensors and return the record of what happened."""
        ended = time.perf_counter()
        self._drop()
        if self._calls.has_between and self.schedule.num_cached:
            self.note(BETWEEN)
        return RunRecord(
            schedule=str(self.kinds.schedule),
            origin=self.origin,
            family=self.family,
            site=self.policy.site.value,
            policy=str(self.policy),
            sigmas=self._levels.sigmas,
            full_steps=self._calls.steps(cached=False),
            cached_steps=self._calls.steps(cached=True),
            full_seconds=self._calls.seconds(False, ended),
            cached_seconds=self._calls.seconds(True, ended),
            cache_bytes=self.anchors.peak_bytes,
            notes=tuple(self.notes),
            caching_stopped=self._stopped,
            gate=str(self.gating.gate) if self.gating else "",
            gate_values=self.gating.compared(self.schedule.num_steps) if self.gating else (),
            policy_data=policy_data(self.policy),
        )

    def _step_at(self, sigma: float) -> tuple[int | None, bool]:
        """Step of an evaluation at a noise level, and whether that is to be confirmed."""
        calls, by_level = self._calls, self._levels.step_at(sigma)
        in_order = calls.step_in_order
        if by_level is not None and not calls.tells_other_levels:
            return by_level, False
        if in_order is None or in_order >= self.schedule.num_steps:
            return by_level, False
        return in_order, in_order != by_level and not calls.is_sure

    def _check_order(self) -> None:
        """Stop caching if the sampler's noise levels tell its steps as little as their order."""
        if self._calls.tells_other_levels and not self._calls.is_orderly:
            self.stop_caching(OTHER_LEVELS)

    def _place(
        self, step: int, branches: Sequence[Hashable], leading: int
    ) -> tuple[tuple[list[Anchor], ...] | None, int | None]:
        """Anchors and leader of a call on the grid, as in ``Decision``."""
        anchors = leader = None
        newest = self.kinds.newest_full(step)
        self.anchors.forget_up_to(step, newest if self.gating else 0)
        if self.gating and not self._stopped:
            leader = self.gating.place(step, branches, leading)
            if self.gating.has_changed:
                self.note(
                    "steps were computed in full where another prompt or context window "
                    "came first, which decides from then on"
                )
        if not self.kinds.is_full(step) and not self._stopped:
            anchors = self.anchors.before(step, branches, newest)
            if anchors is None:
                self.note("steps were computed in full because a branch had no anchor yet")
        return anchors, leader

    def _keeps(self, step: int | None, branches: Sequence[Hashable], anchors: object) -> bool:
        """Whether a call, cached if it has anchors, leaves one that will be used."""
        return (
            step is not None
            and (anchors is None or self.policy.keeps_predictions)
            and bool(branches)
            and not self._stopped
            and self.anchors.are_used_after(step)
        )

    def _drop(self) -> None:
        """Drop all tensors."""
        self.anchors.clear()
        self._pending.clear()
        if self.gating:
            self.gating.clear()
