"""Output of an analysis: a summary on its node, and its figures as JSON text."""

from __future__ import annotations

from typing import Any

from ...gph_core.files import strict_json
from . import prompts


def summary_output(text: str) -> dict[str, list[dict[str, str | None]]]:
    """Node ``ui`` with a text, which the page shows only in the workflow that ran."""
    return {"gph_summary": [{"text": text, "workflow_id": prompts.current().workflow_id}]}


def json_text(report: Any) -> str:
    """JSON text of a report; non-finite figures become null."""
    return strict_json.dumps(strict_json.finite(report), indent=2)


def fingerprint(*facts: Any) -> tuple[Any, ...]:
    """Fingerprint that also reruns a node when the facts or the workflow change."""
    return prompts.current().workflow_id, *facts
