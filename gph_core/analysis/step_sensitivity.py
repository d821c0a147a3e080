"""Sensitivity of a run to cached steps, by step and as the cost of a jump."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..planning.planners import Plan, cheapest_path
from ..policies.as_json import policy_data
from ..policies.base import Policy
from .isolated_steps import IsolatedStep
from .propagation import Observations

FORMAT = "golden-path-sensitivity-1"


@dataclass(frozen=True)
class StepSensitivity:
    """The isolated-step experiment, averaged over prompts; tuples are by step.

    Args:
        sigmas: N + 1 noise levels.
        policy: that of the cached steps.
        num_prompts: number of prompts.
        gains: propagation gains h_k, final error per feature error, the *sensitivity curve*; None
            where not measured.
        output_errors: mean ``‖e_N‖`` of each step cached alone; None where not measured.
        feature_errors: mean ``‖r‖`` of each step by the distance, from 1 on, to the full step that
            it is predicted from; empty where not measured.
        conditions: what it holds for, as plain data.

    Source: GPH paper, equation of the propagation gain, averaged over all prompts.
    """

    sigmas: tuple[float, ...]
    policy: Policy
    num_prompts: int
    gains: tuple[float | None, ...]
    output_errors: tuple[float | None, ...]
    feature_errors: tuple[tuple[float, ...], ...]
    conditions: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        prompts: Sequence[Sequence[IsolatedStep]],
        sigmas: Sequence[float],
        policy: Policy,
        conditions: Mapping[str, Any],
    ) -> StepSensitivity:
        """Sensitivity from the isolated steps of prompts; errors as of ``Observations.of``."""
        observed, num_steps = Observations.of(prompts, sigmas), len(sigmas) - 1
        by_step = {
            step: tuple(np.mean([row[i].feature_errors for row in prompts], axis=0).tolist())
            for i, step in enumerate(observed.steps)
        }
        gains = dict(zip(observed.steps, observed.gains.tolist(), strict=True))
        errors = dict(zip(observed.steps, observed.output_errors.mean(0).tolist(), strict=True))
        return cls(
            tuple(sigmas),
            policy,
            len(observed),
            tuple(gains.get(step) for step in range(num_steps)),
            tuple(errors.get(step) for step in range(num_steps)),
            tuple(by_step.get(step, ()) for step in range(num_steps)),
            dict(conditions),
        )

    @property
    def num_steps(self) -> int:
        return len(self.sigmas) - 1

    @property
    def longest_jump(self) -> int:
        """The longest jump of known cost, in steps."""
        return 1 + max(map(len, self.feature_errors))

    def jump_cost(self, start: int, end: int) -> float:
        """Effect of the cached steps between two full ones on the final latent.

        ``Σ_n h_n ‖r_n‖``, n = start + 1 … end - 1, with ``r_n`` predicted from step ``start``: each
        feature error times the gain of its step. To first order and by the triangle inequality it
        estimates the final error of a run that is full elsewhere; it ignores that cached steps
        change the states of later ones. Infinite where not all was measured.
        """
        cost = 0.0
        for step in range(start + 1, end):
            gain = self.gains[step]
            errors = self.feature_errors[step]
            if gain is None or step - start > len(errors):
                return math.inf
            cost += gain * errors[step - start - 1]
        return cost

    def to_dict(self) -> dict[str, Any]:
        """Plain data with a format version, ready for JSON."""
        return {
            "format": FORMAT,
            "policy": policy_data(self.policy) or str(self.policy),
            "num_prompts": self.num_prompts,
            "sigmas": list(self.sigmas),
            "gains": list(self.gains),
            "output_errors": list(self.output_errors),
            "feature_errors": [list(errors) for errors in self.feature_errors],
            "conditions": dict(self.conditions),
        }


def plan_by_sensitivity(sensitivity: StepSensitivity, num_full: int) -> Plan:
    """The schedule whose jumps cost least in sum, under the measured policy.

    The first steps that the policy needs are full, and the last one, which has no gain.

    Raises:
        ValueError: no schedule of measured jumps has so few full steps.
    """
    n = sensitivity.num_steps
    cost_of = functools.cache(sensitivity.jump_cost)
    schedule, cost = cheapest_path(
        lambda _before, start, end: cost_of(start, end),
        n,
        num_full,
        {*range(sensitivity.policy.min_anchors), n - 1},
        sensitivity.longest_jump,
    )
    return Plan(schedule, sensitivity.policy, cost)
