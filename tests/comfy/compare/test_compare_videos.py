"""compare/compare_run: videos have figures of each frame, of their changes, and of whole clips."""

import pytest
import torch

from ...support.comfy.compared import compare, report
from ...support.zoo import zoo
from ...support.zoo.zoo_all import CASES

WAN = CASES["Wan 2.1 14B"]


def run(batch=1):
    """Result for a tiny Wan."""
    return compare(
        zoo.build(WAN), cfg=WAN.cfg, positive=WAN.conditioning(1, 5),
        negative=WAN.conditioning(2, 5), steps=4, schedule="0,2/4",
        latent_image={"samples": torch.zeros(batch, *WAN.latent)},
    )  # fmt: skip


def decibels(errors):
    """PSNR of each of some errors ``[F, ...]``."""
    return (-10 * errors.double().square().flatten(1).mean(1).log10()).tolist()


def test_psnr_is_that_of_frames_changes_and_clips():
    output = run()
    full, cached, *_ = (video.double() for video in output.result[0])
    found = report(output)
    assert found["frames"] == len(full) == 3
    metrics, clips = (found["runs"][1][key] for key in ("metrics", "clips"))
    expected = decibels(cached - full)
    assert metrics["psnr"]["values"] == pytest.approx(expected)
    assert len(metrics["ssim"]["values"]) == 3
    assert metrics["frame_psnr"]["values"] == pytest.approx(
        decibels(cached.diff(dim=0) - full.diff(dim=0))
    )
    (whole,) = decibels((cached - full)[None])
    assert clips["psnr"] == {"mean": pytest.approx(whole), "identical": 0, "values": [whole]}
    assert found["runs"][0]["clips"] == {}
    worst = min(expected)
    line = f"lowest PSNR {worst:.2f} dB, in frame {1 + expected.index(worst)} of 3"
    table = output.result[2].splitlines()
    assert f"cached (Custom): {line}" in table
    assert table[0].split("speed-up")[1].split("  ")[-2:] == ["PSNR Δt dB", "clip PSNR dB"]
    assert table[2].split()[-1] == f"{whole:.2f}"
    assert len({len(line) for line in table[2:5]}) == 1  # columns are straight


def test_several_videos_are_not_taken_for_one():
    output = run(batch=2)
    videos = [video.double() for video in output.result[0]]  # two of each run
    found = report(output)
    assert (found["frames"], found["images"]) == (3, 6)
    metrics, clips = (found["runs"][1][key] for key in ("metrics", "clips"))
    changes, whole = [], []
    for full, cached in zip(videos[:2], videos[2:4], strict=True):
        changes += decibels(cached.diff(dim=0) - full.diff(dim=0))
        whole += decibels((cached - full)[None])
    assert metrics["frame_psnr"]["values"] == pytest.approx(changes)
    assert len(changes) == 4
    assert clips["psnr"]["values"] == pytest.approx(whole)
    assert clips["psnr"]["mean"] == pytest.approx(sum(whole) / 2)
    assert "of 3 of video " in output.result[2]
