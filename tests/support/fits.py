"""A fit in a closed loop whose runs are all in one place."""

from gph_core.calibration.closed_loop import NUM_ANCHORS, RIDGE, finished, fitting


def fit(
    schedule, steps, starts, states, velocities, fitted_on=None, *, ridge=RIDGE, memory=None,
    num_anchors=NUM_ANCHORS,
):  # fmt: skip
    """Weights and ends of runs, see ``fitting``; ``fitted_on``: numbers of runs, none: all."""
    chosen = tuple(range(len(starts)) if fitted_on is None else fitted_on)
    course = memory.longest(chosen, schedule) if memory else None
    going = fitting(
        schedule, steps, starts, states, velocities, chosen, num_anchors, memory, course
    )  # fmt: skip
    return finished(going, ridge)
