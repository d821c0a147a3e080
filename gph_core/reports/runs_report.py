"""Report of recorded runs: texts, and a figure of their most frequent schedules."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from contextlib import suppress

from torch import Tensor

from ..analysis.frequency import Frequencies
from ..run.record_file import RecordedRun
from ..schedule import Schedule
from ..texts import counted
from . import figures

ROWS = 10
_SHARES = (1, 3, 10)  # r, for the share of the r most frequent schedules


def complete(runs: Sequence[RecordedRun]) -> list[Schedule]:
    """The schedules of the runs that were not cut short."""
    schedules = []
    for run in runs:
        with suppress(ValueError):  # it was cut short
            schedules.append(run.record.realized)
    return schedules


def summary(runs: Sequence[RecordedRun], num_new: int) -> str:
    """What the runs have in common, and how they differ."""
    first, schedules = runs[0].record, complete(runs)
    rule = first.origin if first.gate else f"fixed schedule {first.schedule}"
    done = f"{rule}, policy {first.policy}"
    if not first.gate and not Schedule.parse(first.schedule).num_cached:
        done = "every step full"
    lines = [f"{counted(len(runs), 'run')}, {num_new} of them new: {done}"]
    if schedules:
        full = [schedule.num_full for schedule in schedules]
        lines += [
            f"full steps: mean {statistics.fmean(full):.2f} of {schedules[0].num_steps}, spread "
            f"{statistics.pstdev(full):.2f} (standard deviation), {min(full)} to {max(full)}",
            *_counts(Frequencies.of(schedules)),
            f"different schedules: {len(set(schedules))}",
        ]
    notes = dict.fromkeys(note for run in runs for note in run.record.notes)
    return "\n".join([*lines, *_left_out(len(runs) - len(schedules)), *notes])


def table(
    frequencies: Frequencies, chosen: Schedule, num_full: int, runs: Sequence[RecordedRun]
) -> str:  # fmt: skip
    """The most frequent schedules with their shares, and how concentrated the choices are.

    Args:
        chosen: the schedule that the node gives.
        num_full: the wanted number of full steps; 0: any.
        runs: all runs, with those that were cut short.
    """
    total, top = frequencies.runs, list(frequencies.counts.items())[:ROWS]
    lines = [f"{chosen}: {frequencies.counts[chosen]} of {counted(total, 'run')}"]
    if num_full and chosen.num_full != num_full:
        lines.append(
            f"no run has {num_full} full steps, so this is the most frequent schedule of all"
        )
    policies = ", ".join(dict.fromkeys(run.record.policy for run in runs))
    lines.append(f"policy of the runs: {policies}")
    lines.append(f"{'runs':>6}{'share':>9}{'full':>6}  schedule (█ full)")
    for schedule, count in top:
        strip = "".join("·" if bit == "1" else "█" for bit in schedule.bits)
        lines.append(f"{count:6}{count / total:9.1%}{schedule.num_full:6}  {strip}  {schedule}")
    shares = ", ".join(f"top {r} {frequencies.top(r):.1%}" for r in _SHARES)
    lines += [
        f"share of the runs with the most frequent schedules: {shares}",
        f"{counted(len(frequencies.counts), 'different schedule')}, as spread as "
        f"{frequencies.effective:.2f} equally frequent ones",
        *_counts(frequencies),
    ]
    return "\n".join([*lines, *_left_out(len(runs) - total)])


def figure(frequencies: Frequencies) -> Tensor:
    """Strips of the most frequent schedules with their shares, ``[1, H, W, 3]``."""
    from matplotlib.figure import Figure

    rows = list(frequencies.counts.items())[:ROWS]
    picture = Figure(figsize=(9, 1.4 + 0.42 * len(rows)), dpi=110, layout="constrained")
    axes = picture.subplots()
    for row, (schedule, _) in enumerate(rows):
        figures.strip(axes, row, schedule)
    labels = [
        f"{count / frequencies.runs:.1%}  ({schedule.num_full} full)" for schedule, count in rows
    ]
    axes.set_yticks(range(len(rows)), labels, fontsize=13)
    axes.invert_yaxis()
    figures.number_steps(axes, rows[0][0].num_steps)
    axes.tick_params(axis="x", labelsize=12)
    axes.set_xlabel("step (dark: full)", fontsize=13)
    different = len(frequencies.counts)
    shown = f", the {len(rows)} most frequent ones" if different > len(rows) else ""
    title = f"{counted(frequencies.runs, 'run')}, {counted(different, 'different schedule')}{shown}"
    axes.set_title(title, fontsize=14)
    axes.spines[:].set_visible(False)
    return figures.to_image(picture)


def _counts(frequencies: Frequencies) -> list[str]:
    spread = ", ".join(
        f"{count} in {counted(number, 'run')}"
        for count, number in frequencies.cached_counts.items()
    )
    return [f"cached steps: mean {frequencies.mean_cached:.2f}; {spread}"]


def _left_out(number: int) -> list[str]:
    return [f"{counted(number, 'run')} stopped early, left out of these figures"] if number else []
