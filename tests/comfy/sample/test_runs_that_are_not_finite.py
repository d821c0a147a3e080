"""Nodes that sample, with a model whose runs are no numbers: each says so and keeps nothing."""

import itertools
import json
import math

import pytest
from comfy.patcher_extension import WrappersMP
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.nodes.analyze.error_decomposition import ErrorDecomposition
from golden_path_pack.nodes.analyze.propagation_gain import PropagationGain
from golden_path_pack.nodes.calibrate.calibrate import Calibrate
from golden_path_pack.nodes.calibrate.calibrate_ratio import CalibrateRatio
from golden_path_pack.nodes.record.record_runs import RecordRuns
from golden_path_pack.nodes.record.record_trajectory import RecordTrajectory
from golden_path_pack.nodes.schema.types import COUNT
from golden_path_pack.nodes.search.schedule_search import REUSE, ScheduleSearch
from golden_path_pack.nodes.shootout.method_shootout import MethodShootout

from ...support.comfy.compared import PATH, compare
from ...support.comfy.isolations import inputs

pytestmark = pytest.mark.usefixtures("in_a_run", "user")

STEPS = 8
SCHEDULE = "0-2,5,7/8"
OF_A_PLAN = {"speed": COUNT, "full_steps": 4}


def broken_from(model, evaluation=0):
    """A clone that gives NaN from one evaluation of the sampler on."""
    numbers = itertools.count()

    def predict(executor, *args, **kwargs):
        denoised = executor(*args, **kwargs)
        return denoised * math.nan if next(numbers) >= evaluation else denoised

    patched = model.clone()
    patched.add_wrapper(WrappersMP.PREDICT_NOISE, predict)
    return patched


def named(kind, given):
    return given | {kind: given.pop("name")}


NODES = {
    "Record Runs": lambda g: RecordRuns.execute(**named("recording", g)),
    "Record Trajectory": lambda g: RecordTrajectory.execute(**named("recording", g)),
    "Error Decomposition": lambda g: ErrorDecomposition.execute(**g, schedule=SCHEDULE),
    "Propagation Gain": lambda g: PropagationGain.execute(**g),
    "Schedule Search": lambda g: ScheduleSearch.execute(
        **named("study", g), **OF_A_PLAN, minutes=1.0, objective="latent MSE", policies=REUSE
    ),
    "Method Shootout": lambda g: MethodShootout.execute(
        **g, **OF_A_PLAN, calibration="none", methods="uniform"
    ),
    "Calibrate Ratio": lambda g: CalibrateRatio.execute(
        **named("calibration", g), **OF_A_PLAN, method="First Block Cache"
    ),
    "Compare Run": lambda g: compare(g["model"]),
    "Calibrate": lambda g: Calibrate.execute(**named("calibration", g), method="SenCache"),
}


@pytest.mark.parametrize("run", NODES.values(), ids=NODES.keys())
def test_a_model_whose_runs_are_not_finite_is_told_before_more_work(model, user, run):
    count = []

    def counted(executor, *args, **kwargs):
        count.append(1)
        return executor(*args, **kwargs)

    broken = broken_from(model)
    broken.add_wrapper(WrappersMP.OUTER_SAMPLE, counted)
    with pytest.raises(ValueError, match="not finite"):
        run(inputs(broken, steps=STEPS))
    assert len(count) <= 2  # of many: one, and in some nodes a warm-up before it


VELOCITIES = Reuse(Site.GUIDED)


@pytest.fixture
def broken_policy(monkeypatch):
    """Predictions that are no numbers."""

    def predict(self, anchors, now):
        return tuple(stream * math.nan for stream in anchors[-1].feature)

    monkeypatch.setattr(Reuse, "predict", predict)


@pytest.mark.usefixtures("broken_policy")
def test_compare_run_names_the_step_whose_prediction_is_not_finite(model):
    with pytest.raises(
        ValueError, match=r"a run gave .* not finite from step 2 \(cached\) on; let"
    ):
        compare(model, policy=VELOCITIES, schedule=PATH)


@pytest.mark.usefixtures("broken_policy")
def test_method_shootout_has_no_figure_for_such_a_run_and_says_why(model):
    given = {"calibration": "none", "methods": "uniform", "policy": VELOCITIES}
    _, text, report = MethodShootout.execute(
        **inputs(model, steps=STEPS), **OF_A_PLAN, **given
    ).result
    row = json.loads(report)["rows"][-1]
    assert row["metrics"]["latent_mse"]["mean"] is None
    assert "the latents are not finite from step" in text


@pytest.mark.usefixtures("broken_policy")
def test_a_search_takes_no_such_run_for_a_good_one_nor_for_another_result(model, caplog):
    given = named("study", inputs(model, steps=STEPS)) | OF_A_PLAN
    with pytest.raises(ValueError, match="with every schedule the images contain values that are"):
        ScheduleSearch.execute(
            **given, minutes=1.0, objective="latent MSE", policy=VELOCITIES, policies=REUSE,
            evaluations=6,
        )  # fmt: skip
    assert "gives another result" not in caplog.text
