"""The *Coverage* node: how often one schedule comes near the best one of each prompt."""

from __future__ import annotations

import logging
from typing import Any

from comfy_api.latest import io

from ...gph_core.quality import reports
from ...gph_core.quality.margin_choice import DERIVED, OWN, PUBLISHED, margins_of, values_of
from ...gph_core.quality.objective import OBJECTIVES
from ...gph_core.reports import coverage_report, figures
from ..schema.inputs import check_known, metric_input, reports_of, shootouts_input
from ..schema.node import Node
from ..schema.summary import fingerprint, json_text, summary_output
from ..schema.types import ANALYSIS

NAME = "Coverage"
_LOG = logging.getLogger(__name__)


class Coverage(Node):
    """Count the prompts of shootouts on which one schedule is within margins of the best."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="GPH_Coverage",
            display_name=NAME,
            category=ANALYSIS,
            description=(
                "Tells how well one fixed schedule serves all prompts: the share of prompts on "
                "which each schedule of Method Shootout comes close to the best one for that "
                "prompt, with lower bounds. Adaptive methods are compared with the same best "
                "schedules. It samples nothing."
            ),
            search_aliases=["transfer", "margin", "per-prompt best", "statistics", "shared"],
            is_output_node=True,
            inputs=[
                shootouts_input(
                    "JSON of Method Shootout, with at least two fixed schedules. Connect several "
                    "to add policies, prompts or numbers of full steps of one model and setting. "
                    "Each number of full steps gets its own table.",
                    fewest=1,
                ),
                metric_input("Measures how close an image is. All shootouts must have it."),
                io.Combo.Input(
                    "margins",
                    options=[PUBLISHED, DERIVED, OWN],
                    default=PUBLISHED,
                    tooltip=(
                        "How far from the best still counts as close. published: the GPH paper's "
                        "margins. derived: half, one and two times what one more cached step "
                        "costs here; this needs shootouts with two numbers of full steps. values "
                        "below: your own margins."
                    ),
                ),
                io.String.Input(
                    "values",
                    default="0.25, 0.5, 1",
                    tooltip=(
                        f"Only for {OWN!r}: margins in units of the metric, dB for PSNR. Larger "
                        "margins cover more prompts."
                    ),
                ),
            ],
            outputs=[
                io.Image.Output(display_name="figure", tooltip="Shares and their lower bounds."),
                io.String.Output(display_name="table"),
                io.String.Output(display_name="JSON", tooltip="All figures."),
            ],
        )  # fmt: skip

    @classmethod
    def check_inputs(cls, margins: str | None = None, values: str | None = None) -> None:
        check_known((values_of, values if margins == OWN else None))
        if margins not in (None, PUBLISHED, DERIVED, OWN):
            raise ValueError(
                f"margins are {PUBLISHED}, {DERIVED} or {OWN!r}, not {margins!r}; choose one of "
                "these"
            )

    @classmethod
    def fingerprint_inputs(cls, **inputs) -> Any:
        return fingerprint()

    @classmethod
    def execute(
        cls, shootouts: io.Autogrow.Type, metric: str, margins: str, values: str
    ) -> io.NodeOutput:  # fmt: skip
        figures.require()
        tables = reports.tables(reports_of(shootouts), OBJECTIVES[metric])
        chosen = margins_of(margins, values, metric, tables)
        report = coverage_report.report_of(tables, metric, chosen)
        text = coverage_report.table(report)
        _LOG.info("%s:\n%s", NAME, text)
        return io.NodeOutput(
            coverage_report.figure(report),
            text,
            json_text(report),
            ui=summary_output(text),
        )
