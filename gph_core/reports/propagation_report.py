"""Report of *Propagation Gain*: numbers in JSON types, a text, a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from ..analysis.isolated_steps import IsolatedStep
from ..analysis.propagation import Array, Observations, transfer
from ..policies.base import Policy
from ..texts import counted
from . import figures

BAND = (0.1, 0.9)  # of the prompts, as quantiles
_MOST = 3  # most sensitive steps that are named
_SIZE = 13  # of letters, legible on a node
_SCORES = {
    "step_only": "step alone, -k",
    "feature_error": "feature error",
    "feature_error_x_step_size": "feature error × step size",
    "next_state_error_estimate": "estimated next-state error",
    "propagation_gain": "propagation gain of the others",
    "feature_error_x_gain": "feature error × that gain",
}
_PANELS = {  # title and color, distinct for the colour-blind
    "propagation_gain": ("propagation gain $h_k$: final error per feature error", "#d55e00"),
    "feature_error": ("feature error of the step cached alone", "#0072b2"),
    "future_gain": ("future gain: final error per next-state error", "#009e73"),
}


def report_of(
    prompts: Sequence[Sequence[IsolatedStep]], examples: Sequence[Mapping[str, Any]],
    sigmas: Sequence[float], policy: Policy,
) -> dict[str, Any]:  # fmt: skip
    """All numbers; lists are over the measured steps.

    Args:
        prompts: the measured steps of each example.
        examples: names of each for people.
    """
    observed = Observations.of(prompts, sigmas)
    each = observed.velocity_gains * observed.step_sizes * observed.future_gains
    halves = transfer(observed)
    return {
        "policy": str(policy),
        "num_steps": len(sigmas) - 1,
        "sigmas": list(sigmas),
        "steps": list(observed.steps),
        "step_size": observed.step_sizes.tolist(),
        "feature_error": _spread(observed.feature_errors),
        "velocity_gain": _spread(observed.velocity_gains),
        "future_gain": _spread(observed.future_gains),
        "output_error": _spread(observed.output_errors),
        # The product of both mean gains, as in the source.
        "propagation_gain": {**_spread(each), "mean": observed.gains.tolist()},
        "correlations": observed.correlations(),
        "halves": halves._asdict(),
        "examples": [
            {**example, "steps": [step.to_dict() for step in steps]}
            for example, steps in zip(examples, prompts, strict=True)
        ],
    }


def text_of(report: Mapping[str, Any], notes: Sequence[str]) -> str:
    """The main numbers."""
    steps, examples = report["steps"], report["examples"]
    halves = report["halves"]
    lines = [
        f"{counted(len(examples), 'example')}, {counted(len(steps), 'step')} of "
        f"{report['num_steps']} cached alone, {report['policy']}",
        f"largest propagation gain: {_largest(report['propagation_gain'], steps)}",
        f"largest final error: {_largest(report['output_error'], steps)}",
        f"rank correlation with the final error, {len(steps) * len(examples)} pairs:",
        *(f"  {title}: {_number(report['correlations'][name])}" for name, title in _SCORES.items()),
        f"gains of two halves of the examples: {_number(halves['profiles'])}; feature error × "
        f"gain of the same half {_both(halves['own'])}, of the other half "
        f"{_both(halves['other'])}",
    ]
    return "\n".join([*lines, *notes])


def figure(report: Mapping[str, Any]) -> Tensor:
    """Sensitivity curve, feature error and future gain over the steps, ``[1, H, W, 3]``."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    sheet = Figure(figsize=(9, 9), dpi=100, layout="constrained")
    panels = sheet.subplots(len(_PANELS), 1, sharex=True)
    for axes, (name, (title, color)) in zip(panels, _PANELS.items(), strict=True):
        spread = report[name]
        axes.fill_between(
            report["steps"], spread["low"], spread["high"], color=color, alpha=0.25, linewidth=0
        )
        axes.plot(report["steps"], spread["mean"], color=color, marker="o", markersize=4)
        axes.set_ylim(bottom=0)
        axes.set_title(title, fontsize=_SIZE)
        axes.tick_params(labelsize=_SIZE - 1)
        axes.spines[["top", "right"]].set_visible(False)
    last = panels[-1]
    last.set_xlim(-0.5, report["num_steps"] - 0.5)
    last.xaxis.set_major_locator(MaxNLocator(12, integer=True))
    low, high = BAND
    last.set_xlabel(
        f"step cached alone; line: mean of {counted(len(report['examples']), 'example')}, band: "
        f"{low:.0%} to {high:.0%} of them; {report['policy']}",
        fontsize=_SIZE - 1,
    )
    return figures.to_image(sheet)


def _spread(values: Array) -> dict[str, list[float]]:
    """Mean and band over examples."""
    low, high = np.quantile(values, BAND, axis=0)
    return {"mean": values.mean(0).tolist(), "low": low.tolist(), "high": high.tolist()}


def _largest(spread: Mapping[str, Sequence[float]], steps: Sequence[int]) -> str:
    means = sorted(zip(spread["mean"], steps, strict=True), reverse=True)[:_MOST]
    return ", ".join(f"{mean:.3g} at step {step}" for mean, step in means)


def _both(halves: Mapping[str, float | None]) -> str:
    return " and ".join(map(_number, halves.values()))


def _number(correlation: float | None) -> str:
    return "not defined" if correlation is None else f"{correlation:.3f}"
