"""What an analysis found, as its node shows it after a run."""

from __future__ import annotations

from typing import Any

from . import prompts


def told(text: str) -> dict[str, list[dict[str, str | None]]]:
    """The ``ui`` of a node that tells a text; the page shows it in that workflow alone."""
    return {"gph_told": [{"text": text, "workflow_id": prompts.current().workflow_id}]}


def fingerprint(*facts: Any) -> tuple[Any, ...]:
    """What decides, beside its inputs, whether a node runs again: other facts, another workflow."""
    return prompts.current().workflow_id, *facts
