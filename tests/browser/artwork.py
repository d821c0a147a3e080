"""Draw the icon and the banner of the registry: python dev.py examples

The steps of a schedule as the page shows them, and a golden path through the full ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

import dev
from gph_core.schedule import Schedule

IMAGES = dev.ROOT / "docs" / "images"
DPI = 100
ICON, BANNER = (400, 400), (1260, 540)  # pixels; the registry wants a square and 21:9
# Of the page in its dark theme, see web/shared/golden_path.css and web/editor/schedule_grid.css.
GROUND, FULL, CACHED, GOLD, TEXT = "#1e1e1e", "#0b8ce9", "#4a4a4a", "#e69f00", "#dddddd"
SCHEDULE = Schedule.parse("0-4,6,8,10,14,19,30,43,49/50")


class Box(NamedTuple):
    """A rectangle, in pixels."""

    left: float
    top: float
    width: float
    height: float


def main() -> None:
    """Write both pictures."""
    icon = canvas(ICON)
    schedule = Schedule.parse("0-2,4,8,11,15/16")
    cells = [Box(30 + step % 4 * 85, 30 + step // 4 * 85, 85, 85) for step in range(16)]
    draw_cells(icon, schedule, cells)
    middles = [(cell.left + cell.width / 2, cell.top + cell.height / 2) for cell in cells]
    draw_path(icon, [middles[step] for step in schedule.full_steps], width=11)
    save(icon, IMAGES / "icon.png")

    banner = canvas(BANNER)
    banner.text(58, 120, "Golden Path", color=TEXT, fontsize=64, weight="bold", va="center")
    line = "Faster diffusion transformers with a fixed cache schedule"
    banner.text(62, 205, line, color=TEXT, fontsize=24, va="center")
    cells = [Box(60 + 22.8 * step, 420, 22.8, 60) for step in range(SCHEDULE.num_steps)]
    draw_cells(banner, SCHEDULE, cells)
    draw_path(banner, [level(cells[step], step) for step in SCHEDULE.full_steps], width=5)
    save(banner, IMAGES / "banner.png")


def level(cell: Box, step: int) -> tuple[float, float]:
    """Place of a step's noise level above its cell, of a flow model with shift 3."""
    time = 1 - step / SCHEDULE.num_steps
    return cell.left + cell.width / 2, cell.top - 20 - 140 * 3 * time / (1 + 2 * time)


def canvas(size: tuple[int, int]) -> Axes:
    """An empty picture whose coordinates are pixels from the top left."""
    width, height = size
    figure = Figure((width / DPI, height / DPI), dpi=DPI, facecolor=GROUND)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    return axes


def draw_cells(axes: Axes, schedule: Schedule, cells: Sequence[Box]) -> None:
    """Draw a cell for each step of a schedule."""
    for step, cell in enumerate(cells):
        gap, radius = cell.width / 12, cell.width / 8
        axes.add_patch(
            FancyBboxPatch(
                (cell.left + gap, cell.top + gap), cell.width - 2 * gap, cell.height - 2 * gap,
                boxstyle=f"round,pad=0,rounding_size={radius}", linewidth=0,
                facecolor=FULL if step in schedule.full_steps else CACHED,
            )
        )  # fmt: skip


def draw_path(axes: Axes, points: Sequence[tuple[float, float]], width: float) -> None:
    """Draw a line through points, with a dot at each."""
    x, y = zip(*points, strict=True)
    axes.plot(x, y, color=GOLD, linewidth=width, marker="o", markersize=2.2 * width)


def save(axes: Axes, path: Path) -> None:
    """Write a picture as PNG."""
    assert isinstance(axes.figure, Figure)
    axes.figure.savefig(path, dpi=DPI, metadata={"Software": None})


if __name__ == "__main__":
    main()
