"""``bench turbo``: the best schedule, what EasyCache evaluates, how pictures are judged."""

import json
import re
from functools import partial

import pytest
import torch
from golden_path_pack.gph_core.learning.lesson import budget_of
from golden_path_pack.gph_core.schedule import Schedule, ScheduleSpace
from golden_path_pack.gph_core.search.study import Measurement

from benchmarks.lab.lab import Lab, Prompts
from benchmarks.lab.results import FOLDER
from benchmarks.lab.subjects import STUDENT
from benchmarks.lab.ways import PLAIN
from benchmarks.quality import turbo

STEPS = 5


@pytest.fixture(scope="module")
def lab():
    return Lab(STEPS, 1.0, prompts=Prompts(unseen=2), subject=STUDENT)


class Known:
    """Two examples whose mean is the highest where late steps are full."""

    def __len__(self):
        return 2

    def begin(self): ...

    def measure(self, schedule, examples):
        mean = sum(schedule.full_steps)
        return Measurement([{"psnr": mean + number} for number in examples], 0)


@pytest.mark.parametrize("limit", [6, 5])
def test_the_best_schedule_is_that_of_all_or_of_some(monkeypatch, limit):
    monkeypatch.setattr(turbo, "SMALL", limit)
    assert turbo.best(Known(), ScheduleSpace(5, 2)) == Schedule((0, 3, 4), 5)  # of 6 schedules


def test_without_trials_the_schedule_of_learn_is_the_preferred_one(lab):
    assert budget_of(STEPS, 3, 2).trials == 0
    # round(4 (i / 2)^1.5); other schedules have higher scores.
    assert turbo.as_learned(lab, Known(), 3) == Schedule((0, 1, 4), 5)


def test_easy_cache_is_counted_by_what_it_evaluates(lab):
    calls = []
    with torch.inference_mode():
        for threshold in (0.0, 3.0):
            turbo.easy_cache(threshold, calls, lab.unseen.batch([0]))
    assert calls[0] == STEPS
    assert 2 <= calls[1] < STEPS


def test_the_run_of_all_steps_is_equal_to_itself_and_noise_is_not(lab):
    album = turbo.Album(lab)
    assert album.scores(album.full)["psnr"] == (100, 0)
    gray = [torch.full_like(image, 0.5) for image in album.full]
    found = album.scores(gray, album.full)
    assert found["psnr"][0] < 20
    assert found["ahead"][0] == pytest.approx(found["psnr"][0] - 100, abs=1e-3)
    assert (found["counts"], found["shapes"]) == (0, 0)  # gray is no colour of the vocabulary


def test_fewer_steps_end_at_the_same_level(lab):
    album = turbo.Album(lab)
    with torch.inference_mode():
        again = album.of(partial(turbo.fewer_steps, lab.sigmas))
    assert all(torch.equal(one, other) for one, other in zip(again, album.full, strict=True))


def of_8(**changes):
    """Rows of 8 steps: all of them, and six by the node; each claim is just held."""
    whole = {"steps": 8, "full": 8, "way": turbo.ALL_STEPS, "counts": 0.97, "shapes": 0.85}
    row = {"steps": 8, "full": 6, "way": turbo.DEFAULT, "ahead": [3.5, 0.5], "good": 0.9}
    return {"rows": [whole, row | {"counts": 0.95, "shapes": 0.83} | changes]}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ""),
        ({"ahead": [3.5, 0.6]}, "6 of 8: 3.5 ± 0.6 dB ahead"),
        ({"good": 0.89}, "89% hardly visible"),
        ({"counts": 0.94}, "3.0% fewer right"),
        ({"shapes": 0.82}, "3.0% fewer right"),
    ],
)
def test_what_readme_says_is_a_bar(changes, words):
    assert words in "".join(turbo.misses(of_8(**changes)))
    assert bool(turbo.misses(of_8(**changes))) == bool(words)


def test_the_saved_results_hold_what_readme_says():
    figures = json.loads((FOLDER / turbo.FILE).read_text("utf-8"))
    assert turbo.misses(figures) == []
    measured = {(row["steps"], row["full"]) for row in figures["rows"]}
    assert set(turbo.CLAIMED) <= measured


def test_the_table_of_the_documentation_has_the_saved_results():
    rows = json.loads((FOLDER / turbo.FILE).read_text("utf-8"))["rows"]
    found = {(row["full"], row["steps"], row["way"]): row for row in rows}
    ways = (PLAIN, turbo.DEFAULT, turbo.REUSE, turbo.LEARN, turbo.FROM_2, turbo.FITTED)
    text = (FOLDER.parent.parent / "docs" / "results.md").read_text("utf-8")
    lines = re.findall(
        r"^\| (\d+) of (\d+) \| (.+ %) \|$", text.partition("## Models of few")[2], re.M
    )
    assert len(lines) == 16
    for full, steps, cells in lines:
        shown = cells.replace("**", "").split(" | ")
        of = [found.get((int(full), int(steps), way)) for way in ways]
        expected = [
            f"{row['psnr'][0]:.1f}, {100 * row['good']:.0f} %" if row else "–" for row in of
        ]
        right = [f"{100 * row['counts']:.1f}, {100 * row['shapes']:.1f} %" for row in of[:2]]
        assert shown == expected + right, (full, steps)


def test_rows_of_other_students_stay():
    kept = {"rows": [{"steps": 4, "way": "old"}, {"steps": 8, "way": "old"}]}
    found = turbo.merged(kept, {"rows": [{"steps": 4, "way": "new"}]})
    assert found == {"rows": [{"steps": 4, "way": "new"}, {"steps": 8, "way": "old"}]}
