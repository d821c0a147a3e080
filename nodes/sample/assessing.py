"""Metrics of latents and decoded images, compared with the full run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ...gph_core.quality import metrics
from ...gph_core.quality.comparison import Figures, in_color
from ...gph_core.quality.metric_table import COMPARED, OF_FRAMES, OF_IMAGES, Metric
from ...gph_core.quality.objective import Metrics, metrics_of
from ...gph_core.quality.semantic.guard import with_changes
from ..hook import fingerprint
from ..semantic.judges import SemanticMetrics
from . import lpips_weights
from .sampling import NOT_FINITE, check_finite

# Takes reference and test images of one item, ``[F, C, H, W]`` in [0, 1]; returns ``[F]``.
ImageMetric = Callable[[Tensor, Tensor], Tensor]
_IN_8_BIT = frozenset((metrics.psnr_8bit, metrics.frame_psnr_8bit))


class Output(NamedTuple):
    """Output of a run, item by item: latents and, with a VAE, images."""

    latents: list[Tensor]
    images: list[Tensor]  # [F, C, H, W] in [0, 1] or 8 bit, F frames of a video; none without a VAE
    scores: Sequence[Metrics] = ()  # by judges of images; none without judges


@dataclass(frozen=True)
class Assessor:
    """Computes the metrics that an objective needs.

    Args:
        vae: decodes latents; without a VAE, only the latent error can be computed.
        image_metrics: by name.
        semantic: judges of images by their prompts.
    """

    vae: Any | None
    image_metrics: Mapping[str, ImageMetric]
    semantic: SemanticMetrics | None = None

    def result(self, latent, prompts: Sequence[str] = ()) -> Output:
        """Latents, images and scores of a batch; for a video with sound, of the video only.

        Args:
            prompts: of the items, for judges.
        """
        latents = list(visible(latent).float())
        if self.vae is None or not (self.image_metrics or self.semantic):
            return Output(latents, [])
        frames = decode(self.vae, latent)
        low, high = frames.aminmax()
        if not (low >= 0 and high <= 1):  # clamping would copy a large video
            frames = frames.clamp(0, 1)
        images = [item.movedim(-1, 1)[:, :3] for item in frames]
        if self.semantic is None:
            return Output(latents, images)
        pairs = zip(images, prompts, strict=True)
        return Output(latents, images, [self.semantic.scores(*pair) for pair in pairs])

    def reference(self, latent, prompts: Sequence[str] = ()) -> Output:
        """Result of a full run, to keep; its images are in 8 bit if all metrics compare them so.

        SSIM and LPIPS compare images as they are. Raises ``ValueError`` for non-finite values.
        """
        check_finite(latent)
        output = self.result(latent, prompts)
        if not all(frame.isfinite().all() for item in output.images for frame in item):
            raise ValueError(NOT_FINITE)
        if not _IN_8_BIT.issuperset(self.image_metrics.values()):
            return output
        return output._replace(images=[_in_8_bit(item) for item in output.images])

    def metrics(self, test: Output, reference: Output) -> list[Metrics]:
        """Metrics of every item; for videos, means over the frames.

        As in ``comparison``, a mean leaves out identical frames, unless all are identical.
        """
        measured: list[dict[str, float]] = [
            {"latent_mse": float(metrics.latent_mse(a[None], b[None]))}
            for a, b in zip(test.latents, reference.latents, strict=True)
        ]
        for values, a, b in zip(measured, test.images, reference.images, strict=False):
            for name, metric in self.image_metrics.items():
                # One by one: LPIPS of all frames of a video at once would fill any device.
                frames = zip(_parts(b, name), _parts(a, name), strict=True)
                values[name] = Figures(tuple(float(metric(*pair)) for pair in frames)).mean
        for values, scores in zip(
            measured, zip(test.scores, reference.scores, strict=True), strict=False
        ):
            values |= with_changes(*scores)
        return list[Metrics](measured)


def _parts(images: Tensor, name: str) -> Iterator[Tensor]:
    """Frames of an item that a metric compares at once: each, or each pair of neighbours."""
    size = 1 + (name in OF_FRAMES)
    for first in range(max(1, len(images) + 1 - size)):  # a metric refuses a single frame itself
        yield _in_floats(images[first : first + size])


def _in_8_bit(images: Tensor) -> Tensor:
    """Images in [0, 1], rounded to 8 bit as in ``psnr_8bit`` and in saved files."""
    rounded = torch.empty_like(images, dtype=torch.uint8)
    for kept, frame in zip(rounded, images, strict=True):
        kept.copy_((255 * frame.double()).round())
    return rounded


def _in_floats(images: Tensor) -> Tensor:
    """Images as floats in [0, 1], also if they are kept in 8 bit."""
    return images.float() / 255 if images.dtype == torch.uint8 else images


def visible(latent) -> Tensor:
    """Visible part of latents; for a video with sound, the video."""
    return latent.unbind()[0] if latent.is_nested else latent


def is_video(latent, vae) -> bool:
    """Whether latents decode to several frames each; without a VAE, judged by their shape."""
    samples = visible(latent)
    has_time = samples.ndim == 5 and samples.shape[2] > 1  # [B, C, T, H, W]
    return has_time and getattr(vae, "latent_dim", 3) == 3  # a VAE of images decodes one frame only


def decode(vae, latent) -> Tensor:
    """Decode latents to images, ``[B, F, H, W, C]``; F is 1 unless they are videos."""
    decoded = in_color(vae.decode(visible(latent)))  # [B, H, W, C] from a VAE of images
    return decoded if decoded.ndim == 5 else decoded.unsqueeze(1)


def _rows(objective: str) -> list[Metric]:
    """Metrics of images that an objective needs."""
    return [OF_IMAGES[key] for key in metrics_of(objective) if key in OF_IMAGES]


def assessor_for(
    objective: str, vae, lpips: str, semantic: SemanticMetrics | None = None
) -> Assessor:
    """Assessor of an objective's metrics; ``ValueError`` or ``OSError`` if a part is missing."""
    rows = _rows(objective)
    if rows and vae is None:
        raise ValueError(
            f"{objective} compares images: connect vae, or choose the objective latent MSE"
        )
    try:
        return Assessor(vae, {row.key: image_metric(row, lpips)[0] for row in rows}, semantic)
    except ValueError as error:
        raise ValueError(f"{objective} needs the weights of LPIPS: lpips is {error}") from error


