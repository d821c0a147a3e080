"""The examples that look inside a run: a short run through the real server."""

import io
import urllib.parse

import numpy as np
import pytest
from PIL import Image

import dev
from demo import examples
from demo.examples.inside import CHOICES, FULL_STEPS, RUN, SCHEDULES, SENSITIVE
from demo.workflow import nodes_of_type, to_prompt
from gph_core.schedule import Schedule

from ...support.comfy.listener import events_of

ANALYSES = {
    RUN.name: {"GPH_RecordTrajectory", "GPH_TrajectoryProfile", "GPH_ErrorDecomposition"},
    SENSITIVE.name: {"GPH_PropagationGain"},
    CHOICES.name: {"GPH_Coverage", "GPH_ScheduleStatistics"},
}
FIGURES = {RUN.name: 2, SENSITIVE.name: 1, CHOICES.name: 2}


def test_their_schedules_have_as_many_full_steps_as_the_shootouts():
    schedules = [Schedule.parse(line) for line in SCHEDULES.splitlines()]
    assert {(s.num_full, s.num_steps) for s in schedules} == {(FULL_STEPS, 20)}


@pytest.fixture(scope="module", params=ANALYSES)
def example(request):
    return request.param


@pytest.fixture(scope="module")
def prompt(example, object_info):
    """What the page would send, with two prompts instead of eight."""
    found = to_prompt(examples.read(examples.FOLDER / f"{example}.json"), object_info)
    (given,) = nodes_of_type(found, "GPH_ScoringExamples")
    found[given]["inputs"] |= {"prompts": "two red circles\na blue square", "seeds": "1, 2"}
    return found


@pytest.fixture(scope="module")
def outputs(url, prompt):
    events = events_of(url, prompt, {"id": "inside", "nodes": []})
    assert "execution_error" not in [event["type"] for event in events]
    return {
        event["data"]["node"]: event["data"]["output"]
        for event in events
        if event["type"] == "executed"
    }


@pytest.mark.long
def test_every_analysis_draws_a_figure_and_tells_its_numbers(url, example, prompt, outputs):
    shown = {
        prompt[node]["class_type"]: output["gph_summary"][0]
        for node, output in outputs.items()
        if "gph_summary" in output
    }
    assert set(shown) == ANALYSES[example]
    assert {found["workflow_id"] for found in shown.values()} == {"inside"}
    figures = [image(url, outputs[node]) for node in nodes_of_type(prompt, "PreviewImage")]
    assert len(figures) == FIGURES[example]
    for figure in figures:
        assert figure.shape[1] >= 900
        assert figure.std() > 10
    if example == RUN.name:
        assert shown["GPH_RecordTrajectory"]["text"] == "2 runs, 2 of them new: 21 states each"
    if example == SENSITIVE.name:
        assert "18 steps of 20 cached alone" in shown["GPH_PropagationGain"]["text"]
        (editor,) = nodes_of_type(prompt, "GPH_ScheduleEditor")
        (gains,) = outputs[editor]["gph_sensitivity"]
        assert [step for step, gain in enumerate(gains) if gain is None] == [0, 19]


def image(url, output):
    (saved,) = output["images"]
    with dev.LOCAL.open(f"{url}/view?{urllib.parse.urlencode(saved)}") as response:
        return np.asarray(Image.open(io.BytesIO(response.read())).convert("RGB"))
