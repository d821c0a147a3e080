"""The inputs of *Schedule Search*: what is searched, and what workers have to know about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import folder_paths

from ...gph_core.experiments.runner import Runner
from ...gph_core.experiments.search import SearchSession
from ...gph_core.experiments.study_logs import StudyLogs
from ...gph_core.files.names import check_name
from ...gph_core.paths.choice import choose_fitted
from ...gph_core.paths.golden_path import LEARNED, SEARCHED, GoldenPath, fall
from ...gph_core.policies.base import Policy
from ...gph_core.policies.extrapolation import Reuse
from ...gph_core.policies.fitted import Fitted
from ...gph_core.quality.metric_table import OF_FRAMES
from ...gph_core.quality.objective import metrics_of
from ...gph_core.schedule import Schedule
from ..hook import fingerprint, samplers
from ..library import user_paths
from ..library.library import stated_model
from ..sample.assessing import Assessor, assessor_for, files_behind, is_video, visible
from ..sample.examples import Example
from ..sample.runner import LocalRunner
from ..sample.workload import Workload
from ..schema import users
from ..semantic.judges import SemanticMetrics
from .search_live import SearchLive

SHORTEST = ", 2 of 3"  # shortest suffix that the name of a path adds to that of its study


@dataclass(frozen=True)
class SearchInputs:
    """Examples of a search, and how they are measured.

    Args:
        validation: may have no examples.
        vae, lpips: what the objective's metrics are computed with, see ``assessing``.
        semantic: judges of the images, with the guard of the search.
    """

    scoring: Workload
    validation: Workload
    objective: str
    vae: Any
    lpips: str
    batch: int = 1
    semantic: SemanticMetrics | None = None

    @property
    def workload(self) -> Workload:
        """Examples of the control runs of workers."""
        return self.scoring

    @property
    def examples(self) -> Sequence[Example]:
        """All examples, for scoring and for validation."""
        return (*self.scoring.examples, *self.validation.examples)

    @cached_property
    def assessor(self) -> Assessor:
        """Assessor of the metrics; errors as in ``assessor_for``, which may load large weights."""
        return assessor_for(self.objective, self.vae, self.lpips, self.semantic)

    @cached_property
    def conditions(self) -> dict[str, Any]:
        """Conditions that are the same throughout a study."""
        judged = {} if self.semantic is None else {
            "guard": str(self.semantic.guard),
            "VAE": fingerprint.of_module(self.vae),
            **self.semantic.conditions([example.prompt for example in self.examples]),
        }  # fmt: skip
        return {
            **replace(self.scoring, examples=self.examples).run_conditions,
            "objective": self.objective,
            **files_behind(self.objective, self.vae, self.lpips),
            **judged,
        }

    def runner(self, workload: Workload, live: SearchLive | None = None) -> LocalRunner:
        """Runner in this process for a part of the examples."""
        runner = LocalRunner(workload, self.assessor, self.batch)
        if live is not None:
            runner.references.on_run, runner.references.on_reference = (
                live.on_run,
                live.on_reference,
            )
        return runner

    def logs(self, study: str, num_full: int) -> StudyLogs:
        """Logs of a study, in the folder ``golden_path/studies`` of the current user."""
        of, parts = fingerprint.of_conditionings, (self.scoring, self.validation)
        scoring, validation = (
            [[e.prompt, e.seed, of(e.positive, e.negative)] for e in part.examples]
            for part in parts
        )
        counts = f"{num_full} of {self.scoring.num_steps}"
        return StudyLogs(
            studies_folder() / study, self.conditions, counts, scoring, validation,
            fingerprint.of_values,
        )  # fmt: skip

    def session(
        self, study: str, num_full: int, runners: tuple[Runner, Runner], state_bytes: float,
        fixed_ends: bool | None,
    ) -> SearchSession:  # fmt: skip
        """Session of a search whose examples are sampled by two runners."""
        return SearchSession(
            self.scoring.setup, *runners, self.logs(study, num_full), num_full, state_bytes,
            Path(folder_paths.get_temp_directory()), fixed_ends, self._learned(num_full),
        )  # fmt: skip

    def _learned(self, num_full: int) -> list[Schedule]:
        """Schedule of the path that a run here learned, if there is one."""
        paths = [path for path in user_paths.read() if path.origin == LEARNED]
        choice = choose_fitted(self.scoring.setup.known(Reuse()), num_full, paths)
        return [choice.schedule] if choice else []

    def described(self) -> dict[str, Any]:
        """Readable conditions of the resulting path."""
        work = self.scoring
        return {
            "sampler": samplers.name(work.sampler),
            "cfg": getattr(work.guider, "cfg", None),
            "latent": list(visible(work.samples).shape[1:]),
            "objective": self.objective,
        }

    def check(self, num_full: int) -> None:
        """Raise ``ValueError`` if the inputs allow no search; it says what to change."""
        work = self.scoring
        if not 2 <= num_full < work.num_steps:
            raise ValueError(
                f"{num_full} of {work.num_steps} steps would be full; a search needs at least 2 "
                "full and one cached step: choose another speed or full_steps, or use more sigmas"
            )
        of_frames = OF_FRAMES.intersection(metrics_of(self.objective))
        if of_frames and not is_video(work.samples, self.vae):
            raise ValueError(
                f"{self.objective} compares consecutive frames of a video, but here a latent is "
                "one image; choose another objective, such as PSNR, or connect the latent and the "
                "VAE of a video"
            )
        if self.semantic is not None:
            self.semantic.check([example.prompt for example in self.examples], self.vae)
        same = [
            example for example in self.validation.examples
            if any(_is_same(example, scored) for scored in work.examples)
        ]  # fmt: skip
        if same:
            raise ValueError(
                f"{len(same)} of the validation examples are also scoring examples, so they "
                "validate nothing: use other prompts or seeds there"
            )

    def check_saving(self, name: str, policies: Sequence[Policy]) -> None:
        """Raise ``ValueError`` if the resulting path could not be saved, before hours are lost.

        Checked in its place is a path with everything but the schedule and weights.
        """
        setup = self.scoring.setup
        for policy in policies:
            fitted = Fitted(conditions=setup.conditions) if isinstance(policy, Fitted) else policy
            path = GoldenPath(
                name, Schedule.all_full(setup.num_steps), SEARCHED, fitted,
                sigmas=tuple(setup.sigmas) if fall(setup.sigmas) else (),  # others are refused
                conditions=self.described(), **stated_model(setup.patcher),
            )  # fmt: skip
            user_paths.library().checked(path)


def studies_folder() -> Path:
    """Folder of the logs of studies: ``golden_path/studies`` of the current user."""
    return users.own_folder() / "studies"


def check_study(study: str) -> None:
    """Raise ``ValueError`` if no path of a study could be saved under its name."""
    check_name(study)
    check_name(study + SHORTEST)


def _is_same(first: Example, second: Example) -> bool:
    if first.seed != second.seed:
        return False
    if first.prompt and second.prompt:
        return first.prompt == second.prompt
    of = fingerprint.of_conditionings
    return of(first.positive) == of(second.positive)  # a ready conditioning has no prompt
