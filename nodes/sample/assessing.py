"""Metrics of latents and their decoded images against the full run."""

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

# ``[F, C, H, W]`` images in [0, 1] of one item, reference and test, to ``[F]``.
ImageMetric = Callable[[Tensor, Tensor], Tensor]
_IN_8_BIT = frozenset((metrics.psnr_8bit, metrics.frame_psnr_8bit))


class Output(NamedTuple):
    """Output of a run: latents and, where there is a VAE, images, one of each for every item."""

    latents: list[Tensor]
    images: list[Tensor]  # [F, C, H, W] in [0, 1] or 8 bit, F frames of a video; none without a VAE
    scores: Sequence[Metrics] = ()  # by judges of images; none without judges


@dataclass(frozen=True)
class Assessor:
    """Computation of the metrics that an objective needs.

    Args:
        vae: decodes latents; without one only the latent error can be computed.
        image_metrics: by name.
        semantic: judges of images by their prompts.
    """

    vae: Any | None
    image_metrics: Mapping[str, ImageMetric]
    semantic: SemanticMetrics | None = None

    def result(self, latent, prompts: Sequence[str] = ()) -> Output:
        """Latents, images and scores of a batch; of a video with sound, those of the video.

        Args:
            prompts: of the items, for judges.
        """
        latents = list(visible(latent).float())
        if self.vae is None or not (self.image_metrics or self.semantic):
            return Output(latents, [])
        frames = decode(self.vae, latent)
        low, high = frames.aminmax()
        if not (low >= 0 and high <= 1):  # a video is not copied without need
            frames = frames.clamp(0, 1)
        images = [item.movedim(-1, 1)[:, :3] for item in frames]
        if self.semantic is None:
            return Output(latents, images)
        pairs = zip(images, prompts, strict=True)
        return Output(latents, images, [self.semantic.scores(*pair) for pair in pairs])

    def reference(self, latent, prompts: Sequence[str] = ()) -> Output:
        """Result of a full run to keep, with images in 8 bit if they are compared so.

        SSIM and LPIPS compare images as they are. Raises ``ValueError`` if there is no picture.
        """
        check_finite(latent)
        found = self.result(latent, prompts)
        if not all(frame.isfinite().all() for item in found.images for frame in item):
            raise ValueError(NOT_FINITE)
        if not _IN_8_BIT.issuperset(self.image_metrics.values()):
            return found
        return found._replace(images=[_in_8_bit(item) for item in found.images])

    def metrics(self, test: Output, reference: Output) -> list[Metrics]:
        """Metrics of every item; of videos the mean over the frames.

        As in ``comparison``, frames that are identical are left out of a mean, unless all are.
        """
        found: list[dict[str, float]] = [
            {"latent_mse": float(metrics.latent_mse(a[None], b[None]))}
            for a, b in zip(test.latents, reference.latents, strict=True)
        ]
        for values, a, b in zip(found, test.images, reference.images, strict=False):
            for name, metric in self.image_metrics.items():
                # One by one: LPIPS of all frames of a video at once would fill any device.
                frames = zip(_parts(b, name), _parts(a, name), strict=True)
                values[name] = Figures(tuple(float(metric(*pair)) for pair in frames)).mean
        for values, scores in zip(
            found, zip(test.scores, reference.scores, strict=True), strict=False
        ):
            values |= with_changes(*scores)
        return list[Metrics](found)


def _parts(images: Tensor, name: str) -> Iterator[Tensor]:
    """What a metric compares at once of the frames of an item: each, or two that follow."""
    size = 1 + (name in OF_FRAMES)
    for first in range(max(1, len(images) + 1 - size)):  # of a single frame the metric says why
        yield _in_floats(images[first : first + size])


def _in_8_bit(images: Tensor) -> Tensor:
    """Images in [0, 1], rounded to 8 bit as ``psnr_8bit`` does and as they are saved."""
    found = torch.empty_like(images, dtype=torch.uint8)
    for kept, frame in zip(found, images, strict=True):
        kept.copy_((255 * frame.double()).round())
    return found


def _in_floats(images: Tensor) -> Tensor:
    """Images in [0, 1], whatever type they are kept in."""
    return images.float() / 255 if images.dtype == torch.uint8 else images


def visible(latent) -> Tensor:
    """Visible part of latents; of a video with sound, the video."""
    return latent.unbind()[0] if latent.is_nested else latent


def is_video(latent, vae) -> bool:
    """Whether latents are decoded to several frames each; without a VAE, to judge by them alone."""
    samples = visible(latent)
    has_time = samples.ndim == 5 and samples.shape[2] > 1  # [B, C, T, H, W]
    return has_time and getattr(vae, "latent_dim", 3) == 3  # a VAE of images takes the first only


def decode(vae, latent) -> Tensor:
    """Decode latents to images, ``[B, F, H, W, C]``; F is 1 unless they are videos."""
    decoded = in_color(vae.decode(visible(latent)))  # [B, H, W, C] where it knows no videos
    return decoded if decoded.ndim == 5 else decoded.unsqueeze(1)


def _rows(objective: str) -> list[Metric]:
    """Metrics of images that an objective needs."""
    return [OF_IMAGES[key] for key in metrics_of(objective) if key in OF_IMAGES]


def assessor_for(
    objective: str, vae, lpips: str, semantic: SemanticMetrics | None = None
) -> Assessor:
    """Assessor of an objective's metrics; ``ValueError`` or ``OSError`` for a missing part."""
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
    """Metric of images as they are saved, and the name of its network if it has one.

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
    """Assessor of all metrics that can be measured, reasons against others, and LPIPS's network.

    Images have no metrics of consecutive frames, which is no reason to tell.
    """
    rows = [
        row for key, row in COMPARED.items() if key in OF_IMAGES and (video or not row.of_frames)
    ]
    if vae is None:
        needs = "it compares images: connect vae"
        return Assessor(None, {}), {row.key: needs for row in rows}, None
    found: dict[str, ImageMetric] = {}
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
        found[row.key], network = metric, network or backbone
    return Assessor(vae, found, semantic), unavailable, network
