"""The metrics: what each is called, which way is better, how it is written. One row each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from . import metrics

HIGHER, LOWER, NEITHER = 1, -1, 0


@dataclass(frozen=True, slots=True)
class Metric:
    """A row.

    Args:
        key: in logs and reports.
        title: for people, and for workflows as an objective.
        compute: takes reference and test, and the network of LPIPS where it needs that.
        better: HIGHER, LOWER, or NEITHER for a signed change whose best value is 0.
        form: of a value, without the unit.
        caption: form below a picture; empty where it does not stand there.
        of_latents: whether it compares latents instead of images.
        of_frames: whether it compares consecutive frames of a video, so that there is one value
            less than items.
        needs_network: whether it takes the network of LPIPS.
        saved: replaces ``compute`` where searches and shootouts compare images as they are saved.
        is_objective: whether something can be searched, or compared, by it.
    """

    key: str
    title: str
    compute: Callable[..., Tensor]
    better: int
    form: str
    unit: str = ""
    caption: str = ""
    of_latents: bool = False
    of_frames: bool = False
    needs_network: bool = False
    saved: Callable[..., Tensor] | None = None
    is_objective: bool = True

    @property
    def heading(self) -> str:
        """Title of a column of values."""
        return self.title + self.unit

    def text(self, value: float) -> str:
        """A value with its unit."""
        return self.form.format(value) + self.unit


METRICS: dict[str, Metric] = {
    row.key: row
    for row in (
        Metric(
            "psnr", "PSNR", metrics.psnr, HIGHER, "{:.2f}", " dB", caption="{:.2f} dB",
            saved=metrics.psnr_8bit,
        ),
        Metric(
            "psnr_8bit", "PSNR of 8 bit", metrics.psnr_8bit, HIGHER, "{:.2f}", " dB",
            is_objective=False,
        ),
        Metric("ssim", "SSIM", metrics.ssim, HIGHER, "{:.4f}", caption="SSIM {:.3f}"),
        Metric(
            "lpips", "LPIPS", metrics.lpips, LOWER, "{:.4f}", caption="LPIPS {:.3f}",
            needs_network=True,
        ),
        Metric("latent_mse", "latent MSE", metrics.latent_mse, LOWER, "{:.3g}", of_latents=True),
        Metric(
            "frame_psnr", "PSNR Δt", metrics.frame_psnr, HIGHER, "{:.2f}", " dB", of_frames=True,
            saved=metrics.frame_psnr_8bit,
        ),
        Metric(
            "frame_change", "LPIPS Δt", metrics.frame_change, NEITHER, "{:+.4f}", of_frames=True,
            needs_network=True, is_objective=False,
        ),
    )
}  # fmt: skip
BY_TITLE = {row.title: row for row in METRICS.values()}
OF_IMAGES = {key: row for key, row in METRICS.items() if not row.of_latents}
COMPARED = {key: row for key, row in METRICS.items() if row.is_objective}
OF_FRAMES = frozenset(key for key, row in METRICS.items() if row.of_frames)
CAPTIONS = {key: row.caption for key, row in METRICS.items() if row.caption}
