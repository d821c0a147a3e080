"""Search with the inputs of *Schedule Search*, from the references to the delivered path."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing

from ...gph_core.policies.base import Policy
from ...gph_core.search.protocol import Delivery, SearchSettings, find_path
from ...gph_core.texts import counted
from ..fitted.fitted_examples import FittedExamples
from ..fitted.fitted_validation import FittedValidation
from ..sample.measuring import SampledExamples
from ..workers.pooled_examples import PooledExamples, PooledFitted
from .search_session import SearchSession

FITTING = FittedExamples, PooledFitted
WITH_NOTES = *FITTING, SampledExamples, FittedValidation, PooledExamples


def search(
    session: SearchSession, policies: Sequence[Policy], settings: SearchSettings,
    in_order: bool = False,
) -> tuple[Delivery, list[str]]:  # fmt: skip
    """Search, from the references to the delivered path; returns it with notes.

    Args:
        in_order: take only the first of the policies that can cache this workflow.

    Raises ``ValueError`` that says why, if no policy can cache this workflow.
    """
    reasons: dict[Policy, str | None] = {}
    for policy in policies:
        reasons[policy] = session.incompatibility(policy)
        if in_order and reasons[policy] is None:
            break
    possible = [policy for policy, reason in reasons.items() if reason is None]
    if not possible:
        raise ValueError(f"nothing can be searched: {reasons[policies[0]]}")
    session.live.enter("preparing")
    contestants = []
    with ExitStack() as logs:
        for work in session.contestants(possible):
            contestants.append(work)
            logs.enter_context(closing(work.scores))
            if work.validated is not None:
                logs.enter_context(closing(work.validated))
            for control in work.controls:
                logs.enter_context(closing(control.log))
        delivery = find_path(contestants, session.num_steps, settings, session.live)
        scoring = {work.policy: work.scoring for work in contestants}.get(delivery.best.policy)
        if isinstance(scoring, FITTING):
            fitted = scoring.policy_for(delivery.best.schedule)
            delivery = delivery._replace(best=delivery.best._replace(policy=fitted))
    notes = [f"{policy} was left out: {reason}" for policy, reason in reasons.items() if reason]
    if isinstance(scoring, FITTING):
        fitted_to = counted(len(scoring), "scoring example")
        notes.append(f"fitted: each cached step has its own weights, fitted to all {fitted_to}")
    for work in contestants:
        for examples in (work.scoring, work.validation):
            notes += examples.notes if isinstance(examples, WITH_NOTES) else []
    return delivery, list(dict.fromkeys(notes))
