"""The metrics: name, direction and format of each, a row for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from . import metrics
from .semantic import scores

HIGHER, LOWER, NEITHER = 1, -1, 0


@dataclass(frozen=True, slots=True)
class Metric:
    """A row.

    Args:
        key: its name in logs and reports.
        title: its name for people, and in workflows as an objective.
        compute: takes reference and test, and the network of LPIPS if needed. A judge's score takes
            what the judge gives, its change takes the scores of reference and test.
        better: HIGHER, LOWER, or NEITHER for a signed change whose best value is 0.
        form: format of a value, without the unit.
        caption: format below a picture; empty if not shown there.
        of_latents: whether it compares latents instead of images.
        of_frames: whether it compares consecutive frames of a video, with one value fewer.
        needs_network: whether it takes the network of LPIPS.
        judge: key of the score that it is, or is a change of, if a model of *Semantic Metrics*
            judges images by their prompts; else empty.
        saved: replaces ``compute`` where searches and shootouts compare images as saved.
        is_objective: whether searches and comparisons can use it.
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
    judge: str = ""
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
        Metric(
            "clip_score", "CLIP score", scores.clip_score, HIGHER, "{:.2f}", judge="clip_score",
            is_objective=False,
        ),
        Metric(
            "clip_change", "Δ CLIP", scores.clip_change, HIGHER, "{:+.2f}", judge="clip_score",
            caption="Δ CLIP {:+.2f}", is_objective=False,
        ),
        Metric(
            "image_reward", "ImageReward", scores.image_reward, HIGHER, "{:.3f}",
            judge="image_reward", is_objective=False,
        ),
        Metric(
            "reward_change", "Δ reward", scores.reward_change, HIGHER, "{:+.3f}",
            caption="Δ reward {:+.3f}", judge="image_reward", is_objective=False,
        ),
    )
}  # fmt: skip
BY_TITLE = {row.title: row for row in METRICS.values()}
JUDGED = {key: row for key, row in METRICS.items() if row.judge}
OF_IMAGES = {k: row for k, row in METRICS.items() if not (row.of_latents or row.judge)}
COMPARED = {key: row for key, row in METRICS.items() if row.is_objective}
OF_FRAMES = frozenset(key for key, row in METRICS.items() if row.of_frames)
# What the page needs to write values.
_PAGE_FIELDS = ("title", "form", "unit", "better", "needs_network", "of_frames")
PAGE_ROWS = {
    key: {field: getattr(row, field) for field in _PAGE_FIELDS} for key, row in METRICS.items()
}
CAPTIONS = {key: row.caption for key, row in METRICS.items() if row.caption}
