"""One sampling run while it lasts: which step a call belongs to, its kind, and what is kept.

A run is created when sampling starts and dropped when it ends, so nothing is left over from another
prompt, size or model. It sees only noise levels, branch keys and tensors.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Hashable, Sequence

from torch import Tensor

from ..gates.base import Gate, GateInput
from ..gates.gating import HANDED_OVER, UNOBSERVED, Gating
from ..policies.as_json import policy_data
from ..policies.base import Anchor, Policy, Streams
from ..schedule import Schedule
from .anchors import Anchors, missing
from .call_log import UNSURE, CallLog, StepKinds
from .decision import Decision
from .record import RunRecord


class ActiveRun:
    """Decisions of one run; ``anchors`` holds what it keeps.

    A *branch* is one conditioning of one evaluation (a prompt, an area, a context window), or the
    guided result of all of them; its key is any hashable. Anchors never cross branches.

    Args:
        schedule: which steps are full; the gate, if there is one, decides on the others.
        device_budget, for_others, spare, goes_back: see ``Anchors``.
        family, origin: the model's name, and where the schedule comes from, for the record.
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
        schedule.check_covers(len(sigmas) - 1)
        policy.check(schedule, family)
        self.schedule = schedule
        self.policy = policy
        self.family = family
        self.origin = origin
        self.notes: list[str] = []
        # A gate may choose any schedule, so it may need any anchor.
        for_others = for_others or gate is not None
        self.anchors = Anchors(policy, schedule, device_budget, for_others, spare, goes_back)
        self.gating = Gating(gate) if gate else None
        self.kinds = StepKinds(schedule, on_step)
        self.calls = CallLog(sigmas)
        self._stopped = ""  # why
        self._lock = threading.Lock()  # with several devices, each calls from its own thread

    def begin_evaluation(self) -> None:
        """Note a new evaluation by the sampler; the calls from here on belong to it."""
        self.anchors.decide_pending(False)
        self.calls.begin_evaluation()

    def step_done(self, step: int) -> None:
        """Note that the sampler reports a step as done: the evaluations since the last are its."""
        with self._lock:
            if self.calls.step_done(step, not self.kinds.is_full(step)):
                self.kinds.tell(step, False)
                self.anchors.decide_pending(not self.calls.fault)
                if not self.kinds.is_full(step) and not self.calls.fault:
                    self.note(UNSURE)
        self.stop_caching(self.calls.fault)

    def begin_call(self, sigma: float, branches: Sequence[Hashable], leading: int = 0) -> Decision:
        """Decide on one call; if the decision has a ``leader``, ``settle`` it.

        The call is full if the schedule says so, if its step is not known, or if one of the
        branches has no anchor yet.

        Args:
            sigma: noise level of the call.
            branches: one key per equal slice of the batch, in batch order; none if unknown.
            leading: the branch that decides for all, see ``Gating``.
        """
        with self._lock:
            certain, pending = self.calls.step_at(sigma)
            step = pending if certain is None else certain
            levels = self.calls.levels.of_step(step, sigma)
            anchors = leader = None
            if certain is not None:
                anchors, leader = self._place(certain, branches, leading)
            call = self.calls.begin(sigma, anchors is not None)
            keeps = self._keeps(step, branches, anchors is not None)
            decision = Decision(step, sigma, levels, anchors, keeps, call, leader, certain is None)
            if certain is not None and leader is None:
                self.kinds.tell(certain, decision.is_cached)
            return decision

    def settle(
        self, decision: Decision, branches: Sequence[Hashable], gate_input: GateInput | None
    ) -> Decision:
        """The decision on a call after the gate has seen its step.

        Args:
            gate_input: that of the ``leader``; None if it could not be observed, which ends
                caching.
        """
        if gate_input is None and not self._stopped:
            self.stop_caching(UNOBSERVED)
        with self._lock:
            is_cached = False
            if self.gating and gate_input is not None and not self._stopped:
                is_cached = self.gating.decide(gate_input, forced=not decision.is_cached)
                if math.isnan(self.gating.values[gate_input.step]):
                    self.note("steps were computed in full because a signal was no number")
                if not is_cached:
                    self.kinds.make_full(gate_input.step)
            return self._decided(decision, branches, is_cached)

    def refuse(self, decision: Decision, branches: Sequence[Hashable], reason: str) -> Decision:
        """The decision on a call whose prediction did not fit: full."""
        with self._lock:
            if not self._stopped:
                self.note(f"steps were computed in full because {reason}")
            return self._decided(decision, branches, is_cached=False)

    def is_planned_cached(self, sigma: float) -> bool:
        """Whether the step of a noise level is to be cached, whatever is stored."""
        step, _ = self.calls.step_at(sigma)
        return step is not None and not self.kinds.is_full(step) and not self._stopped

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
            decision, branches: those of ``begin_call``.
            features: one for each branch, or None if they could not be recorded.
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
            beside = self.gating.num_bytes if self.gating else 0
            self.anchors.insert(branches, anchors, beside, decision.is_pending)
            if self.gating and self.gating.gate.reads_outputs and not decision.is_cached:
                self.gating.computed(step, branches, [feature[0] for feature in features])

    def stop_caching(self, reason: str) -> None:
        """Compute everything in full from here on, unless the reason is empty."""
        if not reason or self.schedule.num_cached == 0:
            return
        with self._lock:
            self._stopped = self._stopped or reason
            self._drop()
            self.note(reason)

    def note(self, reason: str) -> None:
        """Note once why something departed from the plan."""
        if reason and reason not in self.notes:
            self.notes.append(reason)

    def finish(self, is_complete: bool = False) -> RunRecord:
        """Drop all tensors and return the record; ``is_complete``: all steps were run."""
        ended = time.perf_counter()
        if is_complete:
            self.calls.all_done()
        self.stop_caching(self.calls.fault)
        if self.schedule.num_cached:
            self.note(self.calls.remark)
        self._drop()
        return RunRecord(
            schedule=str(self.kinds.schedule),
            origin=self.origin,
            family=self.family,
            site=self.policy.site.value,
            policy=str(self.policy),
            sigmas=self.calls.levels.sigmas,
            **self.calls.figures(ended),
            cache_bytes=self.anchors.peak_bytes,
            notes=tuple(self.notes),
            caching_stopped=self._stopped,
            gate=str(self.gating.gate) if self.gating else "",
            gate_values=self.gating.compared(self.schedule.num_steps) if self.gating else (),
            policy_data=policy_data(self.policy),
        )

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
                self.note(HANDED_OVER)
        if not self.kinds.is_full(step) and not self._stopped:
            anchors = self.anchors.before(step, branches, newest)
            if anchors is None:
                self.note(missing(branches))
        return anchors, leader

    def _decided(self, decision: Decision, branches: Sequence, is_cached: bool) -> Decision:
        """The decision on a call whose kind is known now."""
        step = decision.step
        assert step is not None
        self.kinds.tell(step, is_cached)
        self.calls.settle(decision.call, is_cached)
        anchors = decision.anchors if is_cached else None
        keeps = self._keeps(step, branches, is_cached)
        return decision._replace(anchors=anchors, keeps=keeps, leader=None)

    def _keeps(self, step: int | None, branches: Sequence[Hashable], is_cached: bool) -> bool:
        """Whether a call leaves an anchor."""
        return not self._stopped and self.anchors.are_wanted(step, branches, is_cached)

    def _drop(self) -> None:
        """Drop all tensors."""
        self.anchors.clear()
        if self.gating:
            self.gating.clear()
