"""Results of a part: numbers, a figure, and its section of the report."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

DIGITS = 5
WIDTH, HEIGHT, DPI = 9, 4.5, 100  # 900 pixels across

# Okabe and Ito's, which colour-blind people tell apart.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
GRAY = "#999999"


def plain(data: Any) -> Any:
    """Convert NumPy's numbers and arrays to Python's, rounded to a few digits."""
    if isinstance(data, Mapping):
        return {str(key): plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple | np.ndarray):
        return [plain(value) for value in data]
    if isinstance(data, float | np.floating):
        return float(f"{data:.{DIGITS}g}")
    return data.item() if isinstance(data, np.generic) else data


def to_json(data: Mapping[str, Any]) -> str:
    """JSON with one line for each of the ``rows``."""
    others = [f"{json.dumps(k)}: {_line(v)}" for k, v in data.items() if k != "rows"]
    rows = ",\n".join(_line(row) for row in data["rows"])
    return "{" + ",\n".join([*others, f'"rows": [\n{rows}\n]']) + "}\n"


def _line(data: Any) -> str:
    return json.dumps(data, allow_nan=False, ensure_ascii=False)


def write(file: Path, text: str) -> None:
    """Write a file wholly or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name(f"{file.name}.{os.getpid()}")
    beside.write_text(text, "utf-8")
    beside.replace(file)


def draw(part, data: Mapping[str, Any], file: Path) -> None:
    """Draw the figure of a part into a file."""
    figure = Figure(figsize=(WIDTH, HEIGHT), dpi=DPI, layout="constrained")
    part.draw(data, figure)
    figure.savefig(file)


def summary(part, name: str, data: Mapping[str, Any]) -> str:
    """A part's numbers and its figure, as markdown for docs/study.md."""
    return f"{part.summary(data)}\n\n![{part.TITLE}](../benchmarks/results/study/{name}.png)"


def replaced(report: str, name: str, numbers: str) -> str:
    """A report with the numbers of a part, and its figure, between its marks."""
    first, last = marks(name)
    before, found, rest = report.partition(first)
    _, closed, after = rest.partition(last)
    if not (found and closed):
        raise ValueError(
            f"docs/study.md has no place for the numbers of {name}; write a section with the "
            f"lines {first} and {last}"
        )
    return f"{before}{first}\n{numbers}\n{last}{after}"


def numbers(report: str, name: str) -> str:
    """Text between the marks of a part."""
    first, last = marks(name)
    return report.partition(first)[2].partition(last)[0].strip("\n")


def marks(name: str) -> tuple[str, str]:
    """The lines around the numbers of a part."""
    return f"<!-- numbers of {name} -->", f"<!-- end of {name} -->"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Markdown table of a head and rows."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, cells))} |" for cells in lines)


def printed(rows: Iterable[dict]) -> list[dict]:
    """List of rows, each printed as soon as it is measured."""
    found = []
    for row in rows:
        print(json.dumps(row, ensure_ascii=False), flush=True)
        found.append(row)
    return found


def within(interval: Sequence[float] | None) -> str:
    """A mean difference and half of its interval: ``+0.31 ± 0.12``; empty without one."""
    return "" if interval is None else f"{interval[0]:+.2f} ± {interval[1]:.2f}"


def gain(values: Sequence[float], digits: int = 2) -> str:
    """A mean difference with its interval: ``+0.31 (+0.12 to +0.50)``."""
    mean, low, high = (f"{value:+.{digits}f}" for value in values)
    return f"{mean} ({low} to {high})"
