"""A schedule of the user's for a run that may be a part of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..policies.base import Policy
from ..schedule import Schedule
from .conditions import Choice
from .places import begin_in, places

OWN = "your schedule"

NEAR_NOISE = 0.95  # of pure noise: some schedulers begin a little below it


def fit(
    schedule: Schedule,
    policy: Policy,
    sigmas: Sequence[float],
    sigma_max: float,
    continues: bool = False,
    grids: Callable[[int], Iterable[Sequence[float]]] = lambda num_steps: (),
    origin: str = OWN,
) -> Choice:
    """A given schedule for a run with these noise levels.

    A run of fewer steps takes the steps of the schedule whose noise levels in one of the grids are
    its own, whether or not noise is added. So one schedule serves two experts, several samplers in
    a row, and one that begins late or ends early. Where no grid has the levels, a run that leaves
    noise takes the first steps, one that goes on with noisy latents the last ones.

    Args:
        schedule: of all steps.
        policy: of the run; a part begins with the full steps that it needs.
        sigmas: of the steps of this run.
        sigma_max: of pure noise.
        continues: no noise is added before the first step.
        grids: noise levels of so many steps, as each scheduler has them; called for a run of fewer
            steps only.
        origin: where the schedule comes from.

    Raises ``ValueError`` if several parts could be meant, or none.
    """
    run = _Run(schedule, policy, sigmas, origin)
    count, total = run.count, schedule.num_steps
    if count >= total:
        return run.whole()
    begins = _in_own_grid(policy, total, sigmas) or places(sigmas, total, grids(total))
    # A single step is full in any case, so it does not matter which one it is.
    if sigmas[-1] == 0 and count > 1 and places(sigmas, count, grids(count)):
        if begins:
            raise ValueError(run.whole_or_part(begins[0]))
        return run.whole()  # the run refuses it for its other step count
    if not begins:
        return run.guessed(sigmas[0] / sigma_max, continues)
    parts = [run.part(first) for first in begins]
    if any((part.schedule, part.policy) != (parts[0].schedule, parts[0].policy) for part in parts):
        raise ValueError(run.several(begins))
    return parts[0]


def _in_own_grid(policy: Policy, total: int, sigmas: Sequence[float]) -> list[int]:
    """Where a run begins in the noise levels that its policy was fitted to."""
    levels = policy.conditions.get("sigmas")
    if not isinstance(levels, (list, tuple)) or len(levels) != total + 1:
        return []
    first = begin_in(levels, sigmas)
    return [] if first is None else [first]


@dataclass(frozen=True)
class _Run:
    """A run of fewer steps than a schedule, and what it can be; see ``fit``."""

    schedule: Schedule
    policy: Policy
    sigmas: Sequence[float]
    origin: str

    @property
    def count(self) -> int:
        return len(self.sigmas) - 1

    @property
    def counted(self) -> str:
        return "1 step" if self.count == 1 else f"{self.count} steps"

    @property
    def levels(self) -> str:
        return f"its noise levels ({self.sigmas[0]:g} to {self.sigmas[-1]:g})"

    @property
    def mismatch(self) -> str:
        total = self.schedule.num_steps
        return f"the schedule covers {total} steps but the sampler runs {self.count}"

    def whole(self) -> Choice:
        return Choice(self.schedule, self.origin, self.policy)

    def part(self, first: int) -> Choice:
        """The part that begins at a step of the schedule."""
        own = self.policy.part(first, self.count)
        part = self.schedule.part(first, self.count, self.policy.min_anchors)
        words = f"{self.steps(first)} of {self.origin} {self.schedule}"
        return Choice(own.covered(part), words, own)

    def steps(self, first: int) -> str:
        return f"steps {first} to {first + self.count - 1}"

    def text(self, first: int) -> str:
        """What to enter for the part alone."""
        return str(self.part(first).schedule)

    def guessed(self, share: float, continues: bool) -> Choice:
        """The part of a run whose noise levels no scheduler has, by where they begin and end.

        Args:
            share: of pure noise, in the first level.
        """
        leaves_noise, goes_on = self.sigmas[-1] > 0, continues or share < NEAR_NOISE
        total, count, counted = self.schedule.num_steps, self.count, self.counted
        unknown = f"no scheduler of ComfyUI has {self.levels} among those of {total} steps"
        if leaves_noise and goes_on:
            raise ValueError(
                f"the sampler runs {counted} from the middle of a schedule of {total}, and which "
                f"ones cannot be told: {unknown}; set the schedule to the step count of all "
                f"samplers together, or give this sampler a schedule of {counted} of its own"
            )
        if not (leaves_noise or goes_on):
            raise ValueError(
                f"{self.mismatch}, and {unknown}; set the same step count, or choose a speed that "
                f"fits any step count. If the run is a part of the {total} steps, enter it as a "
                f"schedule of its own: {self.text(0)} for the first {counted}, "
                f"{self.text(total - count)} for the last"
            )
        which, first = ("first", 0) if leaves_noise else ("last", total - count)
        note = f"{unknown}, so the run counts as the {which} {count} of them"
        return self.part(first)._replace(note=note)

    def whole_or_part(self, first: int) -> str:
        return (
            f"{self.mismatch}, and {self.levels} are those of a whole run of {self.counted} as "
            f"well as of {self.steps(first)} of the schedule; set the sampler to "
            f"{self.schedule.num_steps} steps, or enter the part as a schedule of its own: "
            f"{self.text(first)}"
        )

    def several(self, begins: Sequence[int]) -> str:
        own = ", ".join(f"{self.text(first)} for {self.steps(first)}" for first in begins)
        return (
            f"the sampler runs {self.counted} of a schedule of {self.schedule.num_steps}, and "
            f"which ones cannot be told: schedulers of ComfyUI have {self.levels} at more than "
            f"one place; enter the part as a schedule of its own: {own}"
        )
