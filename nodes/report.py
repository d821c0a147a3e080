"""What the user is told about a run: a log line before and after, and an event for the page."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from server import PromptServer

from ..gph_core.record import RunRecord

EVENT = "golden_path.run"
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reporter:
    """Reports the runs of one cache node; the ids let the page find the node in its workflow."""

    node_id: str | None
    workflow_id: str | None

    def planned(self, line: str) -> None:
        _LOG.info("Golden Path Cache: %s", line)

    def refused(self, reason: str) -> None:
        _LOG.warning("Golden Path Cache: %s", reason)

    def finished(self, record: RunRecord) -> None:
        """Log the outcome and send it to the client that queued the prompt."""
        summary = record.summary()
        _LOG.info("Golden Path Cache: %s", summary)
        server = getattr(PromptServer, "instance", None)
        if server is None or server.client_id is None:
            return
        payload = {
            "node_id": self.node_id,
            "workflow_id": self.workflow_id,
            "summary": summary,
            "record": record.to_dict(),
        }
        server.send_sync(EVENT, payload, server.client_id)
