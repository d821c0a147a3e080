"""Spacings that are tried when a path is learned."""

from __future__ import annotations

from ..schedule import Schedule

# Exponents of the rule in ``to_learn``, and the share of full steps from which on the first one is
# preferred; docs/decisions/schedules_and_paths.md has the measurement.
DENSE_POWER, STEEP_POWER, SPARSE_POWER = 1.3, 1.5, 1.15
DENSE = 0.3


def to_learn(num_full: int, default: Schedule, is_damped: bool) -> list[Schedule]:
    """K full steps at ``round((N - 1) (i / (K - 1))^p)``, and those of the default.

    The first one is preferred: with many full steps the rule, with few the default's.

    Args:
        is_damped: whether the default is damped velocity, whose spacing is one for velocities.
    """
    last = default.num_steps - 1

    def ruled(power: float) -> Schedule:
        steps = (round(last * (i / (num_full - 1)) ** power) for i in range(num_full))
        return Schedule(tuple(steps), last + 1)

    sparse = default if is_damped else ruled(SPARSE_POWER)
    first = ruled(DENSE_POWER) if num_full >= DENSE * (last + 1) else sparse
    others = (ruled(DENSE_POWER), ruled(STEEP_POWER), default, ruled(SPARSE_POWER))
    spacings = dict.fromkeys([first, *others])
    return [spacing for spacing in spacings if spacing.num_full == num_full]
