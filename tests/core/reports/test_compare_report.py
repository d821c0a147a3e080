"""Table and figure of Compare Run, and the run that it calls the closest."""

import math

import pytest
import torch

from gph_core.paths.conditions import Choice
from gph_core.policies.extrapolation import Reuse
from gph_core.quality.comparison import Comparison, Figures
from gph_core.reports import compare_report, tallies
from gph_core.reports.compare_report import Run
from gph_core.schedule import Schedule


def test_the_table_has_a_line_for_each_run():
    def entry(name, steps, full, seconds, psnr=None, notes=()):
        metrics = {} if psnr is None else {"psnr": {"mean": psnr}, "ssim": {"mean": 0.98765}}
        return {
            "name": name, "schedule": f"0-{full - 1}/{steps}", "steps": steps, "full_steps": full,
            "seconds": seconds, "speedup": 2 / seconds, "metrics": metrics, "clips": {},
            "notes": notes,
        }  # fmt: skip

    text = compare_report.table({
        "speed": "Fast", "origin": "uniform spacing", "policy": "residual reuse",
        "closest": "fewer", "frames": 1, "unavailable": {"lpips": "off"},
        "absent": {}, "runs": [
            entry("full", 8, 8, 2.0), entry("cached", 8, 3, 1.0, 20.123, ["a note"]),
            entry("uniform", 8, 3, 0.8, "identical"), entry("fewer", 3, 3, 0.5, 31.0),
        ],
    })  # fmt: skip
    assert text.splitlines() == [
        "                      full steps  seconds  speed-up   PSNR dB      SSIM",
        "full                      8 of 8     2.00     1.00x",
        "cached (Fast)             3 of 8     1.00     2.00x     20.12    0.9877",
        "uniform spacing           3 of 8     0.80     2.50x identical    0.9877",
        "3 plain steps             3 of 3     0.50     4.00x     31.00    0.9877",
        "closest to the full run: 3 plain steps",
        "cached: uniform spacing: 0-2/8, policy residual reuse",
        "seconds of sampling alone, each run once, after a warm-up",
        "cached (Fast): a note",
        "no LPIPS: off",
    ]


def test_of_videos_the_table_has_whole_clips_and_the_worst_frame_of_each_run():
    def entry(name, psnr=(), clip=None):
        found = {"psnr": {"mean": 30.0, "values": psnr}, "frame_psnr": {"mean": 41.5}}
        return {
            "name": name, "schedule": "0/8", "steps": 8, "full_steps": 1, "seconds": 1.0,
            "speedup": 1.0, "notes": (), "metrics": found if psnr else {},
            "clips": {"psnr": {"mean": clip}} if psnr else {},
        }  # fmt: skip

    text = compare_report.table({
        "speed": "Fast", "origin": "by hand", "policy": "reuse", "closest": "uniform",
        "frames": 2, "unavailable": {"frame_change": "off"}, "absent": {}, "runs": [
            entry("full"), entry("cached", [31.0, "identical", 30.0, 28.994], 29.5),
            entry("uniform", ["identical"] * 4, "identical"),
        ],
    })  # fmt: skip
    assert text.splitlines() == [
        "                      full steps  seconds  speed-up   PSNR dB  PSNR Δt dB  clip PSNR dB",
        "full                      1 of 8     1.00     1.00x",
        "cached (Fast)             1 of 8     1.00     1.00x     30.00       41.50         29.50",
        "uniform spacing           1 of 8     1.00     1.00x     30.00       41.50     identical",
        "closest to the full run: uniform spacing",
        "cached: by hand: 0/8, policy reuse",
        "seconds of sampling alone, each run once, after a warm-up",
        "means of the frames; clip PSNR dB: of the mean square error of all frames",
        "cached (Fast): lowest PSNR 28.99 dB, in frame 2 of 2 of video 2",
        "uniform spacing: all frames identical",
        "no LPIPS Δt: off",
    ]


