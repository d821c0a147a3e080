"""The *Trajectory Profile* node: common shape of recorded runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import comfy.model_management
import comfy.utils
import torch
from comfy_api.latest import io
from torch import Tensor

from ...gph_core.analysis.planes import angles_between, bases
from ...gph_core.analysis.profiles import Profile, check_alike, profile_of, spreads
from ...gph_core.analysis.trajectory import WINDOW, Parts, check_window
from ...gph_core.files.states_file import States
from ...gph_core.paths.library import NONE
from ...gph_core.reports import figures
from ...gph_core.reports.trajectory.figure import drawn
from ...gph_core.reports.trajectory.report import report_of, summary
from ...gph_core.run.record_file import RecordedRun
from ..record import recordings
from ..record.recordings import Trajectories
from ..schema.inputs import check_known
from ..schema.node import Node
from ..schema.summary import fingerprint, json_text, summary_output
from ..schema.types import ANALYSIS, TrajectoriesType

# The precision that states are assumed to have, by choice.
PRECISIONS = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}
_PASSES = 3  # over the states of a run: its shape, its rounding, its plane


class TrajectoryProfile(Node):
    """Profile recorded states in a figure and numbers."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="GPH_TrajectoryProfile",
            display_name="Trajectory Profile",
            category=ANALYSIS,
            description=(
                "Shows how recorded runs move from noise to image and how similar this movement "
                "is for all prompts: the distance from the straight line between noise and "
                "image, the length of each step, and where the direction changes."
            ),
            search_aliases=["trajectory", "curvature", "turning angle", "PCA", "analysis"],
            is_output_node=True,
            inputs=[
                io.Combo.Input(
                    "recording",
                    options=[NONE, *recordings.names_with_states()],
                    default=NONE,
                    tooltip=(
                        "All runs of a recording of Record Trajectory, or of Record Runs with "
                        "keep_latents. none: use the connected trajectories."
                    ),
                ),
                io.Int.Input(
                    "window",
                    default=WINDOW,
                    min=1,
                    max=500,
                    tooltip=(
                        "The turning angle at a state is measured over this number of steps on "
                        "either side. Larger: smoother and further above rounding, but less "
                        "detail."
                    ),
                ),
                io.Combo.Input(
                    "precision",
                    options=list(PRECISIONS),
                    default="float32",
                    tooltip=(
                        "For the turning angles that rounding alone causes. float32: as "
                        "recorded. bfloat16: as in the GPH paper."
                    ),
                    advanced=True,
                ),
                TrajectoriesType.Input(
                    "trajectories",
                    optional=True,
                    tooltip="Runs of Record Trajectory, instead of a recording.",
                ),
            ],
            outputs=[
                io.Image.Output(display_name="figure"),
                io.String.Output(display_name="JSON", tooltip="All numbers, also for each run."),
            ],
        )

    @classmethod
    def check_inputs(cls, recording: str | None = None) -> None:
        check_known((recordings.check_choice, recording))

    @classmethod
    def fingerprint_inputs(cls, recording: str | None = None, **inputs) -> Any:
        # Runs may have been added under the same name.
        return fingerprint(recordings.FILES.changed_at(recording))

    @classmethod
    def execute(
        cls, recording: str, window: int, precision: str, trajectories: Trajectories | None = None
    ) -> io.NodeOutput:  # fmt: skip
        figures.require()
        if (recording == NONE) == (trajectories is None):
            raise ValueError(
                "there must be one source of runs: either connect trajectories and set recording "
                "to none, or choose a recording and disconnect trajectories"
            )
        chosen = trajectories or Trajectories(recording, recordings.read(recording))
        states = _states(chosen, window)
        bar = comfy.utils.ProgressBar(_PASSES * sum(map(len, states)))
        parts = [_Watched(file, bar) for file in states]
        profiles = _profiles(chosen.runs, parts, window, PRECISIONS[precision])
        together = spreads(profiles)
        angles = _angles(profiles, parts)
        report = report_of(chosen.recording, chosen.runs, profiles, together, angles, precision)
        text = summary(report)
        return io.NodeOutput(
            drawn(report), json_text(report),
            ui=summary_output(text),
        )  # fmt: skip


class _Watched:
    """Parts of a file; reading one advances the bar, and can be cancelled."""

    def __init__(self, states: States, bar: comfy.utils.ProgressBar) -> None:
        self._states, self._bar = states, bar

    def __len__(self) -> int:
        return len(self._states)

    def __iter__(self) -> Iterator[Tensor]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, number: int) -> Tensor:
        comfy.model_management.throw_exception_if_processing_interrupted()
        part = self._states[number]
        self._bar.update(1)
        return part


def _states(trajectories: Trajectories, window: int) -> list[States]:
    """States of all runs; ``ValueError`` if they differ in length or size, or are too short."""
    if not trajectories.runs:
        raise ValueError(
            f"the recording {trajectories.recording!r} has no runs yet; queue Record Trajectory "
            "first"
        )
    states = [trajectories.states(run) for run in trajectories.runs]
    check_alike([s.num_states - 1 for s in states], [s.num_coordinates for s in states])
    check_window(states[0].num_states, window)
    return states


def _profiles(
    runs: Sequence[RecordedRun], parts: Sequence[Parts], window: int, dtype: torch.dtype
) -> list[Profile]:
    profiles = []
    for run, own in zip(runs, parts, strict=True):
        try:
            profiles.append(profile_of(own, window, dtype))
        except ValueError as error:
            raise ValueError(f"the run of {run.prompt!r} with seed {run.seed}: {error}") from error
    return profiles


def _angles(profiles: Sequence[Profile], parts: Sequence[Parts]) -> dict[tuple[int, int], float]:
    """First principal angles between the planes of runs, by their numbers."""
    flat = [n for n, profile in enumerate(profiles) if profile.plane.weights is not None]
    if len(flat) < 2:
        return {}
    planes = bases([parts[n] for n in flat], [profiles[n].plane for n in flat])
    return {(flat[a], flat[b]): angle for (a, b), angle in angles_between(planes).items()}
