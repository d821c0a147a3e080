"""The errors of the study: which schedules are taken apart, and what is reported of them."""

import pytest
from golden_path_pack.gph_core.analysis.decomposition import Decomposition
from golden_path_pack.gph_core.analysis.isolated_steps import IsolatedStep
from golden_path_pack.gph_core.analysis.step_sensitivity import StepSensitivity
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.schedule import Schedule

from benchmarks.lab.shots import Shot
from benchmarks.study import taken_apart
from benchmarks.study.parts import errors


def run(current, state, gaps):
    """Of three steps, the middle one cached."""
    velocity = tuple(a + g for a, g in zip(current, state, strict=True))
    return Decomposition((1,), current, state, velocity, gaps, chord=10.0, rounding=1e-7)


RUNS = (
    run((0.0, 1.0, 0.0), (0.0, 0.0, 2.0), (0.0, 0.0, 1.0, 3.0)),
    run((0.0, 3.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, 2.0, 2.0)),
    run((0.0, 2.0, 0.0), (0.0, 0.0, 3.0), (0.0, 0.0, 3.0, 4.0)),
)


def test_a_schedule_is_summed_up_by_means_and_the_ranks_of_its_prompts():
    row = taken_apart.row(RUNS, [Shot(psnr, 1.0, 0.0, "0,2/3") for psnr in (20.0, 21.0, 25.0)])
    assert (row["psnr"], row["output error"], row["state"], row["current"]) == (22, 3, 2, 2)
    # Errors 3, 2, 4; state contributions 2, 1, 3 and current ones 1, 3, 2.
    assert row["over prompts"] == pytest.approx({"state": 1.0, "current": -0.5})
    assert row["gaps"] == (0.0, 0.0, 0.2, 0.3)


def of_schedule(psnr, error, cost, gaps, state, current):
    correlations = {"state": state, "current": current}
    return {
        "psnr": psnr, "output error": error, "cost": cost, "gaps": gaps,
        "over prompts": correlations,
    }  # fmt: skip


ROWS = [
    of_schedule(20.0, 3.0, 5.0, [0.0, 0.1, 0.3], 0.5, None),
    of_schedule(25.0, 1.0, 4.0, [0.0, 0.3, 0.2], 1.0, 0.25),
    of_schedule(30.0, 2.0, 7.0, [0.0, 0.2, 0.1], 0.75, -0.25),
]


def test_gaps_errors_and_costs_are_held_against_quality():
    ranks = taken_apart.ranks(ROWS)
    assert ranks.pop("gap and psnr") == [None, pytest.approx(0.5), pytest.approx(-1.0)]
    assert ranks == pytest.approx(
        {"error and psnr": -0.5, "cost and error": 0.5, "cost and psnr": 0.5}
    )


def test_schedules_that_are_taken_apart_are_all_different_and_near_known_ones():
    planned = Schedule.parse("0-5,19/20")
    found = taken_apart.candidates(planned, 3)
    assert [str(schedule) for schedule in found[:2]] == ["0-5,19/20", "0,3,6,9,12,15,19/20"]
    near = [[known.distance(schedule) for schedule in found[2:8]] for known in found[:2]]
    assert near[0][:3] == near[1][3:] == [2, 2, 2]
    assert len(set(found)) == len(found)
    assert all({0, 19} <= set(schedule.full_steps) for schedule in found)
    assert found == taken_apart.candidates(planned, 3)


def test_the_cost_of_a_schedule_is_that_of_its_jumps():
    gains, errors_of_steps = (None, 2.0, 3.0, None), ((), (5.0,), (7.0, 11.0), ())
    found = StepSensitivity((1.0,), Reuse(), 1, gains, (None,) * 4, errors_of_steps, {})
    assert taken_apart.cost(found, Schedule.parse("0,2,3/4")) == 2 * 5
    assert taken_apart.cost(found, Schedule.parse("0,3/4")) == 2 * 5 + 3 * 11


