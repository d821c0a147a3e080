"""Speeds: the schedule that each takes for a run, and numbers of full steps."""

from __future__ import annotations

from collections.abc import Sequence

from ..policies.extrapolation import Reuse
from ..policies.fitted import Fitted
from .choice import choose
from .conditions import Choice, Conditions
from .golden_path import GoldenPath
from .grids import MIN_FULL, half_up

# Full steps of 50 in the GPH paper, whose cache ratios are 0.58, 0.74 and 0.82.
SPEEDS = {"Quality": 21, "Balanced": 13, "Fast": 9}
OF_STEPS = 50
# Full steps that a run keeps at least, whatever the share: the steps of a short run are large. But
# not more than three in four (docs/decisions/schedules_and_paths.md, "Speeds of short runs").
FEWEST = {"Quality": 7, "Balanced": 5, "Fast": MIN_FULL}
MOST_SHARE = 0.75
IN_FULL = 3  # steps of a run that is computed in full

# A speed by the number of steps: with fewer than ten full steps, Balanced is often visibly off.
AUTOMATIC = "Automatic"
BALANCED_FROM = 40  # steps
NAMES = (AUTOMATIC, *SPEEDS)


def resolve(speed: str, run: Conditions, paths: Sequence[GoldenPath]) -> Choice:
    """The schedule of a speed for a run."""
    if speed not in NAMES:
        raise ValueError(f"{speed!r} is not a speed; choose one of {', '.join(NAMES)}")
    name = automatic(run.num_steps) if speed == AUTOMATIC else speed
    count = full_of(name, run.num_steps, run.whole_steps)
    choice = choose(run, count, paths, 1 - SPEEDS[name] / OF_STEPS)
    if speed != AUTOMATIC:
        return choice
    note = f"Automatic is {name} here: the sampler takes fewer than {BALANCED_FROM} steps"
    if name == "Balanced":
        note = f"Automatic is {name} here: the sampler takes at least {BALANCED_FROM} steps"
    return choice._replace(note="\n".join(filter(None, (note, choice.note))))


def automatic(num_steps: int) -> str:
    """The speed that ``AUTOMATIC`` is for a number of steps."""
    return "Balanced" if num_steps >= BALANCED_FROM else "Quality"


def speed_of(path: GoldenPath, paths: Sequence[GoldenPath]) -> str:
    """The speed that takes a path under the conditions that it states; empty if none does."""
    if not (path.family and path.sigmas):
        return ""
    wanted = path.policy.conditions if isinstance(path.policy, Fitted) else None
    run = Conditions(
        path.family, path.architecture, path.sigmas, Reuse(),
        holds=lambda policy: policy.conditions == wanted, cfg=(wanted or {}).get("cfg"),
    )  # fmt: skip
    count = path.schedule.num_full
    speeds = (speed for speed in SPEEDS if count_of(speed, run) == count)
    return next((speed for speed in speeds if resolve(speed, run, paths).path == path), "")


def count_of(speed: str | int, run: Conditions) -> int | None:
    """``full_of`` for a run, which may be a part of a longer one.

    Args:
        speed: or a number of full steps, which is returned; None is for another text.
    """
    if isinstance(speed, int):
        return speed
    return full_of(speed, run.num_steps, run.whole_steps) if speed in SPEEDS else None


def full_of(speed: str, num_steps: int, whole_steps: int = 0) -> int:
    """Number of full steps at a speed.

    Args:
        whole_steps: of the run of which these steps are a part; 0 if they are a whole run.
    """
    if num_steps <= IN_FULL:
        return num_steps
    fewest = max(MIN_FULL, FEWEST[speed] * num_steps / (whole_steps or num_steps))
    share = num_steps * SPEEDS[speed] / OF_STEPS
    return half_up(max(share, min(fewest, MOST_SHARE * num_steps)))


def check_full(full: int, num_steps: int, fewest: int = 2, spare: int = 1) -> None:
    """Raise ``ValueError`` for a number of full steps that is out of range.

    Args:
        spare: steps that have to be cached.
    """
    most = num_steps - spare
    if not fewest <= full <= most:
        possible = f"{fewest} to {most}" if fewest <= most else "none"
        raise ValueError(
            f"{full} full steps do not fit: of {num_steps} steps {possible} can be full; change "
            "full_steps or speed, or sample with more steps"
        )
