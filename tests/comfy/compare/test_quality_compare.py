"""Quality Compare: figures, pictures, and what the table gets. LPIPS is off."""

import json
import math
import sys

import comfy.utils
import numpy as np
import pytest
import torch
from comfy_execution.graph_utils import ExecutionBlocker
from golden_path_pack.gph_core.reports import error_pictures
from golden_path_pack.nodes.compare import pairs
from golden_path_pack.nodes.compare.quality_compare import QualityCompare
from PIL import Image

from ...support.comfy.quality import compared, pictures, table

pytestmark = pytest.mark.usefixtures("temporary")


def greys(*values, size=32):
    return torch.tensor(values).reshape(-1, 1, 1, 1).expand(-1, size, size, 3)


def noisy(count):
    generator = torch.Generator().manual_seed(5)
    return torch.rand(2, count, 32, 40, 3, generator=generator)


# --- figures --------------------------------------------------------------------------------------


def test_the_figures_are_means_over_the_images():
    psnr, ssim, *_ = compared(greys(0.0, 0.0), greys(0.1, 0.01)).result
    assert psnr == pytest.approx((20 + 40) / 2)  # a tenth and a hundredth everywhere
    # Flat images: (2 x y + c) / (x² + y² + c) with x = 0 and c = 0.0001.
    assert ssim == pytest.approx((1e-4 / (0.01 + 1e-4) + 1e-4 / (1e-4 + 1e-4)) / 2, rel=1e-4)


def test_grey_images_have_the_results_of_their_colored_ones():
    grey = noisy(1)[..., :1]
    of_grey = compared(*grey).result
    of_colored = compared(*grey.expand(-1, -1, -1, -1, 3)).result
    assert of_grey[:2] == of_colored[:2]
    torch.testing.assert_close(of_grey[3:5], of_colored[3:5], rtol=0, atol=0)


def test_json_has_the_figures_of_each_image():
    output = compared(greys(0.0, 0.0), greys(0.1, 0.01))
    report = json.loads(output.result[5])
    psnr = report["metrics"]["psnr"]
    assert psnr["values"] == pytest.approx([20, 40], abs=1e-4)
    assert (psnr["worst_tenth"], psnr["hardly_visible"]) == (psnr["values"][0], 0.5)
    # 25.5 and 2.55 of 255 are saved as 26 and 3.
    expected = [20 * math.log10(255 / 26), 20 * math.log10(255 / 3)]
    assert report["metrics"]["psnr_8bit"]["values"] == pytest.approx(expected)
    assert (report["images"], report["width"], report["height"]) == (2, 32, 32)
    shown = table(output)
    files = shown.pop("pictures")["files"]
    assert report == shown
    assert len(files) == 2


def test_each_image_has_a_verdict_in_words():
    test = greys(0.501, 0.9, 0.5)
    report = table(compared(greys(0.5, 0.5, 0.5), test))
    # 60 dB, and 8 dB in the second; the third is the reference.
    assert report["verdicts"] == ["not visible", "a different picture", "identical"]


def test_lpips_that_is_off_is_not_reported_as_missing_but_blocks_its_output():
    output = compared(*noisy(1))
    assert table(output)["unavailable"] == {}
    assert "has no LPIPS: off; choose a file" in output.result[2].message
    video = table(compared(*noisy(2), video=True))
    assert set(video["unavailable"]) == {"frame_change"}  # which was asked for


def test_a_video_has_figures_of_its_changes_and_of_the_whole_clip():
    reference, test = greys(0.0, 0.25, 0.5), greys(0.25, 0.5, 0.5)
    report = table(compared(reference, test, video=True, fps=24.0))
    # All change by a quarter, but the last of the test not at all.
    assert report["metrics"]["frame_psnr"]["values"] == ["identical", pytest.approx(12.0412)]
    # Errors of a quarter, a quarter and none.
    error = -10 * math.log10(2 / 3 * 0.25**2)
    assert report["clip"] == {"fps": 24.0, "psnr": pytest.approx(error)}
    images = table(compared(reference, test))
    assert "clip" not in images
    # Frames are not told apart one by one.
    psnr = [found["metrics"]["psnr"] for found in (images, report)]
    assert ["hardly_visible" in figures for figures in psnr] == [True, False]
    assert "frame_psnr" not in images["metrics"]
    same = table(compared(reference, reference, video=True))
    assert same["clip"]["psnr"] == "identical"


def test_identical_images_are_named_and_left_out_of_the_mean():
    output = compared(greys(0.0, 0.5), greys(0.1, 0.5))
    assert output.result[0] == pytest.approx(20)
    found = json.loads(output.result[5])["metrics"]["psnr"]
    assert (found["identical"], found["values"][1]) == (1, "identical")
    same = compared(greys(0.5), greys(0.5))
    assert same.result[0] == math.inf
    assert table(same)["metrics"]["psnr"]["mean"] == "identical"
    assert pictures(same)[0].unique(dim=2).shape[2] == 1  # one colour


