"""Pictures of a comparison: the error in colours, and reference, test and error side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from . import figures

COLORMAP = "inferno"  # perceptually even, also for the colour-blind and in print
BAND = 26  # pixels below a strip, for its texts
BAR = 6  # pixels of it for the scale of the colours
BACKGROUND, TEXT = "#202020", "#e8e8e8"
FONT_SIZE = 11  # pixels, where there is room
LEAST = 0.7  # smallest share of it, before a part of a text is left out
SEPARATOR = " · "  # between the parts of a text


def error(reference: Tensor, test: Tensor) -> Tensor:
    """Mean absolute difference of the channels, ``[B, H, W]``, of images ``[B, H, W, C]``."""
    errors = reference.new_empty(reference.shape[:-1])
    for item, one, other in zip(errors, reference, test, strict=True):  # a video is large
        item.copy_((one - other).abs().mean(-1))
    return errors


def heat_map(errors: Tensor, scale: float) -> Tensor:
    """Errors as colours, ``[B, H, W, 3]``: black is none, pale yellow is ``scale`` and more."""
    palette = colors().to(errors.device)
    pictures = palette.new_empty(*errors.shape, 3)
    for item, colored in zip(errors, pictures, strict=True):
        colored.copy_(palette[shades(item, scale).int()])
    return pictures


def shades(errors: Tensor, scale: float) -> Tensor:
    """Numbers of the errors' colours, as bytes: 0 is none, 255 is ``scale`` and more."""
    return (255 * (errors / scale).clamp(0, 1)).round().byte()


def strip(panels: Sequence[Tensor], captions: Sequence[Sequence[str]], scale: float) -> Tensor:
    """The panels of each item side by side, ``[B, H + BAND, W * panels, 3]``.

    Args:
        panels: reference, test and heat map, each ``[B, H, W, 3]``.
        captions: a text for each panel of each item; parts that do not fit are left out.
        scale: the error of the brightest colour, shown below the last panel.
    """
    count, height, width, channels = panels[0].shape
    # Filled in place: joining parts would take twice the memory.
    strips = panels[0].new_empty(count, height + BAND, width * len(panels), channels)
    for n, panel in enumerate(panels):
        strips[:, :height, n * width : (n + 1) * width] = panel
    for item, texts in zip(strips, captions, strict=True):
        item[height:] = _band(texts, width, scale)
    return strips


def _band(texts: Sequence[str], width: int, scale: float) -> Tensor:
    """``[BAND, width * len(texts), 3]``: the texts, and the scale of the colours below the last."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    dpi = 100
    figure = Figure((width * len(texts) / dpi, BAND / dpi), dpi, facecolor=BACKGROUND)
    canvas = FigureCanvasAgg(figure)
    style = {"color": TEXT, "va": "center", "fontsize": FONT_SIZE * 72 / dpi}
    height = (BAND + BAR) / 2 / BAND
    for n, text in enumerate(texts):
        label = figure.text((n + 0.5) / len(texts), height, text, ha="center", **style)
        _fit(label, 0.94 * width, canvas.get_renderer())
    band = figures.to_image(figure)[0]
    band[-BAR:, -width:] = heat_map(torch.linspace(0, scale, width).expand(BAR, width), scale)
    return band


def _fit(label, width: float, renderer) -> None:
    """Fit a text into its panel: leave its last parts out, then reduce the font."""
    while (wide := label.get_window_extent(renderer).width) > width / LEAST and (
        SEPARATOR in label.get_text()
    ):
        label.set_text(label.get_text().rpartition(SEPARATOR)[0])
    label.set_fontsize(label.get_fontsize() * min(1, width / wide))


def colors() -> Tensor:
    """Colours of a heat map, ``[256, 3]``, from black to pale yellow."""
    # Imported here: the pack loads without the package.
    from matplotlib import colormaps

    return torch.tensor(colormaps[COLORMAP](np.arange(256))[:, :3], dtype=torch.float32)
