"""Anchors of the branches of one run: which are held, for how long, and in which memory."""

from __future__ import annotations

import bisect
import math
from collections.abc import Hashable, Mapping, Sequence

import torch
from torch import Tensor

from ..policies.base import Anchor, Policy, Streams
from ..schedule import Schedule


def last_uses(policy: Policy, schedule: Schedule) -> list[int]:
    """For an anchor at each step, the last cached step that uses it; -1 if none does."""
    num_steps, cached = schedule.num_steps, schedule.cached_steps
    leaving = range(num_steps) if policy.keeps_predictions else schedule.full_steps
    uses = []
    for step in range(num_steps):
        # After the step ``end`` it is not among the newest any more.
        newer = bisect.bisect_right(leaving, step) + policy.num_anchors - 1
        end = leaving[newer] if newer < len(leaving) else num_steps - 1
        before = bisect.bisect_right(cached, end)
        last = cached[before - 1] if before else -1
        uses.append(last if last > step else -1)
    return uses


class Anchors:
    """The anchors of each branch, newest first, within a budget of the device's memory.

    Args:
        device_budget: bytes that may stay where they were computed; further anchors go to main
            memory.
        for_others: keep what this schedule does not use, for runs that go on under another.
        spare: number of anchors that are held beyond those that the policy can use.
        goes_back: the sampler evaluates two steps ahead and then goes back to the next one.
    """

    def __init__(
        self,
        policy: Policy,
        schedule: Schedule,
        device_budget: float = math.inf,
        for_others: bool = False,
        spare: int = 0,
        goes_back: bool = False,
    ) -> None:
        self.held: dict[Hashable, list[Anchor]] = {}
        self._pending: list[tuple[Sequence[Hashable], Sequence[Anchor]]] = []
        self.peak_bytes = 0  # including what was beside them
        self._policy = policy
        self._back = int(goes_back)
        # Anchors of a look ahead must not push out those that the step before it needs.
        ahead = self._back * (1 + policy.keeps_predictions)
        self._num_anchors = policy.num_anchors + spare + ahead
        num_steps = schedule.num_steps
        self._last_uses = [num_steps - 1] * num_steps if for_others else last_uses(policy, schedule)
        self._device_budget = device_budget
        self._latest_step = 0

    @property
    def num_bytes(self) -> int:
        """Memory of all anchors that are held now."""
        return sum(_bytes(a) for anchors in self.held.values() for a in anchors)

    def are_wanted(self, step: int | None, branches: Sequence[Hashable], is_cached: bool) -> bool:
        """Whether a later cached step will use what a call of a step leaves."""
        leaves_any = bool(branches) and (not is_cached or self._policy.keeps_predictions)
        return step is not None and leaves_any and self._last_uses[step] > step

    def before(
        self, step: int, branches: Sequence[Hashable], newest_full: int
    ) -> tuple[list[Anchor], ...] | None:
        """The anchors of each branch before a cached step; None if one missed the newest full step.

        Older ones may differ unless the policy needs them: which branches share a call depends on
        memory and must not matter.
        """
        earlier = tuple([a for a in self.held.get(b, []) if a.step < step] for b in branches)
        for anchors in earlier:
            is_up_to_date = anchors and anchors[0].step >= newest_full
            if not (is_up_to_date and self._policy.can_predict(step, anchors)):
                return None
        return earlier or None

    def insert(
        self, branches: Sequence[Hashable], anchors: Sequence[Anchor], beside_bytes: int = 0,
        is_pending: bool = False,
    ) -> None:  # fmt: skip
        """Hold one more anchor of each branch, in the memory that the budget leaves for it.

        Args:
            beside_bytes: bytes of a gate's tensors, which stay on the device beside them.
            is_pending: only kept until ``decide_pending``.
        """
        if is_pending:
            self._pending.append((branches, anchors))
            return
        for branch, new in zip(branches, anchors, strict=True):
            kept = [
                a
                for a in self.held.get(branch, [])
                # Some models drop reference tokens during the run; older anchors do not fit then.
                if a.step < new.step and _have_one_shape(a.feature, new.feature)
            ]
            self.held[branch] = kept[: self._num_anchors - 1]
            self.held[branch].insert(0, self._placed(new, beside_bytes))
        self.peak_bytes = max(self.peak_bytes, self.num_bytes + beside_bytes)

    def decide_pending(self, is_confirmed: bool) -> None:
        """Hold the anchors of an uncertain step, or drop them."""
        for branches, anchors in self._pending if is_confirmed else ():
            self.insert(branches, anchors)
        self._pending.clear()

    def snapshot(self) -> dict[Hashable, tuple[Anchor, ...]]:
        """Anchors of each branch that are held now."""
        return {branch: tuple(anchors) for branch, anchors in self.held.items()}

    def restore(self, held: Mapping[Hashable, Sequence[Anchor]]) -> None:
        """Hold those of a snapshot, of this run or of one that was equal up to there."""
        self.held = {branch: list(anchors) for branch, anchors in held.items()}

    def forget_up_to(self, step: int, newest_full: int = 0) -> None:
        """Drop anchors that no cached step from here on, or after going back, can use.

        Args:
            newest_full: a branch that missed this step loses all of its anchors.
        """
        if step == self._latest_step:
            return
        if step < self._latest_step - 2:  # no sampler goes back as far: a new start
            self.clear()
        self._latest_step = step
        for branch, anchors in self.held.items():
            has_missed = bool(anchors) and anchors[0].step < newest_full
            used = [a for a in anchors if self._last_uses[a.step] >= step - self._back]
            self.held[branch] = [] if has_missed else used

    def clear(self) -> None:
        """Drop all anchors."""
        self.held.clear()
        self._pending.clear()

    def _placed(self, anchor: Anchor, beside_bytes: int) -> Anchor:
        """The anchor on its device, or in main memory if the budget is used up."""
        held = (a for anchors in self.held.values() for a in anchors)
        on_device = sum(_bytes(a) for a in held if a.feature[0].device.type != "cpu")
        if on_device + beside_bytes + _bytes(anchor) <= self._device_budget:
            return anchor
        return anchor.to(torch.device("cpu"))


