"""Checks of a golden path before it is saved and after it is read, whoever wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..files import strict_json
from ..policies import weights as bounds
from ..policies.fitted import Fitted
from ..schedule import Schedule
from .golden_path import PUBLISHED, SHARED, WITH_PACK, GoldenPath, one_line

MAX_MIB = 4  # weights of 500 steps for 128 channels have 3, those of 10,000 steps for all alike 3
MAX_CHARACTERS = {"model": 200, "family": 200, "source": 1000, "notes": 10_000}
MAX_FACTS, MAX_FACT_NAME = 200, 300  # such as conditions; characters of a name


def judged(text: str | bytes, name: str = "") -> GoldenPath:
    """The path of a file's text; ``ValueError`` says what is wrong with another text.

    Only the pack publishes paths and brings its own: any other that says so is a shared one.

    Args:
        name: replaces the path's own.
    """
    try:
        return _judged(text, name)
    except TypeError as error:
        raise ValueError(f"a value is of another type: {one_line(str(error))}") from error
    except ValueError as error:
        raise ValueError(one_line(str(error))) from error  # it may quote the file


def _judged(text: str | bytes, name: str) -> GoldenPath:
    check_size(len(text if isinstance(text, bytes) else text.encode("utf-8", "replace")))
    try:
        data = strict_json.loads(text)
    except ValueError as error:
        raise ValueError(f"this is no JSON text: {error}") from error
    if isinstance(data, dict):
        if data.get("origin") in (PUBLISHED, WITH_PACK):
            data["origin"] = SHARED
        if name:
            data["name"] = name
    path = GoldenPath.from_json(data)
    _check_texts(path)
    if isinstance(path.policy, Fitted):
        _check_fitted(path.policy, path.schedule)
    return path


def check_size(num_bytes: int) -> None:
    """Raise ``ValueError`` for a file of too many bytes."""
    if num_bytes > MAX_MIB * 2**20:
        raise ValueError(f"it has {num_bytes / 2**20:.1f} MiB, a path has at most {MAX_MIB}")


def _check_texts(path: GoldenPath) -> None:
    for field, most in MAX_CHARACTERS.items():
        if (count := len(getattr(path, field))) > most:
            raise ValueError(
                f"the field {field!r} has {count:,} characters, at most {most:,} are allowed"
            )
    for field in ("architecture", "conditions", "quality"):
        facts: Mapping[str, Any] = getattr(path, field)
        if len(facts) > MAX_FACTS or any(len(name) > MAX_FACT_NAME for name in facts):
            raise ValueError(
                f"the field {field!r} has {len(facts):,} entries; {MAX_FACTS} are allowed, with "
                f"names of {MAX_FACT_NAME} characters at most"
            )


def _check_fitted(policy: Fitted, schedule: Schedule) -> None:
    """Raise ``ValueError`` for weights that no fit gives, or that do not fit the schedule."""
    if policy.schedule:
        Schedule.parse(policy.schedule)
    steps, cached = [step for step, _ in policy.weights], set(schedule.cached_steps)
    # Weights that no run uses could bring the mean of all within its bounds.
    if unused := [step for step in steps if step not in cached]:
        raise ValueError(
            f"step {unused[0]} has weights, but {schedule} does not cache it; only cached steps "
            "can have weights"
        )
    if len(set(steps)) < len(steps):
        raise ValueError("a step has weights more than once; each cached step can have them once")
    if policy.spare:
        raise ValueError("the weights are of a part of a run; a path has those of the whole run")
    bounds.check(policy.weights, schedule.num_steps)
