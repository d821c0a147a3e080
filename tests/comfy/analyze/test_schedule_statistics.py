"""Schedule Statistics counts schedules of several recordings and crosses them with policies."""

import json

import pytest
from golden_path_pack.nodes.analyze.schedule_statistics import ScheduleStatistics

from ...support.comfy.tiny_recordings import RUNS, A, B, adaptive, made, run
from ...support.made_shootouts import EARLY, EVEN, HERMITE, REUSE, row, text

pytestmark = pytest.mark.usefixtures("in_a_run")


def statistics(*recordings, shootouts=None, metric="PSNR"):
    runs = {f"runs{number}": found for number, found in enumerate(recordings)}
    return ScheduleStatistics.execute(runs, metric, shootouts)


def test_frequencies_by_hand(model):
    # Ten whole runs: A four times, C three, B two, D once; see there for the effective count.
    figure, table, found = statistics(made(model, RUNS), made(model, [A, A, B, B])).result
    report = json.loads(found)
    first, second = report["recordings"]
    assert (first["runs"], first["cut_short"], first["different"]) == (10, 2, 4)
    assert first["effective"] == pytest.approx(3.596, abs=1e-3)
    assert first["top"] == pytest.approx({"1": 0.4, "3": 0.9, "10": 1.0})
    assert [entry["runs"] for entry in first["schedules"]] == [4, 3, 2, 1]
    assert second["effective"] == pytest.approx(2)
    assert second["cached"]["mean"] == 5
    assert report["interactions"] == []
    assert figure.shape[0] == 1
    assert figure.shape[3] == 3
    assert f"fixed schedule, residual reuse: {A} in 40.0% of its runs" in table
    assert "fixed schedule, residual reuse (2)" in table
    assert "2 runs stopped early, left out" in table


def test_a_recording_is_named_as_its_method(model):
    runs, _ = run(adaptive(model))
    (row_,) = json.loads(statistics(runs).result[2])["recordings"]
    assert row_["name"] == "First Block Cache, threshold 0.6"
    assert (row_["prompts"], row_["seeds"]) == (3, 3)


def crossed():
    reuse = [row("uniform", [1.0, 1.0, 1.0]), row("mine", [3.0, 3.0, 3.0], EARLY)]
    hermite = [
        row("uniform", [2.0, 2.0, 2.0], policy=HERMITE),
        row("mine", [8.0, 9.0, 7.0], EARLY, HERMITE),
    ]
    return {"shootout0": text(reuse), "shootout1": text(hermite)}


def test_the_interaction_by_hand(model):
    # Means 1, 2 and 3, 8: sums of squares 16 for schedules, 9 for policies, 4 for the rest.
    figure, table, found = statistics(made(model, [A]), shootouts=crossed()).result
    (part,) = json.loads(found)["interactions"]
    assert (part["full_steps"], part["prompts"]) == (4, 3)
    assert part["schedules"] == [EVEN, EARLY]
    assert part["policies"] == [REUSE, HERMITE]
    assert part["means"] == [[1.0, 2.0], [3.0, 8.0]]
    assert part["schedule_effects"] == pytest.approx([-2, 2])
    assert part["policy_effects"] == pytest.approx([-1.5, 1.5])
    assert part["shares"] == pytest.approx(
        {"schedule": 16 / 29, "policy": 9 / 29, "interaction": 4 / 29}
    )
    alone = statistics(made(model, [A])).result[0]
    assert figure.shape[1] > alone.shape[1]
    assert (
        "of the variance of these means: schedule 55.2%, policy 31.0%, interaction 13.8%" in table
    )


def test_the_page_gets_the_table(model):
    output = statistics(made(model, [A]))
    assert output.ui["gph_summary"][0]["text"] == output.result[1]


def test_what_cannot_be_counted_or_crossed_is_an_error(model):
    runs = made(model, [A])
    with pytest.raises(ValueError, match="there are no runs"):
        statistics()
    with pytest.raises(ValueError, match=r"all runs of .* stopped early"):
        statistics(made(model, [None]))
    with pytest.raises(ValueError, match="two or more schedules under the same two or more"):
        statistics(runs, shootouts={"shootout0": crossed()["shootout0"]})
    with pytest.raises(ValueError, match="shootout0: the text is no JSON"):
        statistics(runs, shootouts={"shootout0": "x"})
