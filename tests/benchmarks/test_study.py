"""The study: what its parts make of measurements, and that all of them run."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from golden_path_pack.gph_core.schedule import Schedule, ScheduleSpace

import dev
from benchmarks.lab import report
from benchmarks.lab.shots import Shot
from benchmarks.study import PARTS, part_of
from benchmarks.study.__main__ import main
from benchmarks.study.parts import (
    examples,
    exhaustive,
    objectives,
    recurrence,
    replay,
    samplers,
    search,
    step_counts,
    trajectories,
)
from benchmarks.study.space_table import SpaceTable
from benchmarks.study.work import Work
from devtools.paths import BENCHMARKS

RESULTS = BENCHMARKS / "results" / "study"
REPORT = dev.ROOT / "docs" / "study.md"

# 0-1/4, 0,2/4 and 0,3/4 on four scoring prompts and four new ones.
TABLE = SpaceTable(
    ScheduleSpace(4, 2, (0,)),
    {
        "psnr": np.array([
            [20.0, 30.0, 20.0, 20.0, 10.0, 10.0, 10.0, 10.0],
            [24.0, 24.0, 24.0, 24.4, 20.0, 20.2, 20.4, 21.2],
            [23.0, 23.0, 25.0, 25.1, 21.0, 20.0, 21.0, 20.0],
        ])
    },
)  # fmt: skip


def test_numbers_stand_between_the_marks_of_their_part():
    page = "# Study\n<!-- numbers of a -->\nold\n<!-- end of a -->\ntext\n"
    new = report.replaced(page, "a", "| 1 |")
    assert new == "# Study\n<!-- numbers of a -->\n| 1 |\n<!-- end of a -->\ntext\n"
    assert report.numbers(new, "a") == "| 1 |"


def test_a_part_without_a_place_in_the_report_is_an_error():
    with pytest.raises(ValueError, match="no place for the numbers of b"):
        report.replaced("# Study\n", "b", "| 1 |")


def test_results_are_plain_and_have_a_line_for_each_row():
    data = {"unit": "dB", "rows": [{"a": np.float64(1.23456789)}, {"a": np.arange(2)}]}
    text = report.to_json(report.plain(data))
    assert text == '{"unit": "dB",\n"rows": [\n{"a": 1.2346},\n{"a": [0, 1]}\n]}\n'
    with pytest.raises(ValueError, match="not JSON compliant"):
        report.to_json({"rows": [{"a": float("nan")}]})


def test_sizes_are_those_of_the_study_or_of_a_trial(tmp_path):
    assert Work(False, tmp_path).lab(20).prompts.unseen == 100
    assert Work(True, tmp_path).lab(20).prompts.unseen == 6
    assert Work(True, tmp_path).size(1, 2) == 2
    assert str(Work(False, tmp_path, "video").lab(20)) == "video, 20 steps, CFG 5"
    of_uni_pc = Work(False, tmp_path, "video", "uni_pc")
    assert str(of_uni_pc.lab(20)) == "video, 20 steps, CFG 5, uni_pc"


def test_a_part_is_about_the_image_model_or_about_the_video_model():
    assert part_of("trajectories") == (trajectories, "image", "euler")
    assert part_of("trajectories-video") == (trajectories, "video", "euler")
    assert part_of("replay-video-uni_pc") == (replay, "video", "uni_pc")


def test_the_shared_schedule_is_measured_against_each_new_prompts_best():
    assert exhaustive.chosen(TABLE, 4) == 1  # 22.5, 24.1 and 24.025 dB
    row = exhaustive.row(TABLE, "chosen", 1)
    assert (row["schedule"], row["rank"]) == ("0,2/4", 2)
    assert row["psnr"] == pytest.approx(20.45)
    assert row["loss"] == pytest.approx(0.05)
    assert row["gaps"] == pytest.approx([0.0, 0.0, 0.6, 1.0])
    assert [share for _, share, _ in row["coverage"]] == [0.5, 0.5, 1.0]


def test_a_selection_says_what_the_space_is_like():
    found = exhaustive.selection(TABLE, 4)
    assert found["gaps"] == pytest.approx([0.0, 0.7, 1.0, 6.0])  # prompts 1, 4, 3, 2
    assert found["different optima"] == 3
    assert found["near"] == {0.01: 1, 0.05: 1, 0.1: 2, 0.2: 2, 0.5: 2, 1.0: 2}
    assert found["near every optimum"] == 0
    assert [name for name, *_ in found["optima"]] == ["0,2/4"]  # all are one swap apart
    assert found["transfer"]["spearman"] == pytest.approx(0.5)  # 3, 1, 2 against 3, 2, 1


def test_choosing_on_a_single_example_costs_what_its_best_schedule_loses():
    row = examples.row(TABLE.scoring, TABLE.new.mean(axis=1), 0, 1)
    # The examples choose 0,2/4, 0-1/4 and twice 0,3/4: 24.1, 22.5 and 24.025 dB on all scoring
    # prompts, 20.45, 10.0 and 20.5 dB on new ones.
    assert row["subsets"] == 4
    assert row["loss on scoring prompts"] == pytest.approx((0 + 1.6 + 0.075 + 0.075) / 4)
    assert row["loss on new prompts"] == pytest.approx((0.05 + 10.5) / 4)
    assert row["ahead"] == 0.75  # of 0-1/4


MEANS = {Schedule((0, n), 4): value for n, value in ((1, 20.0), (2, 24.0), (3, 23.0))}


def test_a_course_has_the_best_schedule_after_each_evaluation():
    found = search.course(ScheduleSpace(4, 2, (0,)), MEANS, "random", seed=0)
    assert len(found) == 3
    values = [MEANS[schedule] for schedule in found]
    assert values == sorted(values)
    assert values[-1] == 24.0


def test_searches_are_summed_up_at_numbers_of_evaluations(monkeypatch):
    monkeypatch.setattr(search, "AFTER", (1, 2, 3))
    low, best, near = MEANS
    new = {low: 10.0, best: 20.0, near: 21.0}
    found = search.figures_of([[low, near, best], [near, near]], MEANS, new)
    assert found["gaps"] == pytest.approx([(4 + 1) / 2, 1.0, (0 + 1) / 2])
    assert found["exact"] == 1
    assert found["evaluations"] is None  # the median of 3 and never
    assert found["loss on new prompts"] == pytest.approx(21 - 20.5)
    assert search.figures_of([[low, best]], MEANS, new)["evaluations"] == 2


def test_a_schedule_found_with_euler_is_ranked_among_the_candidates_of_another_sampler():
    euler, other = TABLE.scoring[[1, 2, 0]], TABLE.new[[1, 2, 0]]
    row = samplers.row(other, euler, uniform=2)
    assert (row["rank"], row["loss"]) == (2, pytest.approx(0.05))
    assert row["spearman"] == pytest.approx(0.5)
    assert row["ahead of uniform"].mean == pytest.approx(10.45)
    assert row["coverage"][0] == 1.0


def test_candidates_are_the_best_ones_uniform_spacing_and_others():
    assert TABLE.uniform == 2
    found = samplers.candidates_of(TABLE, 1, 20)
    assert list(map(str, found)) == ["0,2/4", "0,3/4", "0-1/4"]  # each once


def shots(*psnr):
    return [Shot(value, value / 100, 1 / value, "0,2/4") for value in psnr]


def test_ways_of_sampling_are_compared_on_the_same_prompts():
    found = step_counts.compared({"a": shots(30.0, 34.0), "b": shots(29.0, 31.0)}, "a")
    assert found["psnr"]["b"].mean == 30.0
    assert found["ahead"]["b"] == pytest.approx((2.0, 1.0, 3.0))


def test_metrics_of_which_less_is_better_are_ahead_where_they_are_lower():
    found = objectives.compared(shots(20.0, 25.0), shots(40.0, 50.0))
    assert found["psnr ahead"].mean == pytest.approx(-22.5)
    assert found["ssim ahead"].mean == pytest.approx(-0.225)
    assert found["latent_mse"].mean == pytest.approx(0.045)
    assert found["latent_mse ahead"].mean == pytest.approx(-0.0225)


def test_recurring_schedules_are_counted():
    often, seldom = Schedule.parse("0,2/4"), Schedule.parse("0,3/4")
    found = recurrence.figures_of([often, often, seldom, often, seldom, seldom, often, often])
    assert (found["runs"], found["unique"], found["cached"]) == (8, 2, 2.0)
    assert found["effective"] == pytest.approx(8 / (5**5 * 3**3) ** (1 / 8))
    assert found["top"] == [0.625, 1.0, 1.0]
    assert found["most"] == [["0,2/4", 0.625], ["0,3/4", 0.375]]
    # Of 3 and 1, of 2 and 2: equal ones by their text.
    assert (found["halves"], found["distance of halves"]) == (True, 0)
    other = recurrence.figures_of([often, often, seldom, seldom])
    assert (other["halves"], other["distance of halves"]) == (False, 2)


def test_a_replay_is_concluded_from_pairs_with_enough_runs():
    def row(method, runs, shared, random):
        return {
            "method": method, "steps": 50, "full": 13, "psnr": 30.0, "schedule": "0,2/4",
            "runs": runs, "replayed psnr": shared, "replayed ssim": shared, "random psnr": random,
            "random ssim": random,
        }  # fmt: skip

    rows = [
        row("SeaCache", 20, (-0.5, 0.2), (-3.0, 0.2)),
        row("SeaCache", 15, (0.1, 0.2), (0.3, 0.2)),
        row("TeaCache", 10, (0.4, 0.1), (-2.0, 0.2)),
        row("DiCache", 0, None, None),
    ]
    summary = replay.summary({"few": 10, "rows": rows})
    assert "Over the 3 pairs with 10 such runs or more (45 runs)" in summary
    assert "has a median of 0.40 dB" in summary
    assert "from -0.50 to +0.40 and is above -0.25 in 2. Its interval is below 0 in 1" in summary
    assert "median -2.00 dB, worse than the shared one in 1 of 2 (SeaCache), 1 of 1" in summary
    assert "No pair has 10 runs that differ." in replay.summary({"few": 10, "rows": rows[3:]})


@pytest.mark.parametrize("name", PARTS)
def test_the_report_has_the_kept_numbers(name):
    part = part_of(name).module
    summary = report.summary(part, name, json.loads((RESULTS / f"{name}.json").read_text("utf-8")))
    assert report.numbers(REPORT.read_text("utf-8"), name) == summary
    assert (RESULTS / f"{name}.png").exists()


def test_what_cannot_be_is_refused(monkeypatch, capsys):
    for words, message in (
        (["--quick", "everything"], f"there is no part everything; there are {', '.join(PARTS)}"),
        (["--out", "folder"], "--out is for --quick"),
    ):
        monkeypatch.setattr("sys.argv", ["study", *words])
        with pytest.raises(SystemExit):
            main()
        assert message in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.skipif(not os.environ.get("COMFYUI_PATH"), reason="needs ComfyUI")
def test_the_quick_study_runs_all_parts_and_leaves_the_repository_alone(tmp_path):
    before = REPORT.read_bytes()
    result = subprocess.run(
        [sys.executable, "-m", "benchmarks.study", "--quick", "--out", str(tmp_path)],
        cwd=dev.ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    page = (tmp_path / "study.md").read_text("utf-8")
    for name in PARTS:
        data = json.loads((tmp_path / f"{name}.json").read_text("utf-8"))
        assert data["rows"]
        assert data["conditions"]["prompts"] == "few"
        part = part_of(name).module
        assert report.numbers(page, name) == report.summary(part, name, data)
        assert (tmp_path / f"{name}.png").stat().st_size > 5000
    assert REPORT.read_bytes() == before
