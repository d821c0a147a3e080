"""The metrics against hand computations, scikit-image, and Wang's and Zhang's formulas."""

import math
import sys

import numpy as np
import pytest
import torch
from scipy.signal import correlate2d
from skimage.metrics import peak_signal_noise_ratio

from gph_core.quality import metrics


def images(seed, *shape):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed))


def pair(*shape):
    reference = images(0, *shape)
    return reference, (reference + 0.1 * images(1, *shape) - 0.05).clamp(0, 1)


class Distance:
    """Mean absolute difference in the place of a network; keeps what it was given."""

    def __init__(self):
        self.calls = []

    def __call__(self, first, second):
        self.calls.append((first, second))
        return (first - second).abs().mean((1, 2, 3), keepdim=True)


ALL = {
    "psnr": metrics.psnr,
    "psnr_8bit": metrics.psnr_8bit,
    "ssim": metrics.ssim,
    "lpips": lambda a, b: metrics.lpips(a, b, Distance()),
    "latent_mse": metrics.latent_mse,
}
each = pytest.mark.parametrize("metric", ALL.values(), ids=ALL.keys())


# --- all of them ----------------------------------------------------------------------------------


@each
def test_an_item_has_the_value_that_it_has_alone(metric):
    reference, test = pair(3, 3, 16, 20)
    together = metric(reference, test)
    assert together.shape == (3,)
    assert together.dtype in (torch.float32, torch.float64)
    alone = torch.cat([metric(reference[i : i + 1], test[i : i + 1]) for i in range(3)])
    torch.testing.assert_close(together, alone)


@each
def test_half_precision_is_not_computed_in_half_precision(metric):
    reference, test = (batch.half() for batch in pair(2, 3, 16, 20))
    torch.testing.assert_close(metric(reference, test), metric(reference.float(), test.float()))


BEST = {"psnr": math.inf, "psnr_8bit": math.inf, "ssim": 1, "lpips": 0, "latent_mse": 0}


@pytest.mark.parametrize("name", ALL)
def test_identical_items_have_the_best_value(name):
    reference = images(0, 2, 3, 16, 20)
    assert ALL[name](reference, reference.clone()).tolist() == [BEST[name]] * 2


@pytest.mark.parametrize(
    "metric",
    [*ALL.values(), lambda a, b: metrics.frame_change(a, b, Distance())],
    ids=[*ALL, "frame_change"],
)
def test_unequal_shapes_are_both_named(metric):
    with pytest.raises(ValueError, match="both must be equal") as caught:
        metric(images(0, 2, 3, 16, 20), images(0, 1, 3, 16, 20))
    assert "(2, 3, 16, 20)" in str(caught.value)
    assert "(1, 3, 16, 20)" in str(caught.value)


# --- PSNR -----------------------------------------------------------------------------------------


def test_psnr_of_a_constant_difference_is_minus_twenty_times_its_logarithm():
    # A tenth everywhere: 20 dB; a hundredth: 40 dB. In one batch, so the mean is not of the errors.
    reference = torch.zeros(2, 3, 4, 4, dtype=torch.float64)
    test = reference + torch.tensor([0.1, 0.01]).double()[:, None, None, None]
    assert metrics.psnr(reference, test).tolist() == pytest.approx([20, 40])


def test_psnr_of_8_bit_agrees_with_scikit_image_on_8_bit_images():
    reference, test = pair(3, 3, 16, 20)
    expected = [
        peak_signal_noise_ratio(*(np.rint(x.numpy() * 255).astype(np.uint8) for x in items))
        for items in zip(reference, test, strict=True)
    ]
    assert metrics.psnr_8bit(reference, test).tolist() == pytest.approx(expected)


def test_psnr_of_8_bit_rounds_and_clips():
    # 0.6 of a step rounds up to one step, 0.4 down to none; 1.5 is saved as 1.
    reference = torch.tensor([0.0, 0.0, 1.0]).reshape(3, 1, 1, 1)
    test = torch.tensor([0.6 / 255, 0.4 / 255, 1.5]).reshape(3, 1, 1, 1)
    one_step = 20 * math.log10(255)  # 48.13 dB
    expected = pytest.approx([one_step, math.inf, math.inf])
    assert metrics.psnr_8bit(reference, test).tolist() == expected


# --- SSIM -----------------------------------------------------------------------------------------


