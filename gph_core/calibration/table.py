"""How each method is calibrated. One row each; a new one goes here.

A full run of an example gives a *sample*, small tensors that a file keeps; all samples together
give the values of the method. BudCache has no row, as it searches its schedules instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..files.forms import Form
from ..planning.meancache import SPANS
from ..policies.base import Policy, Site
from ..policies.extrapolation import Reuse
from ..policies.mean_velocity import MeanVelocity
from ..texts import counted
from . import planned, polynomial, residual_ratios, sensitivities
from .samples import Measured, RunFacts, Sample, Tensors

Facts = Mapping[str, Any]

# The conditions without which measured values mean nothing; thresholds need all of them.
OF_VALUES = ("family", "model")


def _number(facts: Facts) -> str:
    return counted(facts["num_examples"], "example")


class Recipe(NamedTuple):
    """Recipe for calibrating one method.

    Args:
        site: a policy of the site that it observes: what rules that out rules it out.
        sample: what collects the tensors of one run.
        form: of these tensors, for a run of N steps.
        values: values from the tensors of all examples.
        described: line from the values' report.
        refusal: why it cannot be calibrated on such runs; empty if it can.
        needed: conditions without which the values mean nothing.
    """

    site: Policy
    sample: Callable[[RunFacts], Sample]
    form: Callable[[int], Form]
    values: Callable[[Sequence[Tensors], RunFacts], Measured]
    described: Callable[[Facts], str] = _number
    refusal: Callable[[RunFacts], str] = lambda facts: ""
    needed: tuple[str, ...] = OF_VALUES


def _no_states(facts: RunFacts) -> str:
    if not facts.shows_states:
        return "the states of another extension's sampler cannot be read"
    if not facts.calls_once:
        return f"it needs a sampler that calls the model once per step, not {facts.sampler}"
    return ""


RECIPES = {
    "TeaCache": Recipe(
        Reuse(),
        lambda facts: polynomial.Changes(facts.num_steps, facts.times()),
        lambda n: Form(("x", "y"), (None, n - 1)),
        polynomial.values,
        polynomial.described,
        lambda facts: (
            f"the input of the first block of {facts.model} cannot be read"
            if facts.hides_input
            else ""
        ),
    ),
    "SenCache": Recipe(
        Reuse(Site.OUTPUT),
        lambda facts: sensitivities.Slopes(facts.num_steps),
        lambda n: Form(("sigmas", "jx", "jt"), (n,)),
        lambda samples, facts: sensitivities.table(samples),
        sensitivities.described,
        lambda facts: (
            f"its noise levels are those of flow models, 0 to 1, not {max(facts.levels):g}"
            if max(facts.levels) > 1
            else ""
        ),
        # Nobody has measured whether sensitivities are the same at other sizes.
        (*OF_VALUES, "latent"),
    ),
    "MagCache": Recipe(
        Reuse(),
        lambda facts: residual_ratios.Ratios(facts.num_steps),
        lambda n: Form((residual_ratios.LEADER,), (n,)),
        lambda samples, facts: residual_ratios.table(samples),
        residual_ratios.described,
    ),
    "L2P": Recipe(
        Reuse(Site.OUTPUT),
        lambda facts: planned.OutputProducts(facts.num_steps),
        lambda n: Form(("gram",), (n, n)),
        lambda samples, facts: planned.products(samples),
        planned.described,
    ),
    "DPCache": Recipe(
        Reuse(),
        planned.TokenJumps,
        lambda n: Form(("costs",), (n, n, n + 1), are_costs=True),
        lambda samples, facts: planned.costs(samples),
    ),
    "MeanCache": Recipe(
        MeanVelocity(),
        lambda facts: planned.StateJumps(facts.levels),
        lambda n: Form(("costs",), (len(SPANS), n, n + 1), are_costs=True),
        lambda samples, facts: planned.costs(samples),
        refusal=_no_states,
    ),
}


BUDCACHE = "BudCache"  # which searches its schedules


def described(method: str, facts: Facts) -> str:
    """Line on a method from the report of its calibration."""
    if method in RECIPES:
        return RECIPES[method].described(facts)
    if method == BUDCACHE:
        return _schedules(facts)
    return counted(facts["num_examples"], "example")


def _schedules(facts: Facts) -> str:
    return "; ".join(
        f"{count} full steps: {found['schedule']}, latent MSE {found['latent_mse']:.4g} on "
        f"{counted(found['examples'], 'example')}, best of {counted(found['scored'], 'schedule')}"
        for count, found in facts.items()
    )
