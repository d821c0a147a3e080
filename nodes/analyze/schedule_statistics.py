"""The *Schedule Statistics* node: schedules of several methods, and policies on them."""

from __future__ import annotations

import logging
from typing import Any

from comfy_api.latest import io

from ...gph_core.quality import reports
from ...gph_core.quality.objective import OBJECTIVES
from ...gph_core.reports import figures, statistics_report
from ..schema.inputs import MOST, metric_input, reports_of, shootouts_input
from ..schema.node import Node
from ..schema.summary import fingerprint, json_text, summary_output
from ..schema.types import ANALYSIS, RunsType

NAME = "Schedule Statistics"
_LOG = logging.getLogger(__name__)


class ScheduleStatistics(Node):
    """Compare the schedules of recordings, and of shootouts if any."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        recorded = RunsType.Input("runs", tooltip="From Record Runs.")
        return io.Schema(
            node_id="GPH_ScheduleStatistics",
            display_name=NAME,
            category=ANALYSIS,
            description=(
                "Compares which schedules several methods choose and how concentrated their "
                "choices are. With shootouts under several policies, it also tells how much of "
                "the quality comes from the schedule, from the policy, and from how well they "
                "fit together. It samples nothing."
            ),
            search_aliases=["frequency", "entropy", "interaction", "recurrence", "statistics"],
            is_output_node=True,
            inputs=[
                io.Autogrow.Input(
                    "recordings",
                    io.Autogrow.TemplatePrefix(recorded, prefix="runs", min=1, max=MOST),
                    tooltip="Runs of Record Runs, one input per method.",
                ),
                metric_input("The metric of the shootouts. Without shootouts it has no effect."),
                shootouts_input(
                    "JSON of Method Shootout with the same schedules, one shootout per policy. "
                    "Unconnected: only the recordings are compared.",
                    fewest=0,
                ),
            ],
            outputs=[
                io.Image.Output(display_name="figure"),
                io.String.Output(display_name="table"),
                io.String.Output(display_name="JSON", tooltip="All figures."),
            ],
        )

    @classmethod
    def fingerprint_inputs(cls, **inputs) -> Any:
        return fingerprint()

    @classmethod
    def execute(
        cls, recordings: io.Autogrow.Type, metric: str, shootouts: io.Autogrow.Type | None = None
    ) -> io.NodeOutput:  # fmt: skip
        figures.require()
        tables = reports.tables(reports_of(shootouts), OBJECTIVES[metric])
        runs = [recorded for recorded in recordings.values() if recorded]
        report = statistics_report.report_of(runs, tables, metric)
        text = statistics_report.table(report)
        _LOG.info("%s:\n%s", NAME, text)
        return io.NodeOutput(
            statistics_report.figure(report),
            text,
            json_text(report),
            ui=summary_output(text),
        )
