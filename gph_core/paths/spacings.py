"""Spacings with which a search of fitted paths begins: even ones, and ones denser at the start."""

from __future__ import annotations

from ..schedule import Schedule

POWERS = (1.0, 1.2, 1.4, 1.7, 2.0)


def spacings(num_steps: int, num_full: int) -> list[Schedule]:
    """Full steps at ``round((N - 1) (i / (K - 1))^p)``, for p of ``POWERS``, and at ``i N / K``.

    The latter caches the last steps. Only those with K different steps are among them.
    """
    n, k = num_steps, num_full
    families = [
        [round((n - 1) * (i / (k - 1)) ** power) for i in range(k)] for power in POWERS if k > 1
    ]
    families.append([i * n // k for i in range(k)])
    found = dict.fromkeys(tuple(dict.fromkeys(steps)) for steps in families)
    return [Schedule(steps, n) for steps in found if len(steps) == k]