def test_unequal_numbers_are_both_named_with_their_own_sizes():
    with pytest.raises(ValueError, match=r"is 2 images of 32 x 32 .* the test is 1 image of 64 x"):
        compared(greys(0.0, 0.0), greys(0.0, size=64))


def test_progress_is_shown_after_each_image(monkeypatch):
    events = []
    monkeypatch.setattr(
        comfy.utils,
        "PROGRESS_BAR_HOOK",
        lambda value, total, *_, **__: events.append((value, total)),
    )
    monkeypatch.setattr(comfy.utils, "PROGRESS_THROTTLE_MIN_INTERVAL", 0)
    compared(*noisy(3))
    assert events == [(1, 3), (2, 3), (3, 3)]


def test_a_missing_package_costs_one_metric(monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage.metrics", None)
    output = compared(*noisy(1))
    assert "pip install scikit-image" in table(output)["unavailable"]["ssim"]
    assert isinstance(output.result[1], ExecutionBlocker)
    assert output.result[0] > 0


def test_a_missing_package_for_pictures_is_named_before_anything_is_measured(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(pairs, "measure", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        compared(*noisy(1))


# --- pictures -------------------------------------------------------------------------------------


def test_the_page_fetches_every_picture_as_a_file_without_loss(temporary):
    reference, test = noisy(2)
    output = compared(reference, test)
    saved = table(output)["pictures"]
    assert len(json.dumps(saved)) < 1000  # names, not images
    heat_map, _ = pictures(output)
    for n, files in enumerate(saved["files"]):
        opened = {
            kind: np.asarray(Image.open(temporary / saved["subfolder"] / file).convert("RGB"))
            for kind, file in files.items()
        }
        shown = {"reference": reference[n], "test": test[n], "difference": heat_map[n]}
        assert {kind: picture.shape for kind, picture in opened.items()} == {
            kind: (32, 40, 3) for kind in shown
        }
        for kind, image in shown.items():
            assert np.abs(opened[kind] - 255 * image.numpy()).max() <= 0.51, kind


def test_no_run_overwrites_the_pictures_of_another():
    names = set()
    for _ in range(2):
        (files,) = table(compared(*noisy(1)))["pictures"]["files"]
        names |= set(files.values())
    assert len(names) == 6


def brightness(picture):
    return picture.sum(-1)


def test_the_heat_map_is_black_without_error_and_brightest_at_the_largest():
    reference, test = greys(0.0).clone(), greys(0.0).clone()
    test[0, :, :16] = 0.2
    test[0, :, :8] = 0.4
    heat_map, _ = pictures(compared(reference, test))
    assert heat_map.shape == reference.shape
    # The published ends and middle of matplotlib's inferno.
    for column, color in ((31, (0, 0, 4)), (15, (188, 55, 84)), (0, (252, 255, 164))):
        assert (255 * heat_map[0, 0, column]).tolist() == pytest.approx(color, abs=1.5)


def test_a_larger_error_is_always_brighter():
    colors = error_pictures.heat_map(torch.linspace(0, 1, 256).reshape(1, 1, -1), 1.0)
    luminance = colors[0, 0] @ torch.tensor([0.2126, 0.7152, 0.0722])
    assert (luminance.diff() > 0).all()


def test_the_scale_of_the_heat_map_can_be_set_and_is_reported():
    automatic = compared(greys(0.0, 0.0), greys(0.1, 0.2))
    assert table(automatic)["heat_map"]["to"] == pytest.approx(0.2)
    fixed = compared(greys(0.0, 0.0), greys(0.1, 0.2), heat_map_max=0.4)
    assert table(fixed)["heat_map"]["to"] == 0.4
    assert brightness(pictures(fixed)[0])[1, 0, 0] < brightness(pictures(automatic)[0])[1, 0, 0]


def test_the_strip_has_reference_test_and_heat_map_side_by_side():
    reference, test = noisy(2)
    heat_map, strip = pictures(compared(reference, test))
    assert strip.shape == (2, 32 + error_pictures.BAND, 3 * 40, 3)
    expected = torch.cat([reference, test, heat_map], dim=2)
    torch.testing.assert_close(strip[:, :32], expected, rtol=0, atol=0)


def test_below_the_strip_stand_texts_and_the_scale():
    reference, test = noisy(1)
    _, strip = pictures(compared(reference, test))
    band = brightness(strip[0, 32:])
    for panel in range(3):
        assert band[: -error_pictures.BAR, 40 * panel : 40 * (panel + 1)].max() > 1.5  # letters
    scale = band[-1, 80:]
    assert (scale.diff() > -0.05).all()
    assert scale[0] < 0.1
    assert scale[-1] > 2


def test_a_caption_tells_what_was_measured_of_its_image():
    measured, _ = pairs.measure(greys(0.0, 0.5), greys(0.1, 0.5), "off", False, lambda: None)
    first, second = pairs.captions_of(measured, 2, 0.1234, {})
    assert first == ["reference", "test · 20.00 dB · SSIM 0.010", "error 0 – 0.123"]
    assert second[1] == "test · identical · SSIM 1.000"


# --- two sizes, lists, one input ------------------------------------------------------------------


def test_the_larger_of_two_sizes_is_scaled_down_and_that_is_said():
    small = noisy(1)[0]
    large = small.repeat_interleave(2, 1).repeat_interleave(2, 2)
    output = compared(small, large)
    report = table(output)
    assert report["verdicts"] == ["identical"]  # each square of four has one colour
    assert (report["width"], report["height"]) == (40, 32)
    assert report["scaled"] == {"test": [80, 64]}
    assert json.loads(output.result[5])["scaled"] == report["scaled"]
    assert pictures(output)[1].shape[2] == 3 * 40
    assert "scaled" not in table(compared(small, small))
    measured, _ = pairs.measure(small, small, "off", False, lambda: None)
    ((first, second, _),) = pairs.captions_of(measured, 1, 1.0, {"test": [80, 64]})
    assert (first, second.split(" · ")[0]) == ("reference", "test, scaled")


def test_sizes_of_another_shape_meet_at_the_smaller_sides():
    report = table(compared(noisy(1)[0], noisy(1)[1].transpose(1, 2)))
    assert report["scaled"] == {"reference": [40, 32], "test": [32, 40]}
    assert (report["width"], report["height"]) == (32, 32)


def test_a_list_of_images_has_one_mean_and_one_tally():
    output = QualityCompare.execute(
        reference=[greys(0.0), greys(0.0, size=64)], test=[greys(0.1), greys(0.01, size=64)],
        lpips=["off"],
    )  # fmt: skip
    assert output.result[0] == pytest.approx(30)  # of 20 and 40 dB
    assert [picture.shape[1] for picture in output.result[3]] == [32, 64]
    (shown,) = output.ui["gph_quality"]
    psnr = shown["all"]["metrics"]["psnr"]
    assert psnr["values"] == pytest.approx([20, 40], abs=1e-4)
    assert (psnr["worst_tenth"], psnr["hardly_visible"]) == (psnr["values"][0], 0.5)
    assert [part["width"] for part in shown["parts"]] == [32, 64]
    report = json.loads(output.result[5])
    assert report["all"] == shown["all"]
    assert len(report["parts"]) == 2


def test_of_a_shorter_list_the_last_is_compared_with_all_others():
    output = QualityCompare.execute(
        reference=[greys(0.0)], test=[greys(0.1), greys(0.01)], lpips=["off"]
    )
    (shown,) = output.ui["gph_quality"]
    assert shown["all"]["metrics"]["psnr"]["values"] == pytest.approx([20, 40], abs=1e-4)


def test_clips_in_a_list_are_tallied_as_whole_clips():
    clips = [greys(0.0, 0.0)] * 2
    tests = [greys(0.1, 0.1), greys(0.01, 0.01)]
    output = QualityCompare.execute(reference=clips, test=tests, lpips=["off"], video=[True])
    psnr = output.ui["gph_quality"][0]["all"]["clips"]["psnr"]
    assert psnr["values"] == pytest.approx([20, 40], abs=1e-4)
    assert psnr["hardly_visible"] == 0.5


@pytest.mark.parametrize(("name", "missing"), [("reference", "test"), ("test", "reference")])
def test_one_input_alone_is_shown_and_the_other_is_named(temporary, name, missing):
    output = compared(**{"reference": None, "test": None, name: greys(0.0, 0.5)})
    report = table(output)
    assert report["missing"] == missing
    files = report["pictures"]["files"]
    assert [list(item) for item in files] == [[name], [name]]
    opened = Image.open(temporary / report["pictures"]["subfolder"] / files[1][name])
    assert opened.getpixel((0, 0)) == (128, 128, 128)  # half of 255
    assert f"nothing is connected to {missing}" in output.result[0].message
    assert json.loads(output.result[5])["missing"] == missing


def test_without_any_input_nothing_is_shown_and_nothing_fails():
    output = compared(None, None)
    assert output.ui["gph_quality"][0]["parts"] == []
    assert "nothing is connected to reference and test" in output.result[0].message


def test_what_the_page_is_told_is_also_a_file_that_a_workflow_can_name(temporary):
    (shown,) = compared(*noisy(2)).ui["gph_quality"]
    file = temporary / table(compared(*noisy(1)))["pictures"]["subfolder"] / shown.pop("file")
    assert json.loads(file.read_text()) == shown
