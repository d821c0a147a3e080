"""``reports/shootout/report``: kinds, order, who is comparable and who is ahead."""

import pytest

from gph_core.experiments.candidates import Candidate
from gph_core.experiments.shootout import Standing
from gph_core.gates.easycache import EasyCache
from gph_core.paths.conditions import Choice
from gph_core.policies.extrapolation import Reuse
from gph_core.quality.shootout import CandidateRun
from gph_core.reports.shootout.report import report_of
from gph_core.schedule import Schedule

EVEN, MORE = Schedule.parse("0,3,6,9/10"), Schedule.parse("0-4,6/10")
PROMPTS = [{"example": f"{seed} abc", "prompt": "a", "seed": seed} for seed in (1, 2)]


def made(name, schedule, choice=None):
    return Candidate(name, "by hand", schedule, "a plan", choice)


def cached(name, schedule=EVEN, gate=None):
    return made(name, schedule, Choice(schedule, "by hand", Reuse(), gate))


FULL = made("full", Schedule.all_full(10))


def reported(found):
    """Report of candidates with the PSNR of both examples."""
    candidates = [FULL, *found]
    results = {
        candidate.name: [
            CandidateRun(
                entry["example"], candidate.name, candidate.plan,
                {"psnr": psnr} if candidate is not FULL else {}, 2.0, 8.0,
            )
            for entry, psnr in zip(PROMPTS, found.get(candidate, (0.0, 0.0)), strict=True)
        ]
        for candidate in candidates
    }  # fmt: skip
    standing = Standing(candidates, results, PROMPTS, 10, {"model": "abc"})
    return report_of(standing, 4, {"L2P": "needs A"}, {"psnr": "off", "lpips": "off"}, None)


def test_the_full_run_is_first_then_the_best_and_other_counts_are_last():
    report = reported({
        cached("uniform"): (20.0, 22.0), cached("more", MORE): (40.0, 40.0),
        cached("best"): (30.0, 32.0), made("plain steps", Schedule.all_full(4)): (10.0, 10.0),
    })  # fmt: skip
    assert [row["name"] for row in report["rows"]] == [
        "full", "best", "uniform", "plain steps", "more",
    ]  # fmt: skip
    assert [row["comparable"] for row in report["rows"]] == [True, True, True, True, False]
    assert {row["speedup"] for row in report["rows"]} == {4.0}
    assert report["metric"] == "psnr"
    assert report["absent"] == {"L2P": "needs A"}
    assert report["unavailable"] == {"lpips": "off"}  # PSNR was measured after all


def test_who_is_comparable_is_ahead_of_uniform_example_by_example():
    report = reported({
        cached("uniform"): (20.0, 22.0), cached("best"): (30.0, 34.0),
        cached("more", MORE): (40.0, 40.0),
    })  # fmt: skip
    rows = {row["name"]: row for row in report["rows"]}
    assert rows["best"]["ahead"]["psnr"]["mean"] == pytest.approx(11)  # of 10 and 12
    assert [rows[name]["ahead"] for name in ("full", "uniform", "more")] == [{}, {}, {}]


def test_psnr_of_several_examples_has_its_worst_and_the_share_hardly_visible():
    report = reported({cached("uniform"): (32.0, 34.0)})
    psnr = report["rows"][1]["metrics"]["psnr"]
    assert (psnr["mean"], psnr["worst_tenth"], psnr["hardly_visible"]) == (33.0, 32.0, 0.5)


def test_a_kind_is_what_decides_on_the_full_steps():
    report = reported({
        cached("uniform"): (20.0, 22.0), cached("EasyCache", gate=EasyCache(0.1)): (19.0, 19.0),
        made("plain steps", Schedule.all_full(4)): (10.0, 10.0),
    })  # fmt: skip
    assert {row["name"]: row["kind"] for row in report["rows"]} == {
        "full": "full", "uniform": "fixed", "EasyCache": "adaptive", "plain steps": "plain",
    }  # fmt: skip
