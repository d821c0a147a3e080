"""Report of *Error Decomposition*: numbers in JSON types, a text, a figure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from ..analysis.decomposition import Decomposition, median_gaps, over_runs, over_schedules
from ..paths.conditions import Choice
from ..texts import counted
from . import figures

_SIZE = 13  # of letters, legible on a node
_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")  # for the colour-blind
_LINES = ("-", "--", ":", "-.")  # the next one when all colors are used


def report_of(
    decomposed: Mapping[str, Sequence[Decomposition]], choices: Mapping[str, Choice],
    examples: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:  # fmt: skip
    """All numbers; lists are over steps, those of gaps over states.

    Args:
        decomposed: the runs of all examples, by name of the schedule.
        choices: by the same names.
        examples: names of each for people.
    """
    return {
        "examples": [dict(example) for example in examples],
        "schedules": {name: _of_schedule(runs, choices[name]) for name, runs in decomposed.items()},
        "over_schedules": over_schedules(decomposed)._asdict(),
        "rounding": max(run.rounding for runs in decomposed.values() for run in runs),
    }


def text_of(report: Mapping[str, Any], notes: Sequence[str]) -> str:
    """The main numbers."""
    schedules = report["schedules"]
    lines = [
        f"{counted(len(report['examples']), 'example')}, {counted(len(schedules), 'schedule')}"
    ]
    for name, row in schedules.items():
        ranks = row["correlations"]
        lines += [
            f"{name}: {row['cached']:g} of {len(row['state'])} steps cached, {row['policy']}",
            f"  final error {row['output_error']:.4g}, which is {row['gap'][-1]:.4f} of the "
            "distance from noise to image",
            f"  sum of state contributions {row['state_sum']:.4g}, of current contributions "
            f"{row['current_sum']:.4g}",
            f"  rank correlation with the final error over examples: state "
            f"{_number(ranks['state'])}, current {_number(ranks['current'])}",
        ]
    if len(schedules) > 1:
        ranks = report["over_schedules"]
        lines.append(
            f"over schedules: state {_number(ranks['state'])}, current {_number(ranks['current'])}"
        )
    lines.append(
        "the states follow from both contributions with a relative error of "
        f"{report['rounding']:.1e}"
    )
    return "\n".join([*lines, *notes])


def figure(report: Mapping[str, Any]) -> Tensor:
    """Contributions and gap over the run, and their sums beside final errors, ``[1, H, W, 3]``."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    sheet = Figure(figsize=(9, 11), dpi=100, layout="constrained")
    over_steps, over_states, sums = sheet.subplots(3, 1, height_ratios=(1, 0.8, 1))
    for place, (name, row) in enumerate(report["schedules"].items()):
        color = _COLORS[place % len(_COLORS)]
        line = _LINES[place // len(_COLORS) % len(_LINES)]
        over_steps.plot(row["state"], color=color, linestyle=line)
        cached = [step for step, value in enumerate(row["current"]) if value]
        over_steps.plot(cached, [row["current"][n] for n in cached], "^", color=color, mfc="none")
        over_states.plot(row["gap"], color=color, linestyle=line, label=figures.literal(name))
        errors = [run["gaps"][-1] for run in row["runs"]]
        sums.plot([sum(run["state"]) for run in row["runs"]], errors, "o", color=color)
        sums.plot(
            [sum(run["current"]) for run in row["runs"]], errors, "^", color=color, mfc="none"
        )
    over_steps.set_title("velocity error: state contribution —, current △ (means)", fontsize=_SIZE)
    over_steps.set_xlabel("step", fontsize=_SIZE)
    over_states.set_title("distance to the full run / its chord (median)", fontsize=_SIZE)
    over_states.set_xlabel("state", fontsize=_SIZE)
    over_states.legend(fontsize=_SIZE - 2, frameon=False)
    sums.set_title("sum over the run: state contributions ●, current △", fontsize=_SIZE)
    sums.set_xlabel("sum of norms", fontsize=_SIZE)
    sums.set_ylabel("final error", fontsize=_SIZE)
    for axes in (over_steps, over_states):
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_locator(MaxNLocator(12, integer=True))
    for axes in (over_steps, over_states, sums):
        axes.tick_params(labelsize=_SIZE - 1)
        axes.spines[["top", "right"]].set_visible(False)
    return figures.to_image(sheet)


def _of_schedule(runs: Sequence[Decomposition], choice: Choice) -> dict[str, Any]:
    """Means over examples, and the median gap."""

    def mean(name: str) -> float:
        return statistics.fmean(getattr(run, name) for run in runs)

    return {
        "origin": choice.origin,
        "schedule": None if choice.gate else str(choice.schedule),  # which differs by run
        "policy": str(choice.policy),
        "cached": statistics.fmean(len(run.cached_steps) for run in runs),
        "current": np.mean([run.current for run in runs], axis=0).tolist(),
        "state": np.mean([run.state for run in runs], axis=0).tolist(),
        "gap": list(median_gaps(runs)),
        "current_sum": mean("current_sum"),
        "state_sum": mean("state_sum"),
        "output_error": mean("output_error"),
        "correlations": over_runs(runs)._asdict(),
        "runs": [run.to_dict() for run in runs],
    }


def _number(correlation: float | None) -> str:
    return "not defined" if correlation is None else f"{correlation:.3f}"
