"""The *Most Frequent Schedule* node: one fixed schedule from recorded runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from comfy_api.latest import io
from comfy_execution.graph_utils import ExecutionBlocker

from ...gph_core import texts
from ...gph_core.analysis.frequency import Frequencies
from ...gph_core.paths.library import NONE
from ...gph_core.policies.as_json import policy_from_json
from ...gph_core.policies.base import Policy
from ...gph_core.reports import figures, runs_report
from ...gph_core.run.record_file import RecordedRun
from ..schema.inputs import check_known
from ..schema.node import Node
from ..schema.types import METHODS, PolicyType, RunsType, ScheduleText, ScheduleType
from . import recordings


class MostFrequentSchedule(Node):
    """Find the most frequent schedule of runs, and their policy."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="GPH_MostFrequentSchedule",
            display_name="Most Frequent Schedule",
            category=METHODS,
            description=(
                "Finds the schedule that occurred most often in recorded runs. Use it to replace "
                "an adaptive method by a fixed schedule, which needs no work to decide: connect "
                "schedule and policy to Golden Path Cache and set its speed to Custom."
            ),
            search_aliases=["frequency", "statistics", "mode", "histogram", "adaptive"],
            inputs=[
                io.Combo.Input(
                    "recording",
                    options=[NONE, *recordings.FILES.names()],
                    default=NONE,
                    tooltip="All runs of a recording of Record Runs. none: use the connected runs.",
                ),
                io.Int.Input(
                    "full_steps",
                    default=0,
                    min=0,
                    max=1000,
                    tooltip=(
                        "Count only schedules with this number of full steps, if there are any. "
                        "More: slower, closer to the full run. 0: any number."
                    ),
                ),
                RunsType.Input(
                    "runs", optional=True, tooltip="Runs of Record Runs, instead of a recording."
                ),
            ],
            outputs=[
                ScheduleType.Output(display_name="schedule"),
                io.Float.Output(
                    display_name="frequency", tooltip="The schedule's share of all runs."
                ),
                io.String.Output(display_name="table"),
                io.Image.Output(display_name="figure"),
                PolicyType.Output(
                    display_name="policy", tooltip="How the recorded runs predicted cached steps."
                ),
            ],
        )

    @classmethod
    def check_inputs(cls, recording: str | None = None) -> None:
        check_known((recordings.check_choice, recording))

    @classmethod
    def fingerprint_inputs(cls, recording: str | None = None, **inputs) -> Any:
        # Runs may have been added under the same name.
        return recordings.FILES.changed_at(recording)

    @classmethod
    def execute(
        cls, recording: str, full_steps: int, runs: tuple[RecordedRun, ...] | None = None
    ) -> io.NodeOutput:  # fmt: skip
        if (recording == NONE) == (runs is None):
            raise ValueError(
                "there must be one source of runs: either connect runs and set recording to "
                "none, or choose a recording and disconnect runs"
            )
        counted = recordings.read(recording) if runs is None else runs
        frequencies = Frequencies.of(runs_report.complete(counted))
        num_steps = next(iter(frequencies.counts)).num_steps
        chosen = frequencies.most_frequent(num_steps - full_steps if full_steps else None)
        origin = f"most frequent of {texts.counted(frequencies.runs, 'run')}"
        table = runs_report.table(frequencies, chosen, full_steps, counted)
        return io.NodeOutput(
            ScheduleText(chosen, origin), frequencies.counts[chosen] / frequencies.runs, table,
            _or_why_not(_figure, frequencies), _or_why_not(_policy, counted),
        )  # fmt: skip


def _figure(frequencies: Frequencies) -> Any:
    figures.require()
    return runs_report.figure(frequencies)


def _policy(runs: Sequence[RecordedRun]) -> Policy:
    """Policy of all runs; ``ValueError`` if they have several, or do not contain it."""
    names = dict.fromkeys(run.record.policy for run in runs)
    saved = [run.record.policy_data for run in runs if run.record.policy_data is not None]
    if len(names) > 1 or any(data != saved[0] for data in saved):
        raise ValueError(
            f"the runs have several policies ({', '.join(names)}); record runs with only one policy"
        )
    if not saved:
        raise ValueError(
            f"the runs do not contain their policy ({', '.join(names)}), because it has weights "
            "or an older version recorded them; connect the policy of the node that it came from"
        )
    return policy_from_json(saved[0])


def _or_why_not(output: Callable[..., Any], *args: Any) -> Any:
    """Output, or else a block of only the nodes behind it, with the reason."""
    try:
        return output(*args)
    except (ImportError, ValueError) as error:
        return ExecutionBlocker(str(error))