def missing(branches: Sequence[Hashable]) -> str:
    """Note on a call for which ``Anchors.before`` gave none."""
    reason = "a branch had no anchor yet"
    if not branches:
        reason = "a call of the model did not say which prompts it holds"
    return f"steps were computed in full because {reason}"


def joined(anchors: Sequence[Anchor], tail: bool = False) -> Anchor:
    """The features and probes of several branches in one batch, as one anchor."""
    return Anchor(
        anchors[0].step,
        anchors[0].sigma,
        concatenated([anchor.feature for anchor in anchors], tail),
        probe=concatenated([a.probe for a in anchors if a.probe is not None], tail),
    )


def concatenated(features: Sequence[Streams], tail: bool = False) -> Streams:
    """Features of several branches as one batch, cut to the tokens that all of them have.

    Prompts that were computed apart may differ in their reference tokens.

    Args:
        tail: the common tokens are the last ones, else the first.
    """
    if len(features) == 1:
        return features[0]
    return tuple(torch.cat(_shared(streams, tail)) for streams in zip(*features, strict=True))


def _shared(streams: tuple[Tensor, ...], tail: bool) -> tuple[Tensor, ...]:
    lengths = {tensor.shape[1] for tensor in streams if tensor.ndim == 3}
    if len(lengths) < 2:
        return streams
    common = min(lengths)
    return tuple(tensor[:, -common:] if tail else tensor[:, :common] for tensor in streams)


def _have_one_shape(one: Streams, other: Streams) -> bool:
    """Whether the streams that both have are of the same shape."""
    return all(a.shape == b.shape for a, b in zip(one, other, strict=False))


def _bytes(anchor: Anchor) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in anchor.tensors)
