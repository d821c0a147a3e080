"""Reading of the JSON of *Method Shootout*, which users can keep and edit as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...files import forms, strict_json
from ...quality.comparison import IDENTICAL
from ...quality.reports import ADAPTIVE, FIXED, FORMAT, FULL, PLAIN
from ...schedule import Schedule

_SHAPE = {
    "conditions": dict,
    "full_steps": int,
    "prompts": [{"example": str, "prompt": str}],
    "rows": [{
        "name": str, "kind": str, "plan": str, "policy": (str, None), "comparable": bool,
        "schedules": [{"schedule": str}],
        "metrics": {...: {"values": [(*forms.NUMBER, str, None)]}},
    }],
}  # fmt: skip


def read(text: str) -> dict[str, Any]:
    """The report in a text; ``ValueError`` if there is none of this format."""
    try:
        report = strict_json.loads(text)
    except ValueError:
        report = None
    if not isinstance(report, dict) or report.get("format") != FORMAT:
        raise ValueError(
            "the text is no JSON of Method Shootout of this version; connect its JSON, and queue "
            "it again if an older version made it (it samples nothing that it knows)"
        )
    forms.check(report, _SHAPE, "the report")
    for row in report["rows"]:
        _check_row(row, len(report["prompts"]))
    return report


def _check_row(row: Mapping[str, Any], num_examples: int) -> None:
    """Raise ``ValueError`` that names the row if it does not fit the rest."""
    where = f"the row {row['name'][:50]!r} of the report"
    if row["kind"] not in (FULL, FIXED, ADAPTIVE, PLAIN):
        raise ValueError(f"{where} is of the kind {row['kind'][:50]!r}, which is none")
    if not row["schedules"]:
        raise ValueError(f"{where} has no schedule")
    for entry in row["schedules"]:
        try:
            Schedule.parse(entry["schedule"])
        except ValueError as error:
            raise ValueError(f"{where} has no schedule that can be read: {error}") from error
    for metric, found in row["metrics"].items():
        values = found["values"]
        if row["kind"] != FULL and len(values) != num_examples:
            raise ValueError(
                f"{where} has {len(values)} values of {metric[:50]}, of {num_examples} examples"
            )
        if wrong := [v for v in values if isinstance(v, str) and v != IDENTICAL]:
            raise ValueError(f"{where} has the value {wrong[0][:50]!r} of {metric[:50]}")
