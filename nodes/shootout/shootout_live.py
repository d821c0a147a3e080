"""Live messages to the page while *Method Shootout* runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..schema import prompts

EVENT = "golden_path.shootout"


class ShootoutLive:
    """Live view of one shootout of ``total`` examples; ``node_id`` is the node's execution id."""

    def __init__(self, node_id: str | None, total: int) -> None:
        self._node_id = prompts.displayed(node_id)
        self._total = total
        self._workflow_id = prompts.current().workflow_id

    def runs(self, example: int, candidate: str) -> None:
        """Report that a run begins."""
        server = prompts.listening_server()
        if server is not None and self._node_id is not None:
            text = f"example {example + 1} of {self._total}: {candidate}"
            server.send_progress_text(text, self._node_id, server.client_id)

    def shows(self, report: Mapping[str, Any]) -> None:
        """Report one more finished example."""
        prompts.tell(EVENT, self.event(report))

    def event(self, report: Mapping[str, Any]) -> dict[str, Any]:
        """Event for the page with a report, without conditions and figures of single examples."""
        rows = [
            row | {"metrics": {name: _means(figures) for name, figures in row["metrics"].items()}}
            for row in report["rows"]
        ]
        more = {"rows": rows, "of_examples": self._total}
        shown = {name: report[name] for name in report if name not in ("prompts", "conditions")}
        return {**shown, **more, "node_id": self._node_id, "workflow_id": self._workflow_id}


def _means(figures: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in figures.items() if name != "values"}
