"""Figures of a comparison: what they are made of, their means, and what stands in JSON."""

import json
import math

import pytest
import torch

from gph_core.quality import metrics
from gph_core.quality.comparison import (
    Comparison,
    Figures,
    alone,
    clip_psnr,
    clips,
    comparable,
    compare,
    joined,
)


def greys(*values):
    return torch.tensor(values).reshape(-1, 1, 1, 1).expand(-1, 3, 4, 4)


def difference(first, second):
    return (first - second).abs().mean((1, 2, 3), keepdim=True)


def test_each_item_is_measured_by_each_metric():
    found = compare(
        greys(0.0, 0.5), greys(0.1, 0.5), {"psnr": metrics.psnr, "mse": metrics.latent_mse}
    )
    assert found.figures["psnr"].values == pytest.approx([20, math.inf])
    assert found.figures["mse"].values == pytest.approx([0.01, 0])
    assert found.unavailable == {}


def test_a_metric_that_refuses_is_left_out_with_its_reason_and_asked_once():
    asked = []

    def missing(reference, test):
        asked.append(reference)
        raise ImportError("needs the package x")

    found = compare(greys(0.0, 0.5), greys(0.1, 0.5), {"x": missing, "psnr": metrics.psnr})
    assert set(found.figures) == {"psnr"}
    assert found.unavailable == {"x": "needs the package x"}
    assert len(asked) == 1


def test_progress_is_reported_after_each_item():
    reported = []
    compare(greys(0.0, 0.5, 1.0), greys(0.1, 0.5, 1.0), {}, lambda: reported.append(1))
    assert len(reported) == 3


@pytest.mark.parametrize(
    ("values", "mean", "num_identical"),
    [
        ((20.0, 30.0), 25.0, 0),
        ((20.0, math.inf, 30.0), 25.0, 1),  # not infinite: that would hide the two others
        ((math.inf, math.inf), math.inf, 2),
    ],
)
def test_the_mean_is_over_the_items_that_differ(values, mean, num_identical):
    figures = Figures(values)
    assert (figures.mean, figures.num_identical) == (mean, num_identical)


def test_json_has_no_infinity_but_a_word():
    figures = {"psnr": Figures((math.inf, 20.0)), "psnr_8bit": Figures((math.inf, math.inf))}
    text = json.dumps(Comparison(figures, {"lpips": "off"}).to_dict(), allow_nan=False)
    assert json.loads(text) == {
        "metrics": {
            "psnr": {"mean": 20.0, "identical": 1, "values": ["identical", 20.0]},
            "psnr_8bit": {
                "mean": "identical", "identical": 2, "values": ["identical", "identical"],
            },
        },
        "unavailable": {"lpips": "off"},
    }  # fmt: skip


@pytest.mark.parametrize("test", [(1, 64, 48, 3), (2, 48, 64, 3)])
def test_unequal_sizes_are_both_named(test):
    with pytest.raises(ValueError, match="same number and size") as caught:
        comparable(torch.zeros(2, 64, 48, 3), torch.zeros(test))
    assert "the reference is 2 images of 48 x 64 pixels" in str(caught.value)
    count = "1 image" if test[0] == 1 else "2 images"
    assert f"the test is {count} of {test[2]} x {test[1]} pixels" in str(caught.value)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((2, 8, 6, 4), "4 channels, 3 are needed .*; remove the transparency first"),
        ((2, 8, 6, 2), "2 channels, 3 are needed .*; mend the node that made it"),
        ((2, 8, 6, 0), "0 channels"),
        ((0, 8, 6, 3), "no images to compare"),
        ((1, 0, 6, 3), "no images to compare"),
        ((8, 6, 3), r"has the form \[8, 6, 3\], .* is needed; put the image into a batch of one"),
        ((2, 8, 6), "if it is a mask, use Convert Mask to Image"),
        ((1, 2, 8, 6, 3), "join the frames of all videos into one batch"),
        ((3,), "mend the node that made it"),
    ],
)
def test_images_of_another_form_are_refused_in_words(shape, message):
    with pytest.raises(ValueError, match=message):
        comparable(torch.zeros(shape), torch.zeros(shape))


