"""The methods: how each chooses its full steps and how it predicts the others. One row each.

An *adaptive* method decides during the run, by a threshold; a *planned* one settles a schedule
before any run, for a number of full steps. The ten rows of ``METHODS`` are those of the seed
paper (its table of methods), ``VARIANTS`` other forms of these; ``CONTROLS`` are rules that users
know from elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from ..gates import accumulating
from ..gates.accumulating import DICACHE_TENTH
from ..gates.base import Gate
from ..gates.coefficients import Magnitudes, Polynomial, magnitudes_for, polynomial_for
from ..gates.easycache import FIRST_FULL, EasyCache
from ..gates.first_block import FirstBlockCache
from ..gates.sensitivity import LIMITS, SenCache, Sensitivities
from ..model.families import is_video
from ..planning.dpcache import plan_near_published as plan_dpcache
from ..planning.magcache import magnitude_schedule
from ..planning.meancache import plan_near_published as plan_meancache
from ..planning.planners import Plan
from ..policies.causal_linear import CausalLinear
from ..policies.extrapolation import Hermite, Reuse, Taylor, TokenTaylor
from ..policies.linear_fit import Products, compounded_errors
from ..policies.linear_fit import fit as linear_fit
from ..policies.mean_velocity import MeanVelocity
from ..policies.offset import OffsetReuse
from ..policies.rest import RestReuse
from ..policies.two_anchor import TwoAnchor
from ..schedule import Schedule, image_uniform, uniform
from .method import Method, Setting

HIGH_RATIO, MEDIUM_RATIO = 0.78, 0.66  # between the seed paper's cache ratios 0.82, 0.74, 0.58


def _teacache(threshold: float, setting: Setting, exact: bool = False) -> Gate | Schedule:
    polynomial = _fitted("TeaCache", setting)
    if setting.time_changes is None:
        return accumulating.TeaCache(threshold, polynomial, exact)
    forced = ALL[TEACACHE_RAW if exact else "TeaCache"].forced(setting).full_steps
    value = polynomial if exact else polynomial.guarded
    return accumulating.accumulate(map(value, setting.time_changes()), threshold, forced)


def _sencache(threshold: float, setting: Setting) -> Gate:
    ratio, n = setting.cache_ratio, setting.num_steps
    limits = setting.of_family(LIMITS)
    at_start, share, longest = limits[(ratio > MEDIUM_RATIO) + (ratio > HIGH_RATIO)]
    longest = max(1, round(longest * n / 50))
    if setting.num_full is not None:  # in short runs the wanted number may need longer ones
        gaps = max(1, setting.num_full - METHODS["SenCache"].forced(setting).num_full + 1)
        longest = max(longest, math.ceil((n - setting.num_full) / gaps))
    table, window = _fitted("SenCache", setting), round(share * n)
    return SenCache(threshold, table, longest, start_threshold=at_start, start_steps=window)


def _magcache(threshold: float, setting: Setting) -> Schedule:
    table = _fitted("MagCache", setting)
    if setting.num_full is not None:  # the limits of FLUX leave room for ratios of up to 0.7
        longest = None if setting.cache_ratio > MEDIUM_RATIO else max(5, table.max_cached)
        table = replace(table, max_cached=longest, retention=0.1)
    return magnitude_schedule(table, setting.num_steps, threshold)


def _l2p(setting: Setting, full_steps_only: bool = False) -> Plan:
    products, schedule = _fitted("L2P", setting), _uniform(setting)
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
        f"predicted outputs are off by {ours**0.5:.1%}, repeated ones by {repeated**0.5:.1%}, on "
        f"{whose}"
    )
    if ours > repeated and not full_steps_only:
        note += f"; predictions of predictions went wrong, take {L2P_OWN!r}"
    return Plan(schedule, weights, ours, note)


def _budcache(setting: Setting) -> Plan:
    found = (setting.fit or {}).get(setting.num_full)
    if found is None:
        raise ValueError(
            f"BudCache has no schedule of {setting.num_full} full steps for {setting.model}; run "
            "Calibrate for it with this number, which searches one, and choose its file in the "
            "input calibration"
        )
    return Plan(found, Reuse(), 0.0)


def _fitted(name: str, setting: Setting) -> Any:
    return ALL[name].fitted(setting)


def _full_of(setting: Setting) -> int:
    if setting.num_full is None:
        raise ValueError("a planned method needs a number of full steps; choose a speed")
    return setting.num_full


def _uniform(setting: Setting) -> Schedule:
    """Spaced as the seed paper spaces images and videos."""
    rule = uniform if is_video(setting.family) else image_uniform
    return rule(setting.num_steps, _full_of(setting))


METHODS: dict[str, Method] = {
    row.name: row
    for row in (
        Method(
            "SeaCache",
            "arXiv 2602.18993",
            "summed change of the spectrally filtered input of the first block",
            Reuse(),
            select=lambda threshold, s: accumulating.SeaCache(
                threshold, raw_if_forced=s.family == "FLUX"
            ),
        ),
        Method(
            "TeaCache",
            "arXiv 2411.19108",
            "summed change of the first block's input, through a fitted polynomial",
            Reuse(),
            needs="a polynomial",
            published=lambda s: polynomial_for(s.family, s.architecture, bool(s.time_changes)),
            read=Polynomial.read,
            select=_teacache,
            first_full=lambda s: 1 if s.time_changes is None else 5,
        ),
        Method(
            "SenCache",
            "arXiv 2602.24208",
            "distance from the last full step in latent and time, times measured sensitivities",
            Reuse(),
            needs="sensitivities",
            read=lambda v: Sensitivities(*(tuple(v[n].tolist()) for n in ("sigmas", "jx", "jt"))),
            select=_sencache,
            first_full=lambda s: 3 if is_video(s.family) else 1,
        ),
        Method(
            "DiCache",
            "arXiv 2508.17356",
            "summed change of the first block's output",
            TwoAnchor(),
            select=lambda threshold, s: accumulating.DiCache(threshold),
            first_full=lambda s: (
                int((0.1 if s.cache_ratio > s.of_family(DICACHE_TENTH) else 0.2) * s.num_steps) + 1
            ),
        ),
        Method(
            "TaylorSeer",
            "arXiv 2503.06923",
            "uniform spacing",
            Taylor(1),
            plan=lambda s: Plan(_uniform(s), Taylor(1), 0.0),
        ),
        Method(
            "HiCache",
            "arXiv 2508.16984",
            "uniform spacing",
            Hermite(2),
            plan=lambda s: Plan(_uniform(s), Hermite(2), 0.0),
        ),
        Method(
            "L2P",
            "arXiv 2604.26365",
            "uniform spacing",
            CausalLinear(torch.zeros(1, 1)),  # the plan's has the weights
            needs="products of outputs",
            read=lambda values: Products(values["gram"], values.get("held_out")),
            plan=_l2p,
        ),
        Method(
            "DPCache",
            "arXiv 2602.22654",
            "cheapest path through errors of predicted features",
            TokenTaylor(2),
            needs="costs of jumps",
            read=lambda values: values["costs"],
            plan=lambda s: plan_dpcache(_fitted("DPCache", s), _full_of(s)),
        ),
        Method(
            "BudCache",
            "arXiv 2606.13496",
            "annealing of the final latent's error",
            Reuse(),
            needs="schedules",
            read=lambda values: {int(n): Schedule.parse(text) for n, text in values.items()},
            plan=_budcache,
        ),
        Method(
            "MeanCache",
            "arXiv 2601.19961",
            "cheapest path through errors of mean velocities",
            MeanVelocity(),
            needs="costs of jumps",
            read=lambda values: values["costs"],
            plan=lambda s: plan_meancache(_fitted("MeanCache", s), _full_of(s)),
        ),
    )
}

CONTROLS: dict[str, Method] = {
    row.name: row
    for row in (
        Method(
            "EasyCache",
            "H-EmbodVis/EasyCache",
            "summed change of the latent, times how strongly the output followed it last",
            OffsetReuse(),
            select=lambda threshold, s: EasyCache(threshold),
            first_full=lambda s: max(1, round(s.of_family(FIRST_FULL) * s.num_steps)),
        ),
        Method(
            "MagCache",
            "Zehong-Ma/MagCache",
            "measured ratios of residuals, the same in every run",
            Reuse(),
            needs="residual ratios",
            published=lambda s: magnitudes_for(s.family, s.architecture),
            read=lambda values: Magnitudes(tuple(values["0"].tolist())),
            select=_magcache,
        ),
        Method(
            "First Block Cache",
            "ParaAttention",
            "change of the first block's residual since the last full step",
            RestReuse(),
            select=lambda threshold, s: FirstBlockCache(threshold),
        ),
    )
}

# Other forms of the ten, with the fits of these and thresholds of their own.
L2P_OWN, GREEDY = "L2P (full steps only)", "DPCache (greedy)"
TEACACHE_RAW = "TeaCache (as published)"
VARIANTS: dict[str, Method] = {
    row.title: row
    for row in (
        # Those of the authors' codes, where these differ from the seed paper's.
        replace(
            METHODS["TeaCache"],
            form="as published",
            rule="as TeaCache, with the polynomial as it is, negative too",
            select=partial(_teacache, exact=True),
            last_full=lambda s: s.time_changes is None,
        ),
        replace(
            METHODS["DiCache"],
            form="as published for Wan",
            rule="as DiCache, a fifth of the steps full at first, the last one if the rule says so",
            policy=TwoAnchor(max_gamma=2.0),
            first_full=lambda s: int(0.2 * s.num_steps),
            last_full=lambda s: False,
        ),
        replace(
            METHODS["DiCache"],
            form="delta minus",
            rule="summed difference of the changes before and behind the first block",
            select=lambda threshold, s: accumulating.DeltaMinus(threshold),
            first_full=lambda s: 1,
        ),
        replace(METHODS["L2P"], form="full steps only", plan=partial(_l2p, full_steps_only=True)),
        replace(
            METHODS["DPCache"],
            form="greedy",
            plan=lambda s: plan_dpcache(_fitted("DPCache", s), _full_of(s), greedy=True),
        ),
    )
}

ALL = METHODS | VARIANTS | CONTROLS
ADAPTIVE = tuple(name for name, method in ALL.items() if method.is_adaptive)