def test_a_plan_is_compared_by_the_error_that_it_is_made_for_too():
    ours, theirs = ([Shot(psnr, 1.0, mse, "0/2") for psnr, mse in some] for some in (
        [(20.0, 4.0), (30.0, 1.0)], [(21.0, 9.0), (31.0, 1.0)],
    ))  # fmt: skip
    found = errors.compared(ours, theirs)
    assert found["psnr"].tolist() == [25.0, 26.0]
    assert found["ahead"] == pytest.approx((-1.0, -1.0, -1.0))
    assert found["rms error"].tolist() == [1.5, 2.0]
    assert found["less error"].mean == pytest.approx(0.5)


def test_scores_are_of_all_prompts_and_steps():
    def step(number, feature_error, output_error):
        return IsolatedStep(
            number, (feature_error,), 2 * feature_error, feature_error, output_error
        )

    # The other prompt's errors grow with those of features, each half as much.
    prompts = [[step(1, 1.0, 4.0), step(2, 2.0, 3.0)], [step(1, 0.5, 2.0), step(2, 1.0, 1.5)]]
    found = errors.scored(prompts, [1.0, 0.75, 0.25, 0.0])
    assert found["pairs"] == 4
    assert found["steps"] == (1, 2)
    # Velocity gains of 2 and future ones of 4 and 1.5, over step sizes of 0.5 and 0.25.
    assert found["gains"] == pytest.approx([2 * 0.5 * 4, 2 * 0.25 * 1.5])
    assert found["halves"] == pytest.approx(1.0)
    assert found["feature errors"] == pytest.approx([0.75, 1.5])
    assert found["output errors"] == pytest.approx([3.0, 2.25])
    # 4, 3, 2 and 1.5 by products of 4, 1.5, 2 and 0.75; -k is -1, -2, -1 and -2.
    assert found["correlations"]["feature_error_x_gain"] == pytest.approx(0.8)
    assert found["correlations"]["step_only"] == pytest.approx(0.4472, abs=1e-4)
    assert found["own"] == found["other"] == pytest.approx([1.0, 1.0])


def test_the_main_numbers_of_errors_are_reported():
    scores = dict.fromkeys(errors.SCORES, 0.5) | {"step_only": None}
    summary = errors.summary({
        "steps": 2, "full": 1, "prompts": {"alone": 2, "apart": 3, "compared": 4},
        "rounding": 1.25e-7, "over schedules": {"state": 0.9, "current": None},
        "ranks": taken_apart.ranks(ROWS), "rows": ROWS,
        "scores": [{
            "policy": "reuse", "pairs": 4, "correlations": scores, "halves": 1.0,
            "own": [0.5, 0.6], "other": [0.4, 0.7],
        }],
        "planned": [{
            "policy": "reuse", "full": 1, "steps": 2, "schedule": "0/2",
            "psnr": [20.0, 19.0], "ahead": [1.0, 0.5, 1.5], "rms error": [0.3, 0.25],
            "less error": [-0.05, -0.1, 0.0],
        }],
    })  # fmt: skip
    assert "the state recursion holds to 1.2e-07" in summary
    assert "state contributions, over the prompts of a schedule: median 0.750 (0.500 to" in summary
    assert "current contributions: median 0.000 (-0.250 to 0.250)" in summary
    assert "over schedules: 0.900 and not defined." in summary
    assert "not defined at state 0, 0.500 at state 1, -1.000 at the end; with the mean" in summary
    assert "0.500 with the mean final error, 0.500 with mean PSNR" in summary
    assert "| reuse | 4 | not defined | 0.500 |" in summary
    assert "| 1.000 | 0.400 for 0.500, 0.700 for 0.600 |" in summary
    assert (
        "| reuse | 1 of 2 | 0/2 | 20.00 | 19.00 | +1.00 (+0.50 to +1.50) | 0.300 | 0.250 |"
        in summary
    )
    assert "| -0.050 (-0.100 to +0.000) |" in summary
