"""The example *Look inside a run*: a short run through the real server."""

import io
import urllib.parse

import numpy as np
import pytest
from PIL import Image

import dev
from demo import examples
from demo.inside_example import FULL_STEPS, NAME, SCHEDULES
from demo.workflow import nodes_of_type, to_prompt
from gph_core.schedule import Schedule

from ..listener import events_of

pytestmark = pytest.mark.long

ANALYSES = (
    "GPH_RecordTrajectory", "GPH_TrajectoryProfile", "GPH_ErrorDecomposition",
    "GPH_PropagationGain", "GPH_Coverage", "GPH_ScheduleStatistics",
)  # fmt: skip


def test_its_schedules_have_as_many_full_steps_as_the_shootouts():
    schedules = [Schedule.parse(line) for line in SCHEDULES.splitlines()]
    assert {(s.num_full, s.num_steps) for s in schedules} == {(FULL_STEPS, 20)}


def test_every_analysis_draws_a_figure_and_tells_its_numbers(url, object_info):
    prompt = to_prompt(examples.read(examples.FOLDER / f"{NAME}.json"), object_info)
    (given,) = nodes_of_type(prompt, "GPH_ScoringExamples")
    prompt[given]["inputs"] |= {"prompts": "two red circles\na blue square", "seeds": "1, 2"}
    events = events_of(url, prompt, {"id": "inside", "nodes": []})
    assert "execution_error" not in [event["type"] for event in events]
    outputs = {
        event["data"]["node"]: event["data"]["output"]
        for event in events
        if event["type"] == "executed"
    }

    shown = {
        prompt[node]["class_type"]: output["gph_summary"][0]
        for node, output in outputs.items()
        if "gph_summary" in output
    }
    assert set(shown) == set(ANALYSES)
    assert {found["workflow_id"] for found in shown.values()} == {"inside"}
    assert shown["GPH_RecordTrajectory"]["text"] == "2 runs, 2 of them new: 21 states each"
    assert "18 steps of 20 cached alone" in shown["GPH_PropagationGain"]["text"]

    (editor,) = nodes_of_type(prompt, "GPH_ScheduleEditor")
    (gains,) = outputs[editor]["gph_sensitivity"]
    assert [step for step, gain in enumerate(gains) if gain is None] == [0, 19]

    figures = [image(url, outputs[node]) for node in nodes_of_type(prompt, "PreviewImage")]
    assert len(figures) == 5
    for figure in figures:
        assert figure.shape[1] >= 900
        assert figure.std() > 10


def image(url, output):
    (saved,) = output["images"]
    with dev.LOCAL.open(f"{url}/view?{urllib.parse.urlencode(saved)}") as response:
        return np.asarray(Image.open(io.BytesIO(response.read())).convert("RGB"))
