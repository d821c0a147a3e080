"""What figures share: strips of steps, colors, and conversion to an IMAGE."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..paths.golden_path import one_line
from ..schedule import Schedule

FULL, CACHED, EDGE = "#0072b2", "#e6e6e6", "#999999"  # which differ in brightness, too
# Of curves and marks: Okabe and Ito's, for all kinds of colour vision.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKERS = "osD^vP"
GAP = 0.1  # between cells, in steps


def require() -> None:
    """Raise ``ImportError`` that says what to install, before long work."""
    try:
        import matplotlib  # noqa: F401, imported to find out
    except ImportError as error:
        raise ImportError(
            "pictures and figures need the package matplotlib; install it with: "
            "pip install matplotlib"
        ) from error


def strip(axes, row: float, schedule: Schedule, width: float = 1.0) -> None:
    """A row of cells, one for each step: full ones dark, cached ones light and hatched."""
    kinds = (
        (schedule.full_steps, FULL, FULL, ""),
        (schedule.cached_steps, CACHED, EDGE, "////"),
    )
    for steps, color, edge, hatch in kinds:
        axes.barh(
            [row] * len(steps), width - GAP, left=[step * width for step in steps], height=0.7,
            color=color, edgecolor=edge, hatch=hatch, linewidth=0.4,
        )  # fmt: skip


def number_steps(axes, num_steps: int) -> None:
    """Number the cells of strips, or some of many."""
    from matplotlib.ticker import MaxNLocator

    steps = MaxNLocator(10, integer=True).tick_values(0, num_steps - 1)
    inside = [int(step) for step in steps if 0 <= step < num_steps]
    axes.set_xticks([step + (1 - GAP) / 2 for step in inside], inside)
    axes.set_xlim(0, num_steps)


def mark(number: int) -> dict[str, str]:
    """Color and marker of one of several curves; they repeat beyond six."""
    place = number % len(COLORS)
    return {"color": COLORS[place], "marker": MARKERS[place]}


def literal(text: str) -> str:
    """A foreign text for matplotlib, which takes dollars for formulas."""
    return one_line(text).replace("$", r"\$")


def to_image(figure) -> Tensor:
    """A matplotlib figure as an IMAGE, ``[1, H, W, 3]``."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    pixels = np.array(canvas.buffer_rgba())[..., :3]
    return torch.from_numpy(pixels).float().div(255).unsqueeze(0)
