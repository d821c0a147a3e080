"""The methods: how each chooses its full steps and how it predicts the others. One row each.

An *adaptive* method decides during the run, by a threshold; a *planned* one chooses a schedule
before any run, for a number of full steps. ``METHODS`` has the ten methods of the GPH paper,
``VARIANTS`` other forms of these, ``BASELINES`` rules that users know from elsewhere.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from ..gates import accumulating
from ..gates.accumulating import DICACHE_TENTH
from ..gates.coefficients import Magnitudes, Polynomial, magnitudes_for, polynomial_for
from ..gates.easycache import FIRST_FULL, EasyCache
from ..gates.first_block import FirstBlockCache
from ..gates.sensitivity import Sensitivities
from ..model.families import is_video
from ..planning.dpcache import plan_near_published as plan_dpcache
from ..planning.meancache import SPANS
from ..planning.meancache import plan_near_published as plan_meancache
from ..planning.planners import Plan
from ..policies.causal_linear import CausalLinear
from ..policies.extrapolation import Hermite, Reuse, Taylor, TokenTaylor
from ..policies.mean_velocity import MeanVelocity
from ..policies.reuse import OffsetReuse, RestReuse
from ..policies.two_anchor import TwoAnchor
from ..schedule import Schedule
from . import rules
from .method import Method
from .rules import L2P_OWN

METHODS: dict[str, Method] = {
    row.name: row
    for row in (
        Method(
            "SeaCache",
            "arXiv 2602.18993",
            "summed change of the first block's input after a spectral filter",
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
            select=lambda threshold, s: rules.teacache(METHODS["TeaCache"], threshold, s),
            first_full=lambda s: 1 if s.time_changes is None else 5,
        ),
        Method(
            "SenCache",
            "arXiv 2602.24208",
            "distance from the last full step in latent and time, times measured sensitivities",
            Reuse(),
            needs="sensitivities",
            read=lambda v: Sensitivities(*(tuple(v[n].tolist()) for n in ("sigmas", "jx", "jt"))),
            select=lambda threshold, s: rules.sencache(METHODS["SenCache"], threshold, s),
            first_full=lambda s: 3 if is_video(s.family) else 1,
        ),
        Method(
            "DiCache",
            "arXiv 2508.17356",
            "summed change of the first block's output",
            TwoAnchor(),
            select=rules.by_threshold(accumulating.DiCache),
            first_full=lambda s: (
                int((0.1 if s.cache_ratio > s.of_family(DICACHE_TENTH) else 0.2) * s.num_steps) + 1
            ),
        ),
        Method(
            "TaylorSeer",
            "arXiv 2503.06923",
            "uniform spacing",
            Taylor(1),
            plan=lambda s: Plan(rules.spaced(s), Taylor(1), 0.0),
        ),
        Method(
            "HiCache",
            "arXiv 2508.16984",
            "uniform spacing",
            Hermite(2),
            plan=rules.hicache,
        ),
        Method(
            "L2P",
            "arXiv 2604.26365",
            "uniform spacing",
            CausalLinear(torch.zeros(1, 1)),  # the plan's has the weights
            needs="products of outputs",
            read=rules.products_in,
            plan=lambda s: rules.l2p(METHODS["L2P"], s),
        ),
        Method(
            "DPCache",
            "arXiv 2602.22654",
            "cheapest path through errors of predicted features",
            TokenTaylor(2),
            needs="costs of jumps",
            read=rules.costs_in,
            plan=lambda s: plan_dpcache(rules.costs(METHODS["DPCache"], s), rules.num_full(s)),
        ),
        Method(
            "BudCache",
            "arXiv 2606.13496",
            "annealing of the final latent's error",
            Reuse(),
            needs="schedules",
            read=lambda values: {int(n): Schedule.parse(text) for n, text in values.items()},
            plan=rules.budcache,
        ),
        Method(
            "MeanCache",
            "arXiv 2601.19961",
            "cheapest path through errors of mean velocities",
            MeanVelocity(),
            needs="costs of jumps",
            read=lambda values: rules.costs_in(values, len(SPANS)),
            plan=lambda s: plan_meancache(rules.costs(METHODS["MeanCache"], s), rules.num_full(s)),
        ),
    )
}

BASELINES: dict[str, Method] = {
    row.name: row
    for row in (
        Method(
            "EasyCache",
            "H-EmbodVis/EasyCache",
            "summed change of the latent, times how strongly the output last responded to it",
            OffsetReuse(),
            select=rules.by_threshold(EasyCache),
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
            select=lambda threshold, s: rules.magcache(BASELINES["MagCache"], threshold, s),
        ),
        Method(
            "First Block Cache",
            "ParaAttention",
            "change of the first block's residual since the last full step",
            RestReuse(),
            select=rules.by_threshold(FirstBlockCache),
        ),
    )
}

# They use the fits of the ten, but have thresholds of their own.
GREEDY = "DPCache (greedy)"
TEACACHE_RAW = "TeaCache (as published)"
VARIANTS: dict[str, Method] = {
    row.title: row
    for row in (
        # As in the authors' codes, where these differ from the GPH paper's.
        replace(
            METHODS["TeaCache"],
            form="as published",
            rule="as TeaCache, but the polynomial is not limited to its range and may be negative",
            select=lambda threshold, s: rules.teacache(
                VARIANTS[TEACACHE_RAW], threshold, s, exact=True
            ),
            last_full=lambda s: s.time_changes is None,
        ),
        replace(
            METHODS["DiCache"],
            form="as published for Wan",
            rule=(
                "as DiCache, but the first fifth of the steps is full, and the rule decides the "
                "last one"
            ),
            policy=TwoAnchor(max_gamma=2.0),
            first_full=lambda s: int(0.2 * s.num_steps),
            last_full=lambda s: False,
        ),
        replace(
            METHODS["DiCache"],
            form="delta minus",
            rule="summed difference between the changes before and after the first block",
            select=rules.by_threshold(accumulating.DeltaMinus),
            first_full=lambda s: 1,
        ),
        replace(
            METHODS["L2P"],
            form="full steps only",
            plan=lambda s: rules.l2p(VARIANTS[L2P_OWN], s, full_steps_only=True),
        ),
        replace(
            METHODS["DPCache"],
            form="greedy",
            plan=lambda s: plan_dpcache(
                rules.costs(VARIANTS[GREEDY], s), rules.num_full(s), greedy=True
            ),
        ),
    )
}

ALL = METHODS | VARIANTS | BASELINES
ADAPTIVE = tuple(name for name, method in ALL.items() if method.is_adaptive)
