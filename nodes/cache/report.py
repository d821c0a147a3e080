"""Reports of a run: log lines, events for the page, data in saved images."""

from __future__ import annotations

import logging
from typing import Any

from ...gph_core.files.strict_json import finite
from ...gph_core.paths.conditions import Choice
from ...gph_core.paths.golden_path import LEARNED, GoldenPath
from ...gph_core.run.active_run import ActiveRun
from ...gph_core.run.record import RunRecord
from ..hook import compatibility
from ..schema import prompts
from ..schema.users import SERVERS
from . import last_reports

EVENT = "golden_path.run"
_LOG = logging.getLogger(__name__)


def _can_be_forgotten(path: GoldenPath) -> bool:
    """Whether a path was learned by the user, not by the server for all."""
    return path.origin == LEARNED and not path.name.startswith(SERVERS)


class Reporter:
    """Reports the runs of one cache node.

    Args:
        node_id: its execution id. In a loop every round has a copy of the node; all report as one.
        title: its name in the log.
    """

    def __init__(self, node_id: str | None, title: str = "Golden Path Cache") -> None:
        self._node_id = prompts.displayed(node_id)
        self._title = title
        self._prompt = prompts.Prompt(None, None)
        self._run = 0  # number within the prompt
        self._learned = ""  # name of what the run at hand has learned before

    def off(self) -> None:
        """Report that the node caches nothing; its runs are not reported."""
        self._begin()
        self._send("off")

    def planned(self, line: str, choice: Choice) -> None:
        """Report that a run begins."""
        _LOG.info("%s: %s", self._title, line)
        self._begin()
        path, known = choice.path, self._learned
        self._learned = ""
        self._send(
            "planned",
            schedule=str(choice.schedule),
            is_open=choice.gate is not None,
            origin=choice.origin,
            line=line,
            learned=path.name if path and _can_be_forgotten(path) else known,
            learnable=choice.is_ruled and not known and bool(choice.schedule.num_cached),
        )

    def refused(self, reason: str) -> None:
        """Report that a run begins in full, and why."""
        line = compatibility.in_full(reason)
        _LOG.warning("%s: %s", self._title, line)
        self._begin()
        self._send("refused", line=line)

    def started(self, run: ActiveRun) -> None:
        """Ignore the start, which ``planned`` has reported."""

    def learned(self, name: str) -> None:
        """Name what was learned for the next run, if that uses no path."""
        self._learned = name

    def fitting(self, line: str) -> None:
        """Report that weights are being fitted: after a run, or before the first of a prompt."""
        prompt = prompts.current()
        if prompt.id != self._prompt.id:
            self._prompt, self._run = prompt, 0
        _LOG.info("%s: %s", self._title, line)
        self._send("fitting", line=line)

    def stepped(self, step: int, kind: str) -> None:
        """Report the kind of a step."""
        self._send("running", step=step, kind=kind)

    def finished(self, record: RunRecord) -> None:
        """Report the end of a run, complete or not."""
        summary = record.summary()
        _LOG.info("%s: %s", self._title, summary)
        report = record.to_dict()
        prompts.attach_report(self._prompt.workflow, self._node_id, self._run, report)
        self._send("done", summary=summary, record=report)

    def _begin(self) -> None:
        self._prompt = prompts.current()
        self._run = prompts.count_run(self._prompt, self._node_id)

    def _send(self, state: str, **detail: Any) -> None:
        """Send an event to the client that queued the prompt, and keep it for a reload."""
        payload = {
            "node_id": self._node_id,
            "workflow_id": self._prompt.workflow_id,
            "prompt_id": self._prompt.id,
            "run": self._run,
            "state": state,
            **detail,
        }
        last_reports.keep(finite(payload))
        prompts.tell(EVENT, payload)
