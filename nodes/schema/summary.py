"""Summary of an analysis, shown on its node after a run."""

from __future__ import annotations

from typing import Any

from . import prompts


def summary_output(text: str) -> dict[str, list[dict[str, str | None]]]:
    """Node ``ui`` with a text, which the page shows in that workflow alone."""
    return {"gph_summary": [{"text": text, "workflow_id": prompts.current().workflow_id}]}


def fingerprint(*facts: Any) -> tuple[Any, ...]:
    """Fingerprint that reruns a node, beside its inputs, for other facts or another workflow."""
    return prompts.current().workflow_id, *facts
