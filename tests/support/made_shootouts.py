"""Reports of shootouts as Method Shootout gives them, made by hand."""

from __future__ import annotations

import json
from typing import Any

from gph_core.quality import reports

CONDITIONS = {"model": "abc", "device": "this one", "noise levels": [1.0, 0.5, 0.0]}
REUSE, HERMITE, TAYLOR = "residual reuse", "Hermite order 2", "Taylor order 1"
EVEN, EARLY = "0,3,6,9/10", "0-2,9/10"


def row(
    name: str, psnr: list[Any], schedule: str = EVEN, policy: str | None = REUSE,
    kind: str = reports.FIXED, comparable: bool = True, **metrics: list[Any],
) -> dict[str, Any]:  # fmt: skip
    """What a way of sampling gave; values of other metrics by name."""
    values = {"psnr": psnr, **metrics}
    return {
        "name": name, "kind": kind, "plan": f"{kind} {schedule} {policy}", "policy": policy,
        "comparable": comparable, "schedules": [{"schedule": schedule, "share": 1.0}],
        "metrics": {metric: {"values": found} for metric, found in values.items()},
    }  # fmt: skip


def report(
    rows: list[dict[str, Any]], full_steps: int = 4, prompts: tuple[str, ...] = ("a", "b", "c"),
    seed: int = 0, **conditions: Any,
) -> dict[str, Any]:  # fmt: skip
    """A report of these rows and the full run, on prompts of one seed."""
    full = row("full", [], "0-9/10", None, reports.FULL)
    return {
        "format": reports.FORMAT, "conditions": CONDITIONS | conditions, "steps": 10,
        "full_steps": full_steps, "rows": [full, *rows],
        "prompts": [{"example": f"{seed} {p}", "prompt": p, "seed": seed} for p in prompts],
    }  # fmt: skip


def text(*args: Any, **kwargs: Any) -> str:
    """The same as text."""
    return json.dumps(report(*args, **kwargs))
