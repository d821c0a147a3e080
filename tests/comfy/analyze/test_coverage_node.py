"""Coverage takes shootouts and says who is near the best of each prompt."""

import json

import numpy as np
import pytest
from golden_path_pack.gph_core.quality import reports
from golden_path_pack.gph_core.quality.margin_choice import DERIVED, OWN, PUBLISHED
from golden_path_pack.nodes.analyze.coverage import Coverage

from ...support.comfy.shootouts import shootout
from ...support.made_shootouts import EARLY, HERMITE, row, text

pytestmark = pytest.mark.usefixtures("in_a_run")

# Best of the fixed ones: 23, 21, 22.5; gaps of uniform 3, 0, 0.5 and of mine 0, 1, 0.
ROWS = [
    row("uniform", [20.0, 21.0, 22.0]),
    row("mine", [23.0, 20.0, 22.5], EARLY),
    row("SeaCache", [22.8, 21.5, 20.0], kind=reports.ADAPTIVE),
]


def run(*texts, metric="PSNR", margins=OWN, values="0.25, 0.5, 1"):
    shootouts = {f"shootout{number}": text for number, text in enumerate(texts)}
    return Coverage.execute(shootouts, metric, margins, values)


def shares(part):
    return {row["name"]: [c["share"] for c in row["coverage"]] for row in part["rows"]}


def test_coverage_by_hand():
    figure, table, found = run(text(ROWS)).result
    report = json.loads(found)
    (part,) = report["tables"]
    assert (part["full_steps"], part["prompts"], part["candidates"]) == (4, 3, 2)
    expected = {"mine": [2 / 3, 2 / 3, 1], "uniform": [1 / 3, 2 / 3, 2 / 3]}
    expected["SeaCache"] = [2 / 3, 2 / 3, 2 / 3]  # 0.2 below, 0.5 ahead, 2.5 below
    assert shares(part) == {name: pytest.approx(some) for name, some in expected.items()}
    rows = {row["name"]: row for row in part["rows"]}
    np.testing.assert_allclose(rows["SeaCache"]["gaps"], [0.2, -0.5, 2.5])
    # All of three, of two candidates: the third root of 0.025; with two of them 0.05 and 1.
    assert rows["mine"]["coverage"][2]["corrected"] == pytest.approx(0.025 ** (1 / 3))
    assert rows["mine"]["coverage"][2]["lower"] == pytest.approx(0.05 ** (1 / 3))
    assert rows["SeaCache"]["chosen_from"] == 1
    assert figure.shape[0] == 1
    assert figure.shape[3] == 3
    assert table.splitlines()[:3] == [
        "4 full steps, 3 prompts: share of prompts within a margin of the best of 2 schedules, by "
        "PSNR",
        "                           0.25 dB         0.5 dB           1 dB",
        "mine                 0.667 [0.094]  0.667 [0.094]  1.000 [0.292]",
    ]
    assert "best shared schedule: mine: 0-2,9/10" in table


def test_the_page_gets_the_table():
    output = run(text(ROWS))
    (summary,) = output.ui["gph_summary"]
    assert summary["text"] == output.result[1]


def test_margins_are_published_derived_or_given():
    def margins(*args, **kwargs):
        return json.loads(run(*args, **kwargs).result[2])["margins"]

    assert margins(text(ROWS), margins=PUBLISHED) == [0.25, 0.5, 1.0]
    assert margins(text(ROWS), values="2 0.5") == [0.5, 2.0]
    # With two more cached steps the medians 21 and 22.5 fall to 18 and 17.5: 1.5 and 2.5 each.
    fewer = [
        row("uniform", [18.0, 17.0, 19.0], "0,9/10"), row("mine", [17.5, 17.0, 18.0], "0,5/10"),
    ]  # fmt: skip
    both = [text(fewer, full_steps=2), text(ROWS)]
    assert margins(*both, margins=DERIVED) == pytest.approx([1.0, 2.0, 4.0])
    assert [part["full_steps"] for part in json.loads(run(*both).result[2])["tables"]] == [4, 2]


def test_own_margins_are_checked_before_anything_runs():
    assert Coverage.validate_inputs(OWN, "0.5") is True
    assert Coverage.validate_inputs(PUBLISHED, "x") is True
    assert "are no margins" in Coverage.validate_inputs(OWN, "x")
    assert "not 'all'" in Coverage.validate_inputs("all", "")


def test_one_schedule_alone_has_nothing_to_be_near_to():
    with pytest.raises(ValueError, match=r"two or more fixed .* with 4 full steps there is 1"):
        run(text(ROWS[:1]))


def test_a_text_that_is_no_shootout_is_named():
    with pytest.raises(ValueError, match="shootout1: the text is no JSON of Method Shootout"):
        run(text(ROWS), "{}")


def test_what_is_left_out_is_said():
    moved = row("golden path", [25.0, 25.0, 25.0], "0-3,9/10", comparable=False)
    more = [row("uniform", [30.0, 31.0, 32.0], policy=HERMITE)]
    _, table, _ = run(text([*ROWS, moved]), text(more, prompts=("b", "c", "d"))).result
    assert "2 prompts: share of prompts within a margin of the best of 3 schedules" in table
    assert "2 examples left out: some rows lack them" in table
    assert "left out because of other numbers of full steps: golden path" in table
    assert "uniform, Hermite order 2" in table


@pytest.mark.long
def test_a_real_shootout_is_taken():
    made = shootout(["uniform", "plain steps"], schedule="mine: 0-2,9/10", vae=None)
    _, table, found = run(made.result[2], metric="latent MSE", values="1").result
    (part,) = json.loads(found)["tables"]
    rows = {row["name"]: row for row in part["rows"]}
    assert part["prompts"] == 2
    assert {name: row["kind"] for name, row in rows.items()} == {
        "uniform": "fixed", "mine": "fixed", "plain steps": "plain",
    }  # fmt: skip
    best = np.minimum(rows["uniform"]["gaps"], rows["mine"]["gaps"])
    np.testing.assert_array_equal(best, np.zeros(2))
    assert "plain steps (no cache)" in table
