"""Growth of the error of one cached step until the end, and scores of a step that foretell it.

Source: Golden Path Hypothesis, section *Propagation from one cached step* and appendix *Derivation
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
        """Put the steps of prompts together.

        Args:
            prompts: of each the same steps, in the same order.
            sigmas: N + 1 noise levels.

        Raises:
            ValueError: there is no prompt, or not all have the same steps.
        """
        measured = {tuple(found.step for found in steps) for steps in prompts}
        if len(measured) != 1:
            raise ValueError(
                "the gains of prompts are compared step by step, but they have different ones "
                "measured; finish the measurement of all of them"
                if measured
                else "no prompt has been measured; measure two or more"
            )
        (steps,) = measured

        def table(name: str) -> Array:
            return np.array([[getattr(found, name) for found in row] for row in prompts])

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
        return Observations(
            self.steps,
            self.step_sizes,
            self.feature_errors[prompts],
            self.velocity_errors[prompts],
            self.next_state_errors[prompts],
            self.output_errors[prompts],
        )

    @property
    def velocity_gains(self) -> Array:
        """``‖δv_k‖ / (‖r_k‖ + ε)``: how strongly the model answers to the feature error."""
        return self.velocity_errors / (self.feature_errors + EPSILON)

    @property
    def future_gains(self) -> Array:
        """``‖e_N‖ / (‖η_k‖ + ε)``: how much the rest of the run enlarges the next state's error."""
        return self.output_errors / (self.next_state_errors + EPSILON)

    @property
    def gains(self) -> Array:
        """``[S]`` propagation gains h_k: both gains averaged over all prompts, times ``|Δτ_k|``."""
        return self.velocity_gains.mean(0) * self.step_sizes * self.future_gains.mean(0)

    @property
    def gains_of_others(self) -> Array:
        """``h_k^LOO``: as ``gains``, over the other prompts alone.

        ``ValueError`` if there is one prompt only.
        """
        return self._velocity_gains_of_others * self.step_sizes * _of_others(self.future_gains)

    @property
    def _velocity_gains_of_others(self) -> Array:
        return _of_others(self.velocity_gains)

    def scores(self) -> dict[str, Array]:
        """The six scores of the paper's table of scores that foretell the output error."""
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
        """Spearman's correlation of each score with the output error, all prompts and steps pooled.

        None where it is not defined.
        """
        return {name: spearman(s, self.output_errors) for name, s in self.scores().items()}


class GainTransfer(NamedTuple):
    """Agreement of the gains of one half of the prompts with the other half.

    Args:
        profiles: Spearman's correlation of both halves' gains over the steps.
        own: by the half that is evaluated, the correlation of ``‖r_k‖ h_k`` with the output error,
            h_k averaged over that same half.
        other: the same, h_k averaged over the other half.
    """

    profiles: float | None
    own: Mapping[str, float | None]
    other: Mapping[str, float | None]


def transfer(observations: Observations) -> GainTransfer:
    """Even-indexed prompts against odd-indexed ones, in both directions.

    ``ValueError`` if there is one prompt only.
    """
    if len(observations) < 2:
        raise ValueError("two halves need two prompts or more, got 1; measure more")
    even, odd = observations.some(slice(0, None, 2)), observations.some(slice(1, None, 2))

    def found(evaluated: Observations, gains: Array) -> float | None:
        return spearman(evaluated.feature_errors * gains, evaluated.output_errors)

    return GainTransfer(
        spearman(even.gains, odd.gains),
        {"even": found(even, even.gains), "odd": found(odd, odd.gains)},
        {"even": found(even, odd.gains), "odd": found(odd, even.gains)},
    )


def _of_others(ratios: Array) -> Array:
    """Mean of the others, for each prompt."""
    count = len(ratios)
    if count < 2:
        raise ValueError(
            "the gain of a prompt is estimated from others, but there is only one; measure two or "
            "more"
        )
    return np.stack([np.delete(ratios, prompt, axis=0).mean(0) for prompt in range(count)])
