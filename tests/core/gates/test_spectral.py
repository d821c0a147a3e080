import math

import numpy as np
import pytest
import torch

from gph_core.gates.spectral import axis_gain, wiener_filtered


def noise(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def by_numpy(tokens, grid, sigma, power):
    """The formulas of the source with all their ε, complex FFT of all channels, double precision.

    The whole gain is made first and divided by its mean over the whole grid.
    """
    eps = 1e-16
    b = min(max(sigma, 1e-6), 1 - 1e-6)
    a = 1 - b
    gain = np.ones(grid)
    for axis, num in enumerate(grid):
        spectrum = 1 / (np.abs(np.fft.fftfreq(num)) ** power + eps)
        one = a * spectrum / (a**2 * spectrum + b**2 + eps)
        gain = gain * one.reshape([-1 if n == axis else 1 for n in range(len(grid))])
    gain /= gain.mean()
    batch, _, channels = tokens.shape
    x = tokens.double().numpy().reshape(batch, *grid, channels)
    axes = tuple(range(1, 1 + len(grid)))
    y = np.fft.ifftn(gain[None, ..., None] * np.fft.fftn(x, axes=axes), axes=axes)
    return torch.from_numpy(y.real.reshape(batch, -1, channels))


@pytest.mark.parametrize(
    ("sigma", "dc", "nyquist", "corner"),
    [
        (0.95, 42.0, 0.460, 0.005),
        (0.9, 11.08, 0.521, 0.0245),
        (0.7, 1.831, 0.776, 0.329),
        (0.5, 1.163, 0.930, 0.744),
        (0.3, 1.030, 0.985, 0.942),
        (0.1, 1.002, 0.999, 0.996),
    ],
)
def test_gains_of_an_image_match_the_published_ones(sigma, dc, nyquist, corner):
    one = axis_gain(64, sigma, 2)
    assert (one[0] ** 2).item() == pytest.approx(dc, abs=0.05, rel=5e-4)
    assert (one[0] * one[32]).item() == pytest.approx(nyquist, abs=5e-4)
    # Not 5e-4: 0.32849 was rounded up.
    assert (one[32] ** 2).item() == pytest.approx(corner, abs=6e-4)


@pytest.mark.parametrize(
    ("sigma", "dc", "nyquist", "corner"),
    [(0.9, 7.477, 0.672, 0.0064), (0.5, 1.093, 0.971, 0.782)],
)
def test_gains_of_a_video_match_the_published_ones(sigma, dc, nyquist, corner):
    f, h, w = (axis_gain(num, sigma, 3) for num in (17, 30, 52))
    assert (f[0] * h[0] * w[0]).item() == pytest.approx(dc, abs=5e-4)
    assert (f[0] * h[15] * w[0]).item() == pytest.approx(nyquist, abs=5e-4)
    assert (f[8] * h[15] * w[26]).item() == pytest.approx(corner, abs=5e-4)


@pytest.mark.parametrize("sigma", [0.0, 0.9, 1.0])
@pytest.mark.parametrize("grid", [(5, 6), (1, 8), (3, 4, 5), (2, 3, 4)], ids=str)
def test_the_filter_is_that_of_numpy(grid, sigma):
    tokens = noise(2, math.prod(grid), 7)
    expected = by_numpy(tokens, grid, sigma, power=len(grid))
    found = wiener_filtered(tokens, grid, sigma, channels=3)  # the last part is smaller
    torch.testing.assert_close(found, expected.float(), rtol=1e-5, atol=1e-5)


def test_without_noise_everything_passes_and_in_noise_alone_only_the_mean():
    tokens = noise(1, 24, 3)
    torch.testing.assert_close(wiener_filtered(tokens, (4, 6), 0.0), tokens, rtol=0, atol=1e-5)
    # The gain has mean 1, so the mean is multiplied by the number of tokens.
    means = 24 * tokens.mean(1, keepdim=True).expand_as(tokens)
    torch.testing.assert_close(wiener_filtered(tokens, (4, 6), 1.0), means, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("given", "result"),
    [
        (torch.float32, torch.float32),
        (torch.bfloat16, torch.bfloat16),
        (torch.float16, torch.float32),
    ],
    ids=str,
)
def test_the_fft_is_done_in_single_precision(given, result):
    tokens = noise(1, 24, 3).to(given)
    found = wiener_filtered(tokens, (4, 6), 0.9)
    assert found.dtype is result
    expected = by_numpy(tokens.float(), (4, 6), 0.9, power=2).to(result)
    rtol = 2**-8 if result is torch.bfloat16 else 1e-5
    torch.testing.assert_close(found, expected, rtol=rtol, atol=1e-5)


def test_the_mean_of_half_precision_does_not_overflow():
    tokens = torch.full((1, 4096, 1), 100.0, dtype=torch.float16)
    assert wiener_filtered(tokens, (64, 64), 1.0).mean().item() == pytest.approx(409_600, rel=1e-3)


@pytest.mark.parametrize("grid", [(4, 5), (), (24,) * 2], ids=str)
def test_a_grid_of_other_tokens_is_refused(grid):
    with pytest.raises(ValueError, match=r"does not hold 24 tokens"):
        wiener_filtered(noise(1, 24, 3), grid, 0.5)


@pytest.mark.parametrize("sigma", [14.6, -0.1, math.nan])
def test_noise_levels_that_are_no_share_are_refused(sigma):
    with pytest.raises(ValueError, match="flow model, whose noise levels are 0 to 1"):
        wiener_filtered(noise(1, 24, 3), (4, 6), sigma)