def test_what_is_no_image_is_refused_in_words():
    with pytest.raises(ValueError, match=r"whole numbers \(uint8\).* divide 8-bit colours by 255"):
        comparable(*[torch.zeros(1, 8, 6, 3, dtype=torch.uint8)] * 2)
    with pytest.raises(ValueError, match=r"the test must be images of the form .*; found list"):
        comparable(torch.zeros(1, 8, 6, 3), [])


def test_a_grey_image_is_compared_as_one_of_three_equal_channels():
    grey = torch.rand(2, 8, 6, 1, generator=torch.Generator().manual_seed(1))
    colored = torch.cat([grey, grey, grey], -1)
    for pair in ((grey, grey), (grey, colored), (colored, grey)):
        for found in comparable(*pair):
            torch.testing.assert_close(found, colored, rtol=0, atol=0)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_images_that_are_no_numbers_are_refused_by_name(value):
    fine, broken = torch.zeros(1, 4, 4, 3), torch.zeros(1, 4, 4, 3)
    broken[0, 1, 2, 0] = value
    comparable(fine, fine)
    with pytest.raises(ValueError, match="the test has pixels that are no finite numbers"):
        comparable(fine, broken)
    with pytest.raises(ValueError, match="the reference has pixels that are no finite numbers"):
        comparable(broken, fine)


def test_a_figure_that_is_no_number_is_not_left_out_of_the_mean():
    assert math.isnan(Figures((20.0, math.nan)).mean)


def test_joined_comparisons_have_the_items_of_all_and_only_shared_metrics():
    first = Comparison({"psnr": Figures((20.0, 30.0)), "ssim": Figures((0.5, 0.6))}, {})
    second = Comparison({"psnr": Figures((40.0,))}, {"ssim": "too small"})
    found = joined([first, second])
    assert found.figures == {"psnr": Figures((20.0, 30.0, 40.0))}
    assert found.unavailable == {"ssim": "too small"}


def test_a_batch_alone_is_checked_as_a_pair_is():
    grey = torch.rand(1, 4, 4, 1)
    torch.testing.assert_close(alone("test", grey), grey.expand(1, 4, 4, 3), rtol=0, atol=0)
    for images, fault in (
        (torch.zeros(1, 4, 4, 4), "the test has 4 channels"),
        (torch.zeros(0, 4, 4, 3), "no images"),
        (torch.full((1, 4, 4, 3), math.nan), "the test has pixels that are no finite numbers"),
    ):
        with pytest.raises(ValueError, match=fault):
            alone("test", images)


def test_the_psnr_of_a_clip_is_that_of_its_mean_error():
    assert clip_psnr([20, 40]) == pytest.approx(-10 * math.log10((0.01 + 0.0001) / 2))
    assert clip_psnr([math.inf, 20]) == pytest.approx(20 + 10 * math.log10(2))
    assert clip_psnr([math.inf]) == math.inf


def test_several_videos_have_changes_and_a_psnr_of_their_own():
    # Two videos of two frames: errors of 1/4 and 1/4, none and 1/8; they do not follow each other.
    reference, test = greys(0.0, 0.25, 0.75, 0.5), greys(0.25, 0.5, 0.75, 0.375)
    measured = {"psnr": metrics.psnr, "frame_psnr": metrics.frame_psnr}
    found = compare(reference, test, measured, clip=2).figures
    assert found["frame_psnr"].values == pytest.approx([math.inf, 20 * math.log10(8)])
    expected = [20 * math.log10(4), 20 * math.log10(8) + 10 * math.log10(2)]
    assert clips(found["psnr"], 2).values == pytest.approx(expected)
