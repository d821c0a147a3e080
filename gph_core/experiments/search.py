"""Search of a golden path on examples: which policies take part, from where, beside what."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..files.condition_diff import plain
from ..paths.choice import choose
from ..paths.golden_path import SEARCHED
from ..paths.library import bundled_paths
from ..paths.spacings import even, spacing, spacings
from ..policies.base import Policy, Site
from ..policies.extrapolation import Reuse
from ..policies.fitted import Fitted
from ..run_plan import by_count
from ..schedule import Schedule
from ..search.protocol import Contestant, Delivery, Listener, SearchSettings, find_path
from ..search.selection import Control, PlainSteps
from ..search.setup import search_space
from ..texts import counted
from .examples import UnderFits, UnderPolicy
from .runner import Runner, Setup
from .study_logs import SCORING, VALIDATION, StudyLogs

ONE_EXAMPLE = (
    "there is only one scoring example: the path that suits it best may not suit other prompts; "
    "connect more"
)


@dataclass(frozen=True)
class SearchSession:
    """What stays constant in a search.

    Args:
        scoring: examples that schedules are scored on.
        validation: examples that choose among the best; empty: the scoring examples.
        state_bytes: of states that are kept, for all policies together.
        folder: of temporary files.
        fixed_ends: see ``search_space``.
        learned: schedules of paths that were learned for this workflow; the search for fitted
            weights begins with them.
    """

    setup: Setup
    scoring: Runner
    validation: Runner
    logs: StudyLogs
    num_full: int
    state_bytes: float
    folder: Path
    fixed_ends: bool | None = None
    learned: Sequence[Schedule] = ()

    @property
    def num_steps(self) -> int:
        return self.setup.num_steps

    def incompatibility(self, policy: Policy) -> str | None:
        """Reason why a policy cannot cache this workflow, or None."""
        if self.num_full <= policy.min_anchors:
            return (
                f"{policy} needs {policy.min_anchors} full first steps and one more, but only "
                f"{self.num_full} steps are full; choose another policy or more full steps"
            )
        reason = self.setup.incompatibility(policy)
        if reason is None and isinstance(policy, Fitted):
            try:
                self.scoring.steps()
            except ValueError as error:
                return str(error)
        return reason

    def contestants(self, policies: Sequence[Policy]) -> Iterator[Contestant]:
        """Policies with the same examples, and their files."""
        self.logs.check()
        share = self.state_bytes / len(policies)
        for policy in policies:
            if isinstance(policy, Fitted):
                yield self._fitted(policy, share)
            else:
                scoring = UnderPolicy(self.scoring, policy, share)
                validation = UnderPolicy(self.validation, policy)
                yield self._contestant(policy, scoring, validation, self.baselines(policy))

    def _fitted(self, policy: Fitted, state_bytes: float) -> Contestant:
        """Contestant whose weights are fitted to every schedule that is scored."""
        space = search_space(self.num_steps, self.num_full, policy, self.fixed_ends)
        fits = UnderFits(
            self.scoring, self.scoring.steps(), self.fitted_for, self.folder, state_bytes
        )
        validation = UnderPolicy(self.validation, policy, policy_for=fits.policy_for)
        starts, controls = self._spacings(space.required_full), list(self._controls())
        return self._contestant(policy, fits, validation, {}, starts, controls)

    def _contestant(
        self, policy: Policy, scoring: UnderPolicy | UnderFits, validation: UnderPolicy,
        baselines: Mapping[str, Schedule], starts: Sequence[Schedule] = (),
        controls: Sequence[Control] = (),
    ) -> Contestant:  # fmt: skip
        log, validates = self.logs.of(SCORING, policy), len(self.validation) > 0
        return Contestant(
            policy, scoring, log, baselines, validation if validates else None,
            self.logs.of(VALIDATION, policy) if validates else None, starts, controls,
        )  # fmt: skip

    @cached_property
    def fitted_for(self) -> dict[str, Any]:
        """Conditions of weights that are fitted here."""
        return plain(self.setup.conditions)

    def _spacings(self, required: Collection[int]) -> list[Schedule]:
        """Schedules to begin with: learned ones and that of velocity reuse by a speed, if they may.

        Then spacings by rules.
        """
        taken = next(iter(self.baselines(Reuse(Site.GUIDED)).values()))
        first = [s for s in (*self.learned, taken) if set(required) <= set(s.full_steps)]
        spaced = spacings(self.num_steps, self.num_full, required)
        return list(dict.fromkeys([*first, *spaced]))

    def _controls(self) -> Iterator[Control]:
        """Reuse, the default without a path and as many plain steps, beside fitted weights."""
        runner, part = (self.validation, VALIDATION) if len(self.validation) else (
            self.scoring, SCORING,
        )  # fmt: skip

        def control(name: str, schedule: Schedule, policy: Policy) -> Control:
            log = self.logs.of(part, policy)
            return Control(name, schedule, policy, UnderPolicy(runner, policy), log)

        for reuse in (Reuse(), Reuse(Site.GUIDED)):  # the latter where the blocks are not known
            if self.incompatibility(reuse) is None:
                for name, schedule in self.baselines(reuse).items():
                    yield control(name, schedule, reuse)
                break
        default = self.setup.choice_of(by_count(self.num_full, None, ()))
        if default.schedule.num_full == self.num_full and default.policy != Reuse():
            yield control("without a path", default.schedule, default.policy)
        few = even(self.num_steps, self.num_full)
        yield control(f"{self.num_full} plain steps", few, PlainSteps())

    def baselines(self, policy: Policy) -> dict[str, Schedule]:
        """Baselines: uniform spacing, and the schedule that a speed takes with this policy."""
        chosen = choose(self.setup.known(policy), self.num_full, bundled_paths())
        baselines = {
            chosen.origin.replace(f"{SEARCHED}: ", ""): chosen.schedule,
            "uniform spacing": spacing(self.num_steps, self.num_full, policy.min_anchors),
        }
        # The part of a path that a run with noise left takes may have another number.
        return {n: s for n, s in baselines.items() if s.num_full == self.num_full}


def search(
    session: SearchSession, policies: Sequence[Policy], settings: SearchSettings,
    listener: Listener, in_order: bool = False,
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
    notes = [ONE_EXAMPLE] if len(session.scoring) == 1 else []
    notes += [f"{policy} was left out: {reason}" for policy, reason in reasons.items() if reason]
    with ExitStack() as open_logs:
        contestants = []
        for contestant in session.contestants(possible):
            contestants.append(contestant)
            logs = (contestant.scores, contestant.validated, *(c.log for c in contestant.controls))
            for log in filter(None, logs):
                open_logs.enter_context(closing(log))
        delivery = find_path(contestants, session.num_steps, settings, listener)
        fits = {c.policy: c.scoring for c in contestants if isinstance(c.scoring, UnderFits)}
        if (fit := fits.get(delivery.best.policy)) is not None:
            policy = fit.policy_for(delivery.best.schedule)
            delivery = delivery._replace(best=delivery.best._replace(policy=policy))
            examples = counted(len(fit), "scoring example")
            notes.append(f"fitted: each cached step has its own weights, fitted to all {examples}")
    notes += [*session.scoring.notes, *session.validation.notes]
    return delivery, list(dict.fromkeys(notes))
