"""``reports/trajectory``: numbers, summary and figure, on runs of known shape."""

import pytest
from matplotlib.figure import Figure

from gph_core.analysis.profiles import profile_of, spreads
from gph_core.reports.trajectory.figure import draw, drawn
from gph_core.reports.trajectory.report import grouped, report_of, summary
from gph_core.run.record_file import RecordedRun

from ...support.made_runs import helix
from ..run.test_record import record

# Two noises and two prompts: the first two runs share the noise, the last two the prompt.
EXAMPLES = ("1 abc", "1 def", "2 def")


def reported(count, angles=None, cached=()):
    runs = [
        RecordedRun(name, "a prompt", int(name[0]), record(cached_steps=cached))
        for name in EXAMPLES[:count]
    ]
    profiles = [profile_of([helix(30.0 * n)], 2) for n in range(count)]
    return report_of("mine", runs, profiles, spreads(profiles), angles or {}, "float32")


def test_pairs_of_runs_are_grouped_by_what_they_share():
    found = grouped(EXAMPLES, {(0, 1): 10.0, (1, 2): 20.0, (0, 2): 30.0}, 6)
    medians = {name: pairs["median"] for name, pairs in found.items() if name != "random planes"}
    assert medians == {"same noise": 10, "same prompt": 20, "neither": 30}
    assert found["random planes"]["pairs"] == 500
    assert grouped(EXAMPLES, {}, 6) == {}


def test_the_summary_has_the_numbers_of_the_shape():
    # The chord is 4 long; farthest from it, the helix is at the other side of its circle.
    report = reported(3, {(0, 1): 10.0, (1, 2): 20.0, (0, 2): 30.0})
    lines = summary(report).splitlines()
    assert lines[0].startswith("3 runs of 8 steps, 6 latent coordinates")
    assert lines[1].startswith("chord length: 4, CV 0.00 %")
    assert lines[2] == "off-chord distance: at most 0.5000 of the chord, at state 4"
    assert any(line.startswith("first angle between planes, same noise: 10.00°") for line in lines)
    assert [run["seed"] for run in report["runs"]] == [1, 1, 2]


def test_one_run_has_no_variation():
    text = summary(reported(1))
    assert text.endswith("only one run: differences between runs need several")
    assert "CV " not in text.partition("\n")[2]


@pytest.mark.parametrize(
    ("cached", "is_reported"), [((), False), ((1, 2), True)], ids=["full", "with cached steps"]
)
def test_cached_steps_are_reported(cached, is_reported):
    text = "2 runs with cached steps: the GPH paper's profiles are of full runs"
    assert (text in summary(reported(2, cached=cached))) == is_reported


@pytest.mark.parametrize("count", [1, pytest.param(3, marks=pytest.mark.long)])
def test_the_figure_is_an_image_with_or_without_angles(count):
    angles = {(0, 1): 10.0, (1, 2): 20.0, (0, 2): 30.0} if count == 3 else {}
    figure = drawn(reported(count, angles))
    assert figure.shape[0] == 1
    assert figure.shape[3] == 3
    assert figure.std() > 0.05


def test_steps_and_states_are_whole_numbers():
    sheet = Figure()
    draw(reported(3, {(0, 1): 10.0, (1, 2): 20.0, (0, 2): 30.0}), sheet)
    sheet.canvas.draw()
    places = [tick for axes in sheet.axes[:7] for tick in axes.get_xticks()]
    assert places
    assert [tick for tick in places if tick % 1] == []
