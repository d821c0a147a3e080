"""What an analysis hands out and shows: a summary on its node, its figures as JSON text."""

from __future__ import annotations

from typing import Any

from ...gph_core.files import strict_json
from . import prompts


def summary_output(text: str) -> dict[str, list[dict[str, str | None]]]:
    """Node ``ui`` with a text, which the page shows in that workflow alone."""
    return {"gph_summary": [{"text": text, "workflow_id": prompts.current().workflow_id}]}


def json_text(report: Any) -> str:
    """Text of a report; a figure that is not finite is null in it."""
    return strict_json.dumps(strict_json.finite(report), indent=2)


def fingerprint(*facts: Any) -> tuple[Any, ...]:
    """Fingerprint that reruns a node, beside its inputs, for other facts or another workflow."""
    return prompts.current().workflow_id, *facts
