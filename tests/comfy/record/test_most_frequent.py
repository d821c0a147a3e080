"""Most Frequent Schedule counts schedules of recorded runs."""

import sys

import pytest
from golden_path_pack.gph_core.paths.library import NONE
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.nodes.record.most_frequent import MostFrequentSchedule

from ...support.comfy.tiny_recordings import RUNS, A, B, C, D, made

pytestmark = pytest.mark.usefixtures("in_a_run")


def test_frequencies_by_hand(model):
    schedule, frequency, table, figure, policy = MostFrequentSchedule.execute(
        NONE, 0, made(model, RUNS)
    ).result
    assert (schedule, frequency) == (A, 0.4)
    lines = table.splitlines()
    assert lines[0] == f"{A}: 4 of 10 runs"
    assert lines[1] == "policy of the runs: residual reuse"
    assert [line.split() for line in lines[3:7]] == [
        ["4", "40.0%", "3", "█···█··█", A],
        ["3", "30.0%", "4", "██··█··█", C],
        ["2", "20.0%", "3", "█··█···█", B],
        ["1", "10.0%", "2", "█······█", D],
    ]
    # exp of 0.4 ln 2.5 + 0.3 ln 3.333 + 0.2 ln 5 + 0.1 ln 10 = exp 1.27985 = 3.596.
    assert lines[7:] == [
        "share of the runs with the most frequent schedules: top 1 40.0%, top 3 90.0%, "
        "top 10 100.0%",
        "4 different schedules, as spread as 3.60 equally frequent ones",
        "cached steps: mean 4.80; 4 in 3 runs, 5 in 6 runs, 6 in 1 run",
        "2 runs stopped early, left out of these figures",
    ]
    assert figure.shape[0] == 1
    assert figure.shape[3] == 3
    assert policy == Reuse()


def test_the_most_frequent_schedule_of_a_number_of_full_steps(model):
    runs = made(model, RUNS)
    assert MostFrequentSchedule.execute(NONE, 4, runs).result[:2] == (C, 0.3)
    schedule, frequency, table, *_ = MostFrequentSchedule.execute(NONE, 6, runs).result
    assert (schedule, frequency) == (A, 0.4)
    assert "no run has 6 full steps, so this is the most frequent schedule of all" in table


def test_of_many_schedules_ten_are_shown(model):
    texts = [f"0,{n},7/8" for n in range(1, 7)] + [f"0-1,{n},7/8" for n in range(2, 7)]
    _, _, table, figure, _ = MostFrequentSchedule.execute(NONE, 0, made(model, texts)).result
    assert table.count("█") == 1 + 6 * 3 + 4 * 4  # one in the title
    assert "11 different schedules" in table
    assert figure.shape[1] > 400


def test_where_the_runs_come_from_has_to_be_clear(model):
    runs = made(model, [A])
    for inputs in ((NONE, 0, None), ("mine", 0, runs)):
        with pytest.raises(ValueError, match="must be one source of runs"):
            MostFrequentSchedule.execute(*inputs)
    assert MostFrequentSchedule.validate_inputs(recording="mine") is True
    assert "no recording 'gone'" in MostFrequentSchedule.validate_inputs(recording="gone")
    with pytest.raises(ValueError, match="there are no runs to count"):
        MostFrequentSchedule.execute(NONE, 0, made(model, [None]))


def test_without_matplotlib_only_the_figure_is_missing(model, monkeypatch):
    runs = made(model, RUNS)
    *_, whole = MostFrequentSchedule.execute(NONE, 0, runs).result
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    schedule, frequency, table, figure, policy = MostFrequentSchedule.execute(NONE, 0, runs).result
    assert (schedule, frequency, policy) == (A, 0.4, whole)
    assert "40.0%" in table
    assert "install it with: pip install matplotlib" in figure.message
