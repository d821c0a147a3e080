"""Spacings with which a search of fitted paths begins: even ones, and ones denser at the start."""

from __future__ import annotations

from collections.abc import Collection

from ..schedule import Schedule

POWERS = (1.0, 1.2, 1.4, 1.7, 2.0)


def spacings(num_steps: int, num_full: int, required: Collection[int] = (0,)) -> list[Schedule]:
    """Full steps at ``round((N - 1) (i / (K - 1))^p)``, for p of ``POWERS``, and ``even``.

    Only those with K different steps are among them, and with the required ones: behind the first
    of these the same rule spaces the rest.
    """
    first = next(step for step in range(num_steps) if step + 1 not in required)
    rest = num_full - first - 1
    families = [
        [*range(first), *(first + round((num_steps - 1 - first) * (i / rest) ** power)
                          for i in range(rest + 1))]
        for power in POWERS
        if rest > 0
    ]  # fmt: skip
    families.append(list(even(num_steps, num_full).full_steps))
    found = dict.fromkeys(tuple(dict.fromkeys(steps)) for steps in families)
    return [
        Schedule(steps, num_steps)
        for steps in found
        if len(steps) == num_full and set(required) <= set(steps)
    ]


def even(num_steps: int, num_full: int) -> Schedule:
    """Full steps at ``i N / K``, rounded down; the last steps are cached."""
    return Schedule(tuple(i * num_steps // num_full for i in range(num_full)), num_steps)
