"""Contestants of a search, from the inputs of *Schedule Search*."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...gph_core.files.condition_diff import plain
from ...gph_core.paths.choice import choose, spacing
from ...gph_core.paths.golden_path import SEARCHED
from ...gph_core.paths.library import bundled_paths
from ...gph_core.paths.spacings import even, spacings
from ...gph_core.policies.base import Policy, Site
from ...gph_core.policies.extrapolation import Reuse
from ...gph_core.policies.fitted import Fitted
from ...gph_core.schedule import Schedule
from ...gph_core.search.log import StudyLog
from ...gph_core.search.prefix import PrefixMemory
from ...gph_core.search.protocol import Contestant
from ...gph_core.search.selection import Control, PlainSteps
from ...gph_core.search.setup import search_space
from ..fitted.fitted_examples import FittedExamples
from ..fitted.fitted_validation import FittedValidation
from ..fitted.sampler_steps import steps_of
from ..hook import compatibility, conditions, fingerprint, samplers, starting
from ..sample.assessing import Assessor, assessor_for, files_behind, visible
from ..sample.examples import Example, sampling_of
from ..sample.guider import conditions_of
from ..sample.measuring import SampledExamples
from ..sample.workload import Workload
from ..semantic.judges import SemanticMetrics
from ..workers.pool import Pool
from ..workers.pooled_examples import PooledExamples, PooledFitted
from ..workers.worker import SCORING, VALIDATION
from . import study_logs
from .search_live import SearchLive

Sampled = SampledExamples | PooledExamples


@dataclass(frozen=True)
class SearchSession:
    """Inputs of a search that stay constant.

    Args:
        examples: examples that schedules are scored on.
        validation: examples that choose among the best; none: the scoring examples.
        vae, lpips: what the objective's metrics are computed with, see ``assessing``.
        state_bytes: of states that are kept, for all policies together.
        fixed_ends: see ``search_space``.
        semantic: judges of the images, with the guard of the search.
        pool: workers that have the examples; none: they are sampled here.
    """

    guider: Any
    examples: Sequence[Example]
    validation: Sequence[Example]
    latent: Mapping[str, Any]
    sampler: Any
    sigmas: Any
    objective: str
    vae: Any
    lpips: str
    num_full: int
    batch: int
    state_bytes: float
    study: str
    live: SearchLive
    fixed_ends: bool | None = None
    semantic: SemanticMetrics | None = None
    pool: Pool | None = None

    @property
    def num_steps(self) -> int:
        return len(self.sigmas) - 1

    @property
    def workload(self) -> Workload:
        """Scoring examples, for the control runs of workers."""
        return Workload(self.guider, self.examples, self.latent, self.sampler, self.sigmas)

    @cached_property
    def assessor(self) -> Assessor:
        """Assessor of the metrics; errors as of ``assessor_for``, which may load large weights."""
        return assessor_for(self.objective, self.vae, self.lpips, self.semantic)

    @property
    def path_name(self) -> str:
        """Name of the path in the library: a study may serve several numbers of full steps."""
        return f"{self.study}, {self.num_full} of {self.num_steps}"

    def contestants(self, policies: Sequence[Policy]) -> Iterator[Contestant]:
        """Contestants: the policies with the same examples, and their files."""
        scoring, validation = self._parts()
        self._log("study", self.examples).close()  # refuses a study of other settings
        for policy in policies:
            share = self.state_bytes / len(policies)
            if isinstance(policy, Fitted):
                yield self._fitted(policy, scoring, validation, share)
                continue
            yield Contestant(
                policy,
                scoring.under(policy, PrefixMemory(share) if share else None),
                self._log("scoring", self.examples, policy),
                self.baselines(policy),
                validation.under(policy) if self.validation else None,
                self._log("validation", self.validation, policy) if self.validation else None,
            )

    def _fitted(
        self,
        policy: Fitted,
        scoring: Sampled,
        validation: Sampled,
        state_bytes: float,
    ) -> Contestant:
        """Contestant whose weights are fitted to every schedule that is scored."""
        space = search_space(self.num_steps, self.num_full, policy, self.fixed_ends)
        if isinstance(scoring, SampledExamples):
            memory = PrefixMemory(state_bytes) if state_bytes else None
            fitted = FittedExamples(scoring.under(policy), self.fitted_for, memory)
        else:
            assert self.pool is not None
            fitted = PooledFitted(self.pool, self.fitted_for)
        return Contestant(
            policy, fitted, self._log("scoring", self.examples, policy), {},
            FittedValidation(validation, fitted.policy_for) if self.validation else None,
            self._log("validation", self.validation, policy) if self.validation else None,
            self._spacings(space.required_full),
            list(self._controls(validation if self.validation else scoring)),
        )  # fmt: skip

    @cached_property
    def fitted_for(self) -> dict[str, Any]:
        """Conditions of weights that are fitted here."""
        shape, levels = self.latent["samples"].shape, self.sigmas.tolist()
        return plain(conditions.conditions_of(self.guider, self.sampler, levels, shape))

    def _spacings(self, required: Collection[int]) -> list[Schedule]:
        """Schedules to begin with: first what a run takes without weights, if it may."""
        taken = next(iter(self.baselines(Reuse(Site.GUIDED)).values()))
        begin = [taken] if set(required) <= set(taken.full_steps) else []
        spaced = spacings(self.num_steps, self.num_full, required)
        return list(dict.fromkeys([*begin, *spaced]))

    def _controls(self, examples: Sampled) -> Iterator[Control]:
        """Uniform reuse and as many plain steps, beside a policy that has its own schedules."""
        part, known = ("validation" if self.validation else "scoring"), self.validation
        known = known or self.examples

        def control(name: str, schedule: Schedule, policy: Policy) -> Control:
            under, log = examples.under(policy), self._log(part, known, policy)
            return Control(name, schedule, policy, under, log)

        for reuse in (Reuse(), Reuse(Site.GUIDED)):  # the latter where the blocks are not known
            if self.incompatibility(reuse) is None:
                for name, schedule in self.baselines(reuse).items():
                    yield control(name, schedule, reuse)
                break
        plain = even(self.num_steps, self.num_full)
        yield control(f"{self.num_full} plain steps", plain, PlainSteps())

    def baselines(self, policy: Policy) -> dict[str, Schedule]:
        """Baselines: uniform spacing, and the schedule that *Golden Path Cache* would choose."""
        run = starting.conditions_of(self.guider, self.sigmas.tolist(), policy)
        chosen = choose(run, self.num_full, bundled_paths())
        baselines = {
            chosen.origin.replace(f"{SEARCHED}: ", ""): chosen.schedule,
            "uniform spacing": spacing(self.num_steps, self.num_full, policy.min_anchors),
        }
        # The part of a path that a run with noise left takes may have another number.
        return {n: s for n, s in baselines.items() if s.num_full == self.num_full}

    def incompatibility(self, policy: Policy) -> str | None:
        """Reason why a policy cannot cache this workflow, or None."""
        if self.num_full <= policy.min_anchors:
            return (
                f"{policy} needs {policy.min_anchors} full first steps and one more, but only "
                f"{self.num_full} steps are full; choose another policy or more full steps"
            )
        reason = compatibility.incompatibility(
            policy, self.guider.model_patcher, self.sampler, self.sigmas.tolist()
        )
        if reason is None and isinstance(policy, Fitted):
            try:
                steps_of(self.sampler, self.sigmas.tolist(), self.guider.model_patcher)
            except ValueError as error:
                return str(error)
        return reason

    def described(self) -> dict[str, Any]:
        """Readable conditions of a path that is found."""
        return {
            "sampler": samplers.name(self.sampler),
            "cfg": getattr(self.guider, "cfg", None),
            "latent": list(visible(self.latent["samples"]).shape[1:]),
            "objective": self.objective,
        }

    def _parts(self) -> tuple[Sampled, Sampled]:
        """The scoring examples, and the validation examples."""
        if self.pool is None:
            return self.sampled(self.examples), self.sampled(self.validation)
        scoring, validation = (
            PooledExamples(self.pool, part, Reuse()) for part in (SCORING, VALIDATION)
        )
        return scoring, validation

    def sampled(self, examples: Sequence[Example]) -> SampledExamples:
        """Some examples with the search's settings, under residual reuse."""
        prepare = sampling_of(examples, self.guider, self.latent, self.sampler, self.sigmas)
        batch = 1 if samplers.is_stochastic(self.sampler) else self.batch
        found = SampledExamples(
            len(examples), prepare, Reuse(), self.assessor, None, batch, self.live.on_run,
            self.live.on_reference,
        )  # fmt: skip
        if batch < self.batch:
            found.references.note(
                "the sampler adds noise that depends on the batch, so examples are sampled one "
                "by one"
            )
        return found

    def _log(
        self, part: str, examples: Sequence[Example], policy: Policy | None = None
    ) -> StudyLog:
        """Memory of one policy, or of the conditions that all have in common."""
        counts = f"{self.num_full} of {self.num_steps}"
        return study_logs.opened(self.study, part, self.conditions, examples, policy, counts)

    @cached_property
    def conditions(self) -> dict[str, Any]:
        """What a study has throughout."""
        examples = (*self.examples, *self.validation)
        fixed = conditions_of(self.guider, examples, self.latent, self.sampler, self.sigmas)
        judged = {} if self.semantic is None else {
            "guard": str(self.semantic.guard),
            "VAE": fingerprint.of_module(self.vae),
            **self.semantic.conditions([example.prompt for example in examples]),
        }  # fmt: skip
        return {
            **fixed,
            "objective": self.objective,
            **files_behind(self.objective, self.vae, self.lpips),
            **judged,
        }
