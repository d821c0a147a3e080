"""Text of a schedule: ``0-3,5,8/50``, its full steps, then N."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

MAX_STEPS = 10_000  # a typing error must not exhaust the memory
MAX_CHARACTERS, MAX_DIGITS, MAX_SHOWN = 100_000, 50, 100


def parse(text: str) -> tuple[tuple[int, ...], int]:
    """The full steps and N of a text as above, or of a bit string, ``1`` = cached.

    Raises ``ValueError`` that says what is wrong with the text, ``TypeError`` if it is none.
    """
    if not isinstance(text, str):  # a wire of any type can bring it
        raise TypeError(
            f"the schedule must be a text such as '0-2,5,9/10'; found {str(text)[:100]}"
        )
    if len(text) > MAX_CHARACTERS:
        raise ValueError(
            f"the text of the schedule has {len(text):,} characters, at most {MAX_CHARACTERS:,} "
            "are supported"
        )
    compact, shown = "".join(text.split()), _shown(text)
    if compact and set(compact) <= {"0", "1"}:
        _check_count(len(compact), shown)
        return tuple(n for n, bit in enumerate(compact) if bit == "0"), len(compact)
    steps, slash, count = compact.partition("/")
    if not slash:
        raise ValueError(
            f"{shown} has no step count; write the full steps, then /N, as in '0-2,5,9/10'"
        )
    num_steps = _number(count, shown)
    _check_count(num_steps, shown)
    is_full = bytearray(num_steps)  # in a broken text, thousands of parts may overlap
    for part in steps.split(","):
        run = _run(part, num_steps, shown)
        is_full[run.start : run.stop] = b"\1" * len(run)
    return tuple(n for n, full in enumerate(is_full) if full), num_steps


def write(full_steps: Sequence[int], num_steps: int) -> str:
    """The text of a schedule; its full steps rise."""
    runs = []
    # Consecutive steps have a constant distance to their rank.
    groups = itertools.groupby(enumerate(full_steps), lambda pair: pair[1] - pair[0])
    for _, group in groups:
        steps = [step for _, step in group]
        runs.append(str(steps[0]) if len(steps) == 1 else f"{steps[0]}-{steps[-1]}")
    return f"{','.join(runs)}/{num_steps}"


def _check_count(num_steps: int, shown: str) -> None:
    if num_steps > MAX_STEPS:
        raise ValueError(f"{shown} has {num_steps} steps, at most {MAX_STEPS} are supported")


def _run(part: str, num_steps: int, shown: str) -> range:
    """The steps of one part of a text, such as ``0-3``."""
    first, dash, last = part.partition("-")
    begin = _number(first, shown)
    end = _number(last, shown) if dash else begin
    if end < begin:
        raise ValueError(f"{_shown(part)} in {shown} runs backwards; write {end}-{begin}")
    if end >= num_steps:
        raise ValueError(
            f"step {end} in {shown} is outside the schedule; "
            f"{num_steps} steps are numbered 0 to {num_steps - 1}"
        )
    return range(begin, end + 1)


def _number(digits: str, shown: str) -> int:
    if not digits.isascii() or not digits.isdigit():
        raise ValueError(
            f"{_shown(digits)} in {shown} is not a step number; "
            "write the full steps, then /N, as in '0-2,5,9/10'"
        )
    if len(digits) > MAX_DIGITS:
        raise ValueError(
            f"{_shown(digits)} in {shown} has {len(digits)} digits; at most {MAX_STEPS} steps are "
            "supported"
        )
    return int(digits)


def _shown(text: str) -> str:
    """A text in quotes; the end of a long one is left out."""
    return repr(text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 3]}...")
