"""Metrics of the distance between two batches of images, item by item.

Images are ``[B, C, H, W]`` in [0, 1]. Every result is ``[B]`` in float32 or better, never averaged
over B: the mean PSNR of runs is not the PSNR of their pooled error. No metric adds an epsilon; each
docstring says what identical items get.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

SSIM_WINDOW = 11  # pixels, across

# The distance [B, 1, 1, 1] between two batches [B, 3, H, W] in [-1, 1]; see ``lpips_network``.
Network = Callable[[Tensor, Tensor], Tensor]


def psnr(reference: Tensor, test: Tensor) -> Tensor:
    """Peak signal-to-noise ratio in dB, peak 1, in float64; ``inf`` for identical items."""
    return -10 * _mean_square(reference, test).log10()


def psnr_8bit(reference: Tensor, test: Tensor) -> Tensor:
    """PSNR in dB of the images rounded to 8 bit, peak 255; ``inf`` where these are identical.

    Source: GPH paper, which compares 8-bit images. Values outside [0, 1] are clipped.
    """
    return psnr(_rounded_to_8_bit(reference), _rounded_to_8_bit(test))


def ssim(reference: Tensor, test: Tensor) -> Tensor:
    """Structural similarity, in float64; 1 for identical items.

    The parameters of Wang et al. (2004): a Gaussian window of 11 x 11 pixels and sigma 1.5,
    K1 = 0.01, K2 = 0.03, dynamic range 1, population covariance, and only windows inside the image.
    The mean over the channels; the source compares luminance.
    """
    _check_shapes(reference, test)
    height, width = reference.shape[-2:]
    if min(height, width) < SSIM_WINDOW:
        raise ValueError(
            f"SSIM needs images of at least {SSIM_WINDOW} x {SSIM_WINDOW} pixels, "
            f"these have {width} x {height}"
        )
    similarity = _structural_similarity()
    pairs = zip(_on_cpu(reference), _on_cpu(test), strict=True)
    return torch.tensor(
        [
            similarity(
                *pair, channel_axis=0, data_range=1.0, gaussian_weights=True, sigma=1.5,
                use_sample_covariance=False,
            )
            for pair in pairs
        ],
        dtype=torch.float64,
    )  # fmt: skip


def lpips(reference: Tensor, test: Tensor, network: Network) -> Tensor:
    """Learned perceptual distance (Zhang et al. 2018), in float32; 0 for identical items."""
    _check_shapes(reference, test)
    if reference.shape[1] != 3:
        raise ValueError(f"LPIPS needs images of 3 channels, these have {reference.shape[1]}")
    with torch.no_grad():
        return network(2 * reference.float() - 1, 2 * test.float() - 1).flatten()


def latent_mse(reference: Tensor, test: Tensor) -> Tensor:
    """Mean square difference of latents ``[B, ...]``, in float64; 0 for identical items."""
    return _mean_square(reference, test)


def frame_change(reference: Tensor, test: Tensor, network: Network) -> Tensor:
    """Excess of the change between the test's consecutive frames over the reference's, ``[B - 1]``.

    The batches are the frames of two videos. Entry i is LPIPS between frames i and i + 1 of the
    test minus that of the reference: positive where the test flickers more, negative where it moves
    less. The mean over the pairs is the source's temporal LPIPS change.

    Source: GPH paper, temporal LPIPS change of videos.
    """
    _check_shapes(reference, test)
    if len(reference) < 2:
        raise ValueError(f"the change between frames needs at least 2 frames, got {len(reference)}")
    change = [lpips(frames[:-1], frames[1:], network) for frames in (reference, test)]
    return change[1] - change[0]


def frame_psnr(reference: Tensor, test: Tensor) -> Tensor:
    """PSNR in dB of the differences between consecutive frames, ``[B - 1]``, peak 1, in float64.

    The batches are the frames of two videos. Low where the test flickers or moves differently; an
    error that stays in place counts only when it begins and ends. ``inf`` where both change alike.
    """
    _check_shapes(reference, test)
    if len(reference) < 2:
        raise ValueError(f"the change between frames needs at least 2 frames, got {len(reference)}")
    change = [frames.double().diff(dim=0) for frames in (reference, test)]
    return psnr(*change)


def frame_psnr_8bit(reference: Tensor, test: Tensor) -> Tensor:
    """``frame_psnr`` of the frames rounded to 8 bit."""
    return frame_psnr(_rounded_to_8_bit(reference), _rounded_to_8_bit(test))


def _mean_square(reference: Tensor, test: Tensor) -> Tensor:
    _check_shapes(reference, test)
    return (reference.double() - test.double()).square().flatten(1).mean(1)


def _check_shapes(reference: Tensor, test: Tensor) -> None:
    if reference.shape != test.shape:
        raise ValueError(
            f"the reference has the shape {tuple(reference.shape)}, the test {tuple(test.shape)}; "
            "both must be equal"
        )


def _rounded_to_8_bit(images: Tensor) -> Tensor:
    return (255 * images.double().clamp(0, 1)).round() / 255


def _on_cpu(images: Tensor):
    return images.double().cpu().numpy()


def _structural_similarity():
    # Imported here: without the package, only this metric is missing.
    try:
        from skimage.metrics import structural_similarity
    except ImportError as error:
        raise ImportError(
            "SSIM needs the package scikit-image; install it with: pip install scikit-image"
        ) from error
    return structural_similarity
