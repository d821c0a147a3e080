"""The user's recordings, and the runs of examples for them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from comfy.samplers import KSAMPLER

from ...gph_core.experiments.jobs import Answer
from ...gph_core.experiments.recording import Recording
from ...gph_core.files import states_file, whole_file
from ...gph_core.paths.library import NONE
from ...gph_core.policies.base import Site
from ...gph_core.policies.extrapolation import Reuse
from ...gph_core.run import record_file
from ...gph_core.run.record_file import RecordedRun
from ...gph_core.run_plan import RunPlan, fixed
from ...gph_core.schedule import Schedule
from ..hook import fingerprint, samplers
from ..library.user_files import UserFiles
from ..sample.progress import Progress
from ..sample.sampler_variants import reporting_states
from ..sample.sampling import check_finite
from ..sample.workload import Workload

FILES = UserFiles("runs", "/runs.jsonl")


def read(name: str) -> tuple[RecordedRun, ...]:
    """Read all runs of a recording; ``ValueError`` if there is none of that name."""
    if not (path := FILES.readable(name)).is_file():
        raise ValueError(
            f"you have no recording {name!r}; run Record Runs, or choose another from the list"
        )
    return tuple(record_file.read(path))


def check_choice(name: str) -> None:
    """Raise ``ValueError`` unless a choice is a recording or stands for none."""
    if name not in (NONE, *FILES.names()):
        raise ValueError(f"you have no recording {name!r}; choose another from the list")


class Trajectories(NamedTuple):
    """Runs of a recording that keeps their states."""

    recording: str
    runs: tuple[RecordedRun, ...]

    def states(self, run: RecordedRun) -> states_file.States:
        """States of one of the runs; ``ValueError`` if they were not kept."""
        path = states_path(FILES.readable(self.recording), run.example)
        if not path.is_file():
            raise ValueError(
                f"the recording {self.recording!r} has no states for the run with seed "
                f"{run.seed}; choose a recording of Record Trajectory, or of Record Runs with "
                "keep_latents on"
            )
        return states_file.States(path)


def states_path(recording: Path, example: str) -> Path:
    """File of a run's states, by the file of its recording and the name of its example.

    ``ValueError`` for a name that leads to another folder.
    """
    if Path(example).name != example:
        raise ValueError(
            f"{recording} has a run of the example {example[:50]!r}, which names no file; delete "
            "its line, and record it again"
        )
    return recording.parent / "latents" / f"{example}.safetensors"


def names_with_states() -> list[str]:
    """Names of the recordings that keep the states of their runs."""
    return [name for name in FILES.names() if (FILES.readable(name).parent / "latents").is_dir()]


@dataclass(frozen=True)
class RecordedRuns:
    """Runs of examples under one plan, sampled here or by a worker.

    Args:
        plan: None for full runs.
        keeps_signals: keep what an adaptive method compared with its threshold.
        keeps_latents: keep the states of each run in a file of its own.
    """

    workload: Workload
    plan: RunPlan | None
    name: str
    keeps_signals: bool
    keeps_latents: bool

    def __post_init__(self) -> None:
        sampler = self.workload.sampler
        if self.keeps_latents and not (
            isinstance(sampler, KSAMPLER) and samplers.tells_states(samplers.name(sampler))
        ):
            raise ValueError(
                f"the sampler {samplers.name(sampler) or type(sampler).__name__} does not report "
                "the states of its steps; choose another sampler, or Record Runs without "
                "keep_latents"
            )

    @property
    def recording(self) -> Recording:
        """The recording of this name, which these runs complete."""
        file = FILES.path_of(self.name)

        def keep_states(example: str, states: bytes) -> None:
            whole_file.write(states_path(file, example), states)

        return Recording(self.workload, file, self._conditions, keep_states)

    @property
    def conditions(self) -> dict[str, Any]:
        """Conditions that are the same on every worker."""
        return self._conditions | {"examples": self.workload.names()}

    def job(self, number: int, progress: Progress | None = None) -> Iterator[Answer]:
        """Run of an example in JSON, and the bytes of its states if the caller is to save them."""
        callback = progress and progress.callback(self.workload.num_steps)
        if progress is not None:  # in this process: states of a video may not fit into memory
            file = states_path(FILES.path_of(self.name), self.workload.names()[number])
            yield self._answer(number, file, callback)
            return
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "states"
            answer = self._answer(number, file, callback)
            states = file.read_bytes() if self.keeps_latents else None
        yield answer._replace(result=(answer.result[0], states))

    def _answer(self, number: int, file: Path, callback: Callable | None) -> Answer:
        run = self._sampled(number, file, callback)
        result = json.dumps(record_file.to_data(run)), None
        return Answer(result, len(run.record.full_steps))

    def _sampled(self, number: int, file: Path, callback: Callable | None) -> RecordedRun:
        """Run of an example; its states are saved to ``file`` if they are kept."""
        work = self.workload
        example, sampling = work.examples[number], work.sampling(number)
        with self._states(file) as on_state:
            if on_state is not None:
                sampling = replace(sampling, sampler=reporting_states(sampling.sampler, on_state))
            latent, record = sampling.under(self._plan, callback)
            check_finite(latent, record)
        if not self.keeps_signals:
            record = replace(record, gate_values=())
        return RecordedRun(work.names()[number], example.prompt, example.seed, record)

    @property
    def _plan(self) -> RunPlan:
        # On outputs: it works with models whose blocks are not known.
        full = Schedule.all_full(self.workload.num_steps)
        return self.plan or fixed(full, Reuse(Site.OUTPUT))

    def _states(self, file: Path):
        if not self.keeps_latents:
            return nullcontext()
        return states_file.writing(file, self.workload.num_steps + 1)

    @property
    def _conditions(self) -> dict[str, Any]:
        work = self.workload
        choice = work.setup.choice_of(self._plan)
        return {
            **work.run_conditions,
            "method": choice.origin if choice.gate else "fixed schedule",
            "schedule": str(choice.schedule),
            "policy": fingerprint.of_policy(choice.policy),
            "rule": fingerprint.of_values(repr(choice.gate)),
            "keep_signals": self.keeps_signals,
            "keep_latents": self.keeps_latents,
        }