def wang_ssim(x, y):
    """The mean of equation 13 of Wang et al. (2004) over the windows inside two grey images."""
    axis = np.arange(-5, 6)
    window = np.exp(-(axis[:, None] ** 2 + axis[None] ** 2) / (2 * 1.5**2))
    window /= window.sum()
    c1, c2 = 0.01**2, 0.03**2

    def mean(values):
        return correlate2d(values, window, mode="valid")

    mx, my = mean(x), mean(y)
    vx, vy, cxy = mean(x * x) - mx**2, mean(y * y) - my**2, mean(x * y) - mx * my
    numerator = (2 * mx * my + c1) * (2 * cxy + c2)
    return (numerator / ((mx**2 + my**2 + c1) * (vx + vy + c2))).mean()


def test_ssim_agrees_with_the_formula_of_wang_for_each_channel():
    reference, test = pair(2, 3, 24, 19)
    expected = [
        np.mean([wang_ssim(*(x[c].double().numpy() for x in items)) for c in range(3)])
        for items in zip(reference, test, strict=True)
    ]
    assert metrics.ssim(reference, test).tolist() == pytest.approx(expected)


def test_ssim_of_an_image_smaller_than_its_window_is_refused():
    reference, test = pair(1, 3, 10, 30)
    with pytest.raises(ValueError, match="at least 11 x 11 pixels, these have 30 x 10"):
        metrics.ssim(reference, test)


def test_ssim_without_its_package_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage.metrics", None)
    with pytest.raises(ImportError, match="pip install scikit-image"):
        metrics.ssim(*pair(1, 3, 16, 16))


# --- latents, LPIPS, frames -----------------------------------------------------------------------


def test_latent_mse_is_the_mean_square_of_each_item():
    # Differences 1, 2 and 3, -3: (1 + 4) / 2 and (9 + 9) / 2. Latents of videos have one axis more.
    reference = torch.zeros(2, 1, 1, 1, 2)
    test = torch.tensor([[1.0, 2], [3, -3]]).reshape(2, 1, 1, 1, 2)
    assert metrics.latent_mse(reference, test).tolist() == [2.5, 9.0]


def test_the_network_of_lpips_gets_images_from_minus_one_to_one():
    network = Distance()
    reference, test = torch.zeros(2, 3, 4, 4), torch.ones(2, 3, 4, 4)
    assert metrics.lpips(reference, test, network).tolist() == [2.0, 2.0]
    ((first, second),) = network.calls
    assert (first == -1).all()
    assert (second == 1).all()


def test_lpips_of_images_with_transparency_is_refused():
    with pytest.raises(ValueError, match="3 channels, these have 4"):
        metrics.lpips(*pair(1, 4, 16, 16), Distance())


def test_frame_change_is_the_change_of_the_test_minus_that_of_the_reference():
    # Grey frames; the distance of two is twice their difference, for the network sees -1 to 1.
    reference = torch.tensor([0.0, 0.1, 0.3, 0.3])
    test = torch.tensor([0.5, 0.5, 0.6, 0.2])
    frames = (grey.reshape(4, 1, 1, 1).expand(4, 3, 4, 4) for grey in (reference, test))
    expected = pytest.approx([2 * (0 - 0.1), 2 * (0.1 - 0.2), 2 * (0.4 - 0)], abs=1e-6)
    assert metrics.frame_change(*frames, Distance()).tolist() == expected


def test_frame_psnr_compares_how_the_videos_change():
    # Grey frames that change by 1/4, 1/4 and 0; by 1/4, 0 and 1/2: errors of 0, 1/4 and 1/2.
    reference = torch.tensor([0.0, 0.25, 0.5, 0.5])
    test = torch.tensor([0.25, 0.5, 0.5, 1.0])
    frames = (grey.reshape(4, 1, 1, 1).expand(4, 3, 4, 4) for grey in (reference, test))
    expected = [math.inf, -20 * math.log10(0.25), -20 * math.log10(0.5)]
    assert metrics.frame_psnr(*frames).tolist() == pytest.approx(expected)


def test_frame_psnr_of_8_bit_compares_how_saved_frames_change():
    # Saved as 0, 26, 51 of 255 and as 0, 26, 26: the last change is one of 25, and none.
    greys = torch.tensor([[0.0, 0.101, 0.2], [0.0, 0.102, 0.1035]])
    frames = greys.reshape(2, 3, 1, 1, 1).expand(2, 3, 3, 4, 4)
    expected = [math.inf, -20 * math.log10(25 / 255)]
    assert metrics.frame_psnr_8bit(*frames).tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    "metric",
    [
        metrics.frame_psnr,
        metrics.frame_psnr_8bit,
        lambda a, b: metrics.frame_change(a, b, Distance()),
    ],
)
def test_a_change_of_one_frame_is_refused(metric):
    with pytest.raises(ValueError, match="at least 2 frames, got 1"):
        metric(*pair(1, 3, 4, 4))
