"""Rules of the table of methods: from a setting to a gate, a schedule or a plan.

A rule that needs a fit takes its row, which has it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ..files.forms import Form, num_steps
from ..gates import accumulating
from ..gates.base import Gate
from ..gates.sensitivity import LIMITS, SenCache
from ..model.families import is_video
from ..planning.magcache import magnitude_schedule
from ..planning.planners import Plan
from ..policies.extrapolation import Hermite, Reuse
from ..policies.linear_fit import Products, compounded_errors
from ..policies.linear_fit import fit as linear_fit
from ..schedule import Schedule, image_uniform, uniform
from .method import Method, Setting

L2P_OWN = "L2P (full steps only)"
HIGH_RATIO, MEDIUM_RATIO = 0.78, 0.66  # between the GPH paper's cache ratios 0.82, 0.74, 0.58


def by_threshold(gate: Callable[[float], Gate]) -> Callable[[float, Setting], Gate]:
    """Selection by a gate whose only option is its threshold."""
    return lambda threshold, setting: gate(threshold)


def teacache(
    method: Method, threshold: float, setting: Setting, exact: bool = False
) -> Gate | Schedule:
    """TeaCache's gate, or its schedule where its signal is known before the run.

    Args:
        exact: use the polynomial as it is, even if negative.
    """
    polynomial = method.fitted(setting)
    if setting.time_changes is None:
        return accumulating.TeaCache(threshold, polynomial, exact)
    forced = method.forced(setting).full_steps
    value = polynomial if exact else polynomial.guarded
    return accumulating.accumulate(map(value, setting.time_changes()), threshold, forced)


def sencache(method: Method, threshold: float, setting: Setting) -> Gate:
    """SenCache's gate, with the limits of the family at the cache ratio."""
    ratio, n = setting.cache_ratio, setting.num_steps
    limits = setting.of_family(LIMITS)
    at_start, share, longest = limits[(ratio > MEDIUM_RATIO) + (ratio > HIGH_RATIO)]
    longest = max(1, round(longest * n / 50))
    if setting.num_full is not None:  # in short runs the wanted number may need longer gaps
        gaps = max(1, setting.num_full - method.forced(setting).num_full + 1)
        longest = max(longest, math.ceil((n - setting.num_full) / gaps))
    table, window = method.fitted(setting), round(share * n)
    return SenCache(threshold, table, longest, start_threshold=at_start, start_steps=window)


def magcache(method: Method, threshold: float, setting: Setting) -> Schedule:
    """MagCache's schedule."""
    table = method.fitted(setting)
    if setting.num_full is not None:  # the limits of FLUX leave room for ratios of up to 0.7
        longest = None if setting.cache_ratio > MEDIUM_RATIO else max(5, table.max_cached)
        table = replace(table, max_cached=longest, retention=0.1)
    return magnitude_schedule(table, setting.num_steps, threshold)


def products_in(values: Mapping[str, Any]) -> Products:
    """L2P's products in a calibration; ``ValueError`` for anything else."""
    n = num_steps(values, "gram")
    names = ("gram", "held_out") if "held_out" in values else ("gram",)
    grams = Form(names, (n, n)).read(values)
    for name, gram in grams.items():
        if gram.diag().min() < 0:
            raise ValueError(f"{name!r} holds squares below 0")
    return Products(*grams.values())


def costs_in(values: Mapping[str, Any], num_tables: int | None = None) -> Tensor:
    """Costs of jumps in a calibration, ``[N, N, N + 1]``; ``ValueError`` for anything else.

    Args:
        num_tables: in place of the first N.
    """
    n = num_steps(values, "costs")
    form = Form(("costs",), (num_tables or n, n, n + 1), are_costs=True)
    return form.read(values)["costs"]


def costs(method: Method, setting: Setting) -> Tensor:
    """Calibrated costs of jumps, for the steps of the setting."""
    table = method.fitted(setting)
    _check_steps(method, table, setting)
    return table


def _check_steps(method: Method, table: Tensor, setting: Setting) -> None:
    calibrated = table.shape[-2]
    if calibrated != setting.num_steps:
        raise ValueError(
            f"{method.name} was measured on {calibrated} steps, this plan is for "
            f"{setting.num_steps}; calibrate again for this step count"
        )


def l2p(method: Method, setting: Setting, full_steps_only: bool = False) -> Plan:
    """L2P's weights on uniform spacing, with the error of what they predict.

    Args:
        full_steps_only: predict from full steps alone, with weights fitted to that.
    """
    products, schedule = method.fitted(setting), spaced(setting)
    _check_steps(method, products.fitted, setting)
    own = schedule if full_steps_only else None
    weights = linear_fit(products.fitted, own, conditions=setting.conditions)
    newest = torch.diag(torch.ones(len(weights.matrix) - 1), -1)  # repeats the last full output
    measured, whose = products.held_out, "examples that it was not fitted to"
    if measured is None:
        measured, whose = products.fitted, "the examples that it was fitted to"
    cached = list(schedule.cached_steps)
    ours, repeated = (
        compounded_errors(matrix, measured, schedule)[cached].mean().item() if cached else 0.0
        for matrix in (weights.matrix, newest)
    )
    note = (
        f"error of predicted outputs {ours**0.5:.1%}, of repeated outputs "
        f"{repeated**0.5:.1%}, on {whose}"
    )
    if ours > repeated and not full_steps_only:
        note += f"; predicting from predictions is worse here, so use {L2P_OWN!r}"
    return Plan(schedule, weights, ours, note)


def hicache(setting: Setting) -> Plan:
    """HiCache's uniform spacing; for videos with the first differences of the published code.

    For images both are the same, because step 3 is full.
    """
    policy = Hermite(2, first_enhance=3) if is_video(setting.family) else Hermite(2)
    return Plan(spaced(setting), policy, 0.0)


def budcache(setting: Setting) -> Plan:
    """BudCache's schedule, from its calibration."""
    schedule = (setting.fit or {}).get(setting.num_full)
    if schedule is None:
        raise ValueError(
            f"BudCache has no schedule of {setting.num_full} full steps for {setting.model}; run "
            "Calibrate for it with this number, which searches one, and choose its file in the "
            "input calibration"
        )
    return Plan(schedule, Reuse(), 0.0)


def num_full(setting: Setting) -> int:
    """The number of full steps, which a planned method needs."""
    if setting.num_full is None:
        raise ValueError("a planned method needs a number of full steps; choose a speed")
    return setting.num_full


def spaced(setting: Setting) -> Schedule:
    """Uniform spacing, as the GPH paper spaces images and videos."""
    rule = uniform if is_video(setting.family) else image_uniform
    return rule(setting.num_steps, num_full(setting))
