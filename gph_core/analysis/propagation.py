"""Growth of the error of one cached step until the end, and scores that predict it.

Source: GPH paper, section *Propagation from one cached step* and appendix *Derivation
and measurement of the four factors*. Arrays are ``[P, S]``: prompts, then measured steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..quality.stats import spearman
from .isolated_steps import IsolatedStep

EPSILON = 1e-12  # of the paper's equation for the propagation gain
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Observations:
    """Isolated steps of several prompts, under one policy.

    Args:
        steps: the ``S`` measured steps k.
        step_sizes: ``[S]``, ``|Δτ_k|``.
        feature_errors: ``‖r_k‖``.
        velocity_errors: ``‖δv_k‖``.
        next_state_errors: ``‖η_k‖``.
        output_errors: ``‖e_N‖``.
    """

    steps: tuple[int, ...]
    step_sizes: Array
    feature_errors: Array
    velocity_errors: Array
    next_state_errors: Array
    output_errors: Array

    @classmethod
    def of(cls, prompts: Sequence[Sequence[IsolatedStep]], sigmas: Sequence[float]) -> Observations:
        """Observations of prompts, all with the same steps in the same order.

        ``ValueError`` if there is no prompt, or the steps differ.
        """
        measured = {tuple(step.step for step in steps) for steps in prompts}
        if len(measured) != 1:
            raise ValueError(
                "the gains of prompts are compared step by step, but they have different ones "
                "measured; finish the measurement of all of them"
                if measured
                else "no prompt has been measured; measure two or more"
            )
        (steps,) = measured

        def table(name: str) -> Array:
            return np.array([[getattr(step, name) for step in row] for row in prompts])

        return cls(
            steps,
            np.array([abs(sigmas[k + 1] - sigmas[k]) for k in steps]),
            table("feature_error"),
            table("velocity_error"),
            table("next_state_error"),
            table("output_error"),
        )

    def __len__(self) -> int:
        return len(self.feature_errors)

    def some(self, prompts: slice) -> Observations:
        """Observations of some prompts."""
        tables = (
            self.feature_errors, self.velocity_errors, self.next_state_errors, self.output_errors,
        )  # fmt: skip
        return Observations(self.steps, self.step_sizes, *(table[prompts] for table in tables))

    @property
    def velocity_gains(self) -> Array:
        """``‖δv_k‖ / (‖r_k‖ + ε)``: how strongly the velocity responds to the feature error."""
        return self.velocity_errors / (self.feature_errors + EPSILON)

    @property
    def future_gains(self) -> Array:
        """``‖e_N‖ / (‖η_k‖ + ε)``: how far the rest of the run amplifies the error of a state."""
        return self.output_errors / (self.next_state_errors + EPSILON)

    @property
    def gains(self) -> Array:
        """``[S]`` propagation gains h_k: both gains averaged over all prompts, times ``|Δτ_k|``."""
        return self.velocity_gains.mean(0) * self.step_sizes * self.future_gains.mean(0)

    @property
    def gains_of_others(self) -> Array:
        """``h_k^LOO``: ``gains`` over the other prompts; ``ValueError`` if there are none."""
        return self._velocity_gains_of_others * self.step_sizes * _of_others(self.future_gains)

    @property
    def _velocity_gains_of_others(self) -> Array:
        return _of_others(self.velocity_gains)

    def scores(self) -> dict[str, Array]:
        """The six scores of the paper's table that predict the output error."""
        shape = self.feature_errors.shape
        scaled = self.feature_errors * self.step_sizes
        gains = self.gains_of_others
        return {
            "step_only": np.broadcast_to(-np.array(self.steps, float), shape),
            "feature_error": self.feature_errors,
            "feature_error_x_step_size": scaled,
            "next_state_error_estimate": scaled * self._velocity_gains_of_others,
            "propagation_gain": gains,
            "feature_error_x_gain": self.feature_errors * gains,
        }

    def correlations(self) -> dict[str, float | None]:
        """Spearman's correlation of each score with the output error, prompts and steps pooled."""
        return {name: spearman(s, self.output_errors) for name, s in self.scores().items()}


class GainTransfer(NamedTuple):
    """Agreement of the gains of two halves of the prompts.

    Args:
        profiles: Spearman's correlation of both halves' gains over the steps.
        own: by half, the correlation of ``‖r_k‖ h_k`` with the output error, h_k from that half.
        other: the same, h_k from the other half.
    """

    profiles: float | None
    own: Mapping[str, float | None]
    other: Mapping[str, float | None]


def transfer(observations: Observations) -> GainTransfer:
    """Even-indexed prompts against odd-indexed ones; ``ValueError`` for a single prompt."""
    if len(observations) < 2:
        raise ValueError("two halves need two prompts or more, got 1; measure more")
    even, odd = observations.some(slice(0, None, 2)), observations.some(slice(1, None, 2))

    def correlation(evaluated: Observations, gains: Array) -> float | None:
        return spearman(evaluated.feature_errors * gains, evaluated.output_errors)

    return GainTransfer(
        spearman(even.gains, odd.gains),
        {"even": correlation(even, even.gains), "odd": correlation(odd, odd.gains)},
        {"even": correlation(even, odd.gains), "odd": correlation(odd, even.gains)},
    )


def _of_others(ratios: Array) -> Array:
    """For each prompt, the mean of the others."""
    count = len(ratios)
    if count < 2:
        raise ValueError(
            "the gain of a prompt is estimated from others, but there is only one; measure two or "
            "more"
        )
    return np.stack([np.delete(ratios, prompt, axis=0).mean(0) for prompt in range(count)])
