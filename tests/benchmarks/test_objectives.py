"""``bench objectives``: which schedules compete, and what an objective's choice is worth."""

import json
import re
from collections import defaultdict

import numpy as np
import pytest
from golden_path_pack.gph_core.schedule import Schedule

from benchmarks.lab.results import FOLDER
from benchmarks.quality import objectives


def test_the_spacings_and_their_neighbors_compete():
    # round(3 i^p) is the last step for every power; even spacing is 4 i / 2. The first step stays.
    expected = [(0, 3), (0, 2), (0, 1)]
    assert objectives.schedules(4, 2) == [Schedule(steps, 4) for steps in expected]


def test_an_objective_is_worth_what_its_choice_is_on_the_other_prompts():
    scores = {
        Schedule((0, 2), 4): [{"psnr": 34.0, "lpips": 0.2}] * 5,
        Schedule((0, 3), 4): [{"psnr": 30.0, "lpips": 0.1}] * 5,
    }
    first, second = (34, 34, 1, 0.2), (30, 30, 0, 0.1)
    for name in objectives.OBJECTIVES:
        chosen = second if name == "LPIPS" else first
        found = objectives.drawn(objectives.stacked(scores, name), 2, 20)
        assert tuple(found) == pytest.approx(chosen)


def test_the_prompts_that_choose_do_not_count():
    """Of two prompts with opposite wishes, the one that chooses always disappoints the other."""
    best, worst = {"psnr": 40.0, "lpips": 0.0}, {"psnr": 20.0, "lpips": 0.5}
    scores = {Schedule((0, 2), 4): [best, worst], Schedule((0, 3), 4): [worst, best]}
    for name in objectives.OBJECTIVES:
        assert objectives.drawn(objectives.stacked(scores, name), 1, 20)[0] == 20


def test_each_objective_but_the_default_has_a_lead(monkeypatch):
    monkeypatch.setattr(objectives, "DRAWS", 20)
    monkeypatch.setattr(objectives, "DRAWS_OF_HALF", 5)
    scores = {
        Schedule((0, 2), 4): [{"psnr": 34.0, "lpips": 0.2}] * 8,
        Schedule((0, 3), 4): [{"psnr": 30.0, "lpips": 0.1}] * 8,
    }
    found = objectives.compared(scores, 2)
    assert list(found) == list(objectives.OBJECTIVES)
    assert "ahead" not in found[objectives.DEFAULT]
    lead = found["LPIPS"].pop("ahead")
    assert found["LPIPS"] == {"psnr": 30, "worst tenth": 30, "good": 0, "lpips": 0.1}
    # All prompts share it, so it is sure.
    assert lead == {"psnr": (-4, 0), "worst tenth": (-4, 0), "good": (-1, 0), "lpips": (-0.1, 0)}


def test_a_lead_is_as_unsure_as_the_prompts_differ(monkeypatch):
    """An objective of noise chooses one schedule, always; the other is better by 2 ± 1 dB."""
    monkeypatch.setattr(objectives, "DRAWS_OF_HALF", 20)
    rng = np.random.default_rng(0)
    gains = 2 + rng.standard_normal(400)
    scores = {
        Schedule((0, 2), 4): [{"psnr": 30.0, "lpips": 0.1} for _ in gains],
        Schedule((0, 3), 4): [{"psnr": 30.0 + gain, "lpips": 0.2} for gain in gains],
    }
    mine, others = (
        objectives.resampled(objectives.stacked(scores, name), 16) for name in ("LPIPS", "PSNR")
    )
    mean, half = objectives.ahead(mine - others)["psnr"]
    assert mean == pytest.approx(-gains.mean(), abs=0.01)
    # Of a mean of 400 values.
    assert half == pytest.approx(1.96 * gains.std() / 20, rel=0.3)


def row(**ahead):
    """Another objective, level with the default but for some leads."""
    level = {"psnr": [1.0, 0.1], "worst tenth": [0.5, 0.6], "good": [0.0, 0.1], "lpips": [0.0, 0.1]}
    return {
        "cfg": 5.0, "steps": 20, "full": 8, "choosers": 16, "objective": "LPIPS",
        "ahead": level | ahead,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("ahead", "is_missed"),
    [
        ({}, False),
        ({"good": [0.2, 0.1]}, True),
        ({"lpips": [-0.2, 0.1]}, True),
        ({"lpips": [0.2, 0.1]}, False),
        ({"good": [0.2, 0.1], "worst tenth": [-0.7, 0.6]}, False),
    ],
)
def test_another_objective_that_is_surely_better_is_a_miss(ahead, is_missed):
    """Mean PSNR alone is none: what counts is what people see."""
    assert bool(objectives.misses({"rows": [row(**ahead)]})) == is_missed


def test_the_bars_that_the_documentation_calls_missed_are_those_of_the_saved_results():
    figures = json.loads((FOLDER / objectives.FILE).read_text("utf-8"))
    assert objectives.misses(figures) == [
        f"CFG 5, 9 of 50, {count} prompts choose: PSNR up to 40 dB is surely ahead of PSNR"
        for count in objectives.CHOOSERS
    ]


def test_the_table_of_the_documentation_has_the_saved_results():
    figures = json.loads((FOLDER / objectives.FILE).read_text("utf-8"))
    text = (FOLDER.parent.parent / "docs" / "results.md").read_text("utf-8")
    section = text.partition("### What a search should maximise")[2].partition("\n### ")[0]
    shown = dict(re.findall(r"^\| (CFG [^|]+) \| (.+) \|$", section, re.M))
    expected = defaultdict(list)
    for row in figures["rows"]:
        expected[objectives.setting(row)].append(
            f"{row['psnr']:.1f}, {row['worst tenth']:.1f}, {100 * row['good']:.1f} %, "
            f"{row['lpips']:.4f}"
        )
    assert shown == {setting: " | ".join(cells) for setting, cells in expected.items()}