def image_metric(row: Metric, lpips: str) -> tuple[ImageMetric, str | None]:
    """Metric of saved images, and the name of its network if it has one.

    Raises:
        ImportError, OSError, ValueError: the network of LPIPS is missing.
    """
    compute = row.saved or row.compute
    if not row.needs_network:
        return compute, None
    network, backbone = lpips_weights.network(lpips)
    return partial(compute, network=network), backbone


def files_behind(objective: str, vae, lpips: str) -> dict[str, str]:
    """Fingerprints of the files that an objective's metrics depend on."""
    rows = _rows(objective)
    files = {"VAE": fingerprint.of_module(vae)} if rows else {}
    if any(row.needs_network for row in rows):
        files["LPIPS weights"] = lpips_weights.file_name(lpips)
    return files


def assessor_of(
    vae, lpips: str, video: bool = False, semantic: SemanticMetrics | None = None
) -> tuple[Assessor, dict[str, str], str | None]:
    """Assessor of all metrics that can be measured, why others cannot, and LPIPS's network.

    For images, metrics of consecutive frames are left out without a reason.
    """
    rows = [
        row for key, row in COMPARED.items() if key in OF_IMAGES and (video or not row.of_frames)
    ]
    if vae is None:
        needs = "it compares images: connect vae"
        return Assessor(None, {}), {row.key: needs for row in rows}, None
    measurable: dict[str, ImageMetric] = {}
    unavailable, network = {}, None
    blank = torch.zeros(2, 3, metrics.SSIM_WINDOW, metrics.SSIM_WINDOW)
    for row in rows:
        try:
            metric, backbone = image_metric(row, lpips)
            if backbone is None:
                metric(blank, blank)  # its package may be missing
        except (ImportError, OSError, ValueError) as error:
            unavailable[row.key] = str(error)
            continue
        measurable[row.key], network = metric, network or backbone
    return Assessor(vae, measurable, semantic), unavailable, network
