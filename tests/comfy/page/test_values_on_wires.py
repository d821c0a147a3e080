"""schema/types: every value on a wire of ours can be copied, pickled, printed and shown as JSON.

Other packs and ComfyUI itself do all of that: a value that *Preview as Text* shows is copied into
the history.
"""

import copy
import json
import pickle

import pytest
import torch
from comfy_extras.nodes_preview_any import PreviewAny
from golden_path_pack.gph_core.analysis.isolated_steps import IsolatedStep
from golden_path_pack.gph_core.analysis.step_sensitivity import StepSensitivity
from golden_path_pack.gph_core.paths.library import bundled_paths
from golden_path_pack.gph_core.policies.causal_linear import CausalLinear
from golden_path_pack.gph_core.policies.table import KINDS
from golden_path_pack.gph_core.run.record import RunRecord
from golden_path_pack.gph_core.run.record_file import RecordedRun
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.record.recordings import Trajectories
from golden_path_pack.nodes.sample.examples import Example
from golden_path_pack.nodes.schema import types
from golden_path_pack.nodes.schema.types import ScheduleText, origin_of
from golden_path_pack.nodes.semantic.clip_judge import ClipJudge
from golden_path_pack.nodes.workers.ray_actors import Workers

from ...support.comfy import judged, tiny_clip

RECORD = RunRecord(
    "0/2", "your schedule", "Flux", "stack residual", "reuse", (1.0, 0.5, 0.0), (0,), (1,), (1.0,),
    (0.1,), 8, ("a note",),
)  # fmt: skip
RUN = RecordedRun("a", "a lamp", 1, RECORD)
EXAMPLE = Example("a lamp", [[torch.zeros(1, 2, 3), {"pooled_output": torch.ones(1, 3)}]], None, 7)
POLICIES = [path.policy for path in bundled_paths()]
STEP = IsolatedStep(1, (0.5,), 2.0, 1.0, 0.25)
SENSITIVITY = StepSensitivity.of([[STEP]], (1.0, 0.5, 0.0), KINDS["Reuse"](), {"family": "Flux"})
WEIGHTS = CausalLinear(torch.ones(3, 3).tril(-1))

SAMPLES = {
    "ScheduleType": [ScheduleText(Schedule.parse("0-2,5/8"), "planned by hand"), "0-2,5/8"],
    "WorkersType": [Workers()],
    "PolicyType": [
        *{type(p): p for p in POLICIES}.values(), CausalLinear(torch.ones(3, 3).tril(-1)),
    ],
    "ExamplesType": [(EXAMPLE,)], "CalibrationType": ["my calibration"], "RunsType": [(RUN,)],
    "TrajectoriesType": [Trajectories("my runs", (RUN,))], "SensitivityType": [SENSITIVITY],
    "SemanticType": [judged.semantic()],
}  # fmt: skip
VALUES = [(name, value) for name, values in SAMPLES.items() for value in values]


def same(value, other):
    """Whether two values are of one type and print the same."""
    return type(value) is type(other) and repr(value) == repr(other)


def test_every_type_of_wire_has_a_sample():
    assert SAMPLES.keys() == {name for name in vars(types) if name.endswith("Type")}


@pytest.mark.parametrize(("name", "value"), VALUES, ids=lambda v: v if isinstance(v, str) else "")
def test_a_value_can_be_copied_pickled_printed_and_previewed(name, value):
    if name != "SemanticType":  # a judge prints as an object at an address
        assert same(copy.deepcopy(value), value)
        assert same(copy.copy(value), value)
        assert same(pickle.loads(pickle.dumps(value)), value)
    assert str(value)
    (shown,) = PreviewAny().main(value)["ui"]["text"]
    assert json.loads(json.dumps(copy.deepcopy(shown))) == shown


def test_a_copy_of_a_schedule_keeps_where_it_comes_from():
    text = ScheduleText(Schedule.parse("0-2,5/8"), "planned by hand")
    for copied in (copy.deepcopy(text), copy.copy(text), pickle.loads(pickle.dumps(text))):
        assert (copied, origin_of(copied)) == ("0-2,5/8", "planned by hand")


def test_a_judge_is_copied_with_the_encoders_that_it_holds():
    # ComfyUI's encoders cannot be pickled: their activations are lambdas.
    model = tiny_clip.published()
    judge = ClipJudge(tiny_clip.vision(model), tiny_clip.text(model))
    assert copy.deepcopy(judge).fingerprint == judge.fingerprint
