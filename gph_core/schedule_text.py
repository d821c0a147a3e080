"""Text of a schedule: ``0-3,5,8/50``, its full steps, then N."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

MAX_STEPS = 10_000  # a typing error must not exhaust the memory


def parse(text: str) -> tuple[tuple[int, ...], int]:
    """The full steps and N of a text as above, or of a bit string, ``1`` = cached.

    Raises ``ValueError`` that says what is wrong with the text.
    """
    compact = "".join(text.split())
    if compact and set(compact) <= {"0", "1"}:
        return tuple(n for n, bit in enumerate(compact) if bit == "0"), len(compact)
    steps, slash, count = compact.partition("/")
    if not slash:
        raise ValueError(
            f"{text!r} has no step count; write the full steps, then /N, as in '0-2,5,9/10'"
        )
    num_steps = _number(count, text)
    if num_steps > MAX_STEPS:
        raise ValueError(f"{text!r} has {num_steps} steps, at most {MAX_STEPS} are supported")
    full_steps: list[int] = []
    for part in steps.split(","):
        full_steps.extend(_run(part, num_steps, text))
    return tuple(full_steps), num_steps


def write(full_steps: Sequence[int], num_steps: int) -> str:
    """The text of a schedule; its full steps rise."""
    runs = []
    # Consecutive steps keep a constant distance to their position in the sequence.
    groups = itertools.groupby(enumerate(full_steps), lambda pair: pair[1] - pair[0])
    for _, group in groups:
        steps = [step for _, step in group]
        runs.append(str(steps[0]) if len(steps) == 1 else f"{steps[0]}-{steps[-1]}")
    return f"{','.join(runs)}/{num_steps}"


def _run(part: str, num_steps: int, text: str) -> range:
    """The steps of one part of a text, such as ``0-3``."""
    first, dash, last = part.partition("-")
    begin = _number(first, text)
    end = _number(last, text) if dash else begin
    if end < begin:
        raise ValueError(f"{part!r} in {text!r} runs backwards; write {end}-{begin}")
    if end >= num_steps:
        raise ValueError(
            f"step {end} in {text!r} is outside the schedule; "
            f"{num_steps} steps are numbered 0 to {num_steps - 1}"
        )
    return range(begin, end + 1)


def _number(digits: str, text: str) -> int:
    if not digits.isascii() or not digits.isdigit():
        raise ValueError(
            f"{digits!r} in {text!r} is not a step number; "
            "write the full steps, then /N, as in '0-2,5,9/10'"
        )
    return int(digits)
