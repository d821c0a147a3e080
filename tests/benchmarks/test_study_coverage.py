"""The study's candidates, and how often one of them is near a prompt's best."""

import random

import numpy as np
import pytest
from golden_path_pack.gph_core.quality.coverage import lower_bound
from golden_path_pack.gph_core.schedule import Schedule

from benchmarks.lab.shots import Shot
from benchmarks.study import candidates, field
from benchmarks.study.parts import coverage

SCHEDULE = Schedule.parse("0-4,9,19,34,49/50")


def named(*names):
    """Schedules of which only the names count."""
    return {name: Schedule((0, number + 1), 50) for number, name in enumerate(names)}


def test_the_most_frequent_schedule_has_the_wanted_number_of_full_steps():
    runs = [Shot(30.0, 0.9, 0.1, text) for text in ("0-2/4", "0-2/4", "0,2/4", "0,3/4", "0,3/4")]
    assert str(candidates.frequent(runs, 2)) == "0,3/4"
    assert candidates.frequent(runs, 4) is None


def test_random_schedules_have_the_first_three_steps_and_the_last_one():
    found = candidates.drawn(50, 9, 6)
    assert list(found) == [f"random {number}" for number in range(1, 7)]
    assert {schedule.num_full for schedule in found.values()} == {9}
    assert all({0, 1, 2, 49} <= set(schedule.full_steps) for schedule in found.values())
    assert len(set(found.values())) == 6
    assert found == candidates.drawn(50, 9, 6)


def test_exchanged_steps_lie_where_they_may():
    for swaps in (1, 2, 3):
        found = candidates.varied(SCHEDULE, swaps, random.Random(0), first=6)
        assert found is not None
        assert found.distance(SCHEDULE) == 2 * swaps
        assert set(found.full_steps) >= {0, 1, 2, 3, 4, 49}
    assert candidates.varied(SCHEDULE, 4, random.Random(0), first=6) is None


def test_variants_are_exchanged_behind_the_first_cached_step_or_anywhere():
    late, anywhere = field.variants(SCHEDULE)
    assert late["MeanCache, 4 exchanged"] is None  # of 9, 19 and 34
    far = anywhere["MeanCache, 4 exchanged anywhere"]
    assert far is not None  # of 3, 4, 9, 19 and 34
    assert far.distance(SCHEDULE) == 8
    assert {0, 1, 2, 49} <= set(far.full_steps)


def test_each_schedule_is_a_candidate_once():
    other = Schedule.parse("0-8/50")
    found = candidates.distinct({"a": SCHEDULE, "none": None, "b": SCHEDULE, "c": other})
    assert found == {"a": SCHEDULE, "c": other}


# Two prompts that choose beforehand, four new ones: their best ones are 30.2, 31.6, 32 and 34 dB of
# the first two, 30.2, 31.6, 40 and 34 of all.
FIELD = field.Field(
    50, 13, named("MeanCache", "uniform", "random 1"), 2,
    {
        "PSNR": np.array([
            [30.0, 30.0, 30.0, 31.0, 32.0, 33.0],
            [29.0, 29.0, 30.2, 31.6, 31.0, 34.0],
            [31.0, 28.0, 20.0, 31.0, 40.0, 20.0],
        ])
    },
)  # fmt: skip
MARGINS = (0.25, 0.5, 1.0)


def test_the_schedule_with_the_highest_coverage_is_chosen_on_new_prompts_or_beforehand():
    row = coverage.covered(FIELD, 2, "PSNR", 2, MARGINS)
    assert (row["chosen"], row["beforehand"]) == ("uniform", "MeanCache")
    shares, bounds = zip(*row["coverage"], strict=True)
    assert shares == (0.75, 0.75, 1.0)
    assert bounds[2] == pytest.approx(0.025 ** (1 / 4))  # of two candidates
    shares, bounds = zip(*row["coverage beforehand"], strict=True)
    assert shares == (0.5, 0.5, 1.0)
    assert bounds == pytest.approx([lower_bound(2, 4), lower_bound(2, 4), 0.05 ** (1 / 4)])
    assert row["best random"] is None


def test_more_candidates_make_the_best_of_a_prompt_better():
    row = coverage.covered(FIELD, 3, "PSNR", 2, MARGINS)
    assert row["chosen"] == "uniform"
    assert [share for share, _ in row["coverage"]] == [0.75, 0.75, 0.75]
    assert row["best random"] == 0.25
    curves = coverage.shown(FIELD, 2)
    np.testing.assert_allclose(curves["with the highest coverage"], [0, 0, 0, 9])
    np.testing.assert_allclose(curves["best random"], [0, 0.6, 10.2, 14])


def test_margins_mean_what_a_cached_step_more_costs_new_prompts():
    names = named("BudCache", "MeanCache", "DPCache", "uniform")
    # 29, 37 and 41 of 50 cached; medians on three new prompts, the first prompt chooses.
    fields = [
        field.Field(50, full, names, 4, {"PSNR": np.array([[99.0, psnr - 9, psnr, psnr]] * 4)})
        for full, psnr in ((21, 40.0), (13, 32.0), (9, 26.0))
    ]
    costs = coverage.changes(fields, "PSNR", 1)
    assert costs == [8 / 8, 6 / 4] * 4
    assert coverage.margins_of("PSNR", costs) == {
        "of the source": (0.25, 0.5, 1.0), "derived here": (0.625, 1.25, 2.5),
    }  # fmt: skip
    assert coverage.changes(fields[:1], "PSNR", 1) == []
    assert list(coverage.margins_of("SSIM", [])) == ["of the source"]


def test_bounds_above_one_half_are_counted():
    def row(chosen, beforehand):
        return {"set": "smaller", "coverage": chosen, "coverage beforehand": beforehand}

    rows = [
        row([[0.6, 0.4], [0.8, 0.6]], [[0.5, 0.45], [0.7, 0.55]]),
        row([[0.7, 0.51], [0.8, 0.6]], [[0.5, 0.45], [0.5, 0.5]]),
    ]
    text = coverage._passed([*rows, {"set": "enlarged"}], "smaller")
    assert "of 2, bounds above one half at the three margins 1, 2; chosen beforehand 0, 1." in text


def test_the_steps_of_chosen_schedules_are_reported_once():
    def row(full, chosen, beforehand):
        return {"full": full, "chosen": chosen, "beforehand": beforehand}

    fields = [
        {"steps": 50, "full": full, "schedules": {"uniform": f"0-{full}/50", "a": "0-3/50"}}
        for full in (13, 9)
    ]
    rows = [row(13, "uniform", "a"), row(13, "uniform", "uniform"), row(9, "uniform", "uniform")]
    assert coverage._chosen({"fields": fields, "rows": rows}).splitlines() == [
        "- 13 of 50, uniform: 0-13/50", "- 13 of 50, a: 0-3/50", "- 9 of 50, uniform: 0-9/50",
    ]  # fmt: skip
