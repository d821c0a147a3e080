"""Spacings that are tried when a path is learned."""

from __future__ import annotations

from ..schedule import Schedule

# Exponents of the rule in ``to_learn``, and the shares of full steps from which on the first two
# are preferred, the second in short runs alone (docs/decisions/schedules_and_paths.md).
DENSE_POWER, STEEP_POWER, SPARSE_POWER = 1.3, 1.5, 1.15
DENSE, STEEP = 0.3, 0.43
SHORT = 16  # steps


def to_learn(num_full: int, default: Schedule, is_damped: bool) -> list[Schedule]:
    """K full steps at ``round((N - 1) (i / (K - 1))^p)``, and those of the default.

    The first one is preferred: with many full steps the rule's, with few the default's.

    Args:
        is_damped: whether the default is damped velocity, whose spacing is one for velocities.
    """
    last = default.num_steps - 1

    def ruled(power: float) -> Schedule:
        steps = (round(last * (i / (num_full - 1)) ** power) for i in range(num_full))
        return Schedule(tuple(steps), last + 1)

    sparse = default if is_damped else ruled(SPARSE_POWER)
    dense, steep, share = ruled(DENSE_POWER), ruled(STEEP_POWER), num_full / (last + 1)
    is_short = last < SHORT
    first = steep if is_short and share >= STEEP else dense if share >= DENSE else sparse
    spacings = dict.fromkeys([first, dense, steep, default, ruled(SPARSE_POWER)])
    return [spacing for spacing in spacings if spacing.num_full == num_full]