def test_a_mean_of_several_images_or_videos_stands_beside_what_it_hides():
    runs = [run_of(name) for name in ("full", "cached", "fewer")]
    choice = Choice(Schedule.parse("0/2"), "by hand", Reuse())
    # Two videos of two frames: -10 log10 of the mean square errors 10^-3 and 10^-2.
    measured = [
        Comparison({"psnr": Figures(values), "ssim": Figures((0.9,) * 4)}, {})
        for values in ((30.0, 30.0, 20.0, 20.0), (33.0, 33.0, 40.0, math.inf))
    ]

    def told(frames):
        return compare_report.report_of(choice, "", runs, measured, None, "Fast", frames)

    psnr = told(1)["runs"][2]["metrics"]["psnr"]
    assert (psnr["worst_tenth"], psnr["hardly_visible"]) == (33.0, 1.0)
    titles, _, cached, fewer, *others = compare_report.table(told(1)).splitlines()
    assert titles.endswith("   PSNR dB  worst tenth  hardly visible      SSIM")
    assert cached.endswith("     25.00        20.00             0 %    0.9000")
    assert fewer.endswith("     35.33        33.00           100 %    0.9000")
    assert others[-1] == tallies.legend("images")
    assert "\nworst tenth 20.00 dB · 0 % hardly visible\n" in compare_report.caption(
        told(1)["runs"][1]
    )

    found = told(2)["runs"][1]
    assert "worst_tenth" not in found["metrics"]["psnr"]
    assert found["clips"]["psnr"]["worst_tenth"] == pytest.approx(20.0)
    titles, _, cached, *others = compare_report.table(told(2)).splitlines()
    assert titles.endswith("   PSNR dB      SSIM  clip PSNR dB  worst tenth  hardly visible")
    assert cached.endswith("     25.00    0.9000         25.00        20.00             0 %")
    assert tallies.legend("videos") in others
    assert "worst tenth" not in compare_report.table(told(4))  # a single video


def run_of(name, schedule="0/2"):
    return Run(name, Schedule.parse(schedule), None, 1.0)


def test_the_closest_run_has_the_highest_psnr_and_of_equals_the_first():
    runs = [run_of(name) for name in ("full", "cached", "uniform", "fewer")]

    def found(*psnr):
        return [Comparison({"psnr": Figures((value,))}, {}) for value in psnr]

    assert compare_report.closest(runs, found(20, 30, 25)) == "uniform"
    assert compare_report.closest(runs, found(20, float("inf"), 25)) == "uniform"
    assert compare_report.closest(runs, found(20, 20, 10)) == "cached"


@pytest.mark.parametrize("shape", [(1, 32, 32), (5, 16, 64), (1, 512, 32)])
def test_the_figure_shows_the_middle_picture_of_each_run(shape):
    colors = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    runs = [run_of(name) for name in ("full", "cached", "uniform", "fewer")]
    pictures = [torch.zeros(*shape, 3) for _ in runs]
    for picture, color in zip(pictures, colors, strict=True):
        picture[shape[0] // 2] = torch.tensor(color)
    entry = {
        "steps": 2, "full_steps": 1, "seconds": 1.0, "speedup": 1.0, "metrics": {}, "clips": {},
    }  # fmt: skip
    figure = compare_report.figure(
        runs, pictures,
        {
            "speed": "Fast", "closest": "cached", "frames": 1,
            "runs": [entry | {"name": run.name} for run in runs],
        },
    )  # fmt: skip
    _, height, width, _ = figure.shape
    quarters = figure[0, : height // 2 * 2, : width // 2 * 2].unflatten(0, (2, -1))
    for n, color in enumerate(colors):
        quarter = quarters[n // 2, :, width // 2 * (n % 2) : width // 2 * (n % 2 + 1)]
        other = colors[n - 1]
        assert (quarter == torch.tensor(color)).all(-1).float().mean() > 0.05
        assert not (quarter == torch.tensor(other)).all(-1).any()
