"""A golden path with fitted weights as a row of Method Shootout."""

import pytest
from golden_path_pack.gph_core.files.condition_diff import plain
from golden_path_pack.gph_core.methods.candidates import USUAL
from golden_path_pack.gph_core.paths.golden_path import SEARCHED, GoldenPath
from golden_path_pack.gph_core.policies.fitted import Fitted
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.library import user_paths
from golden_path_pack.nodes.library.library import stated_model

from ...support.comfy.demo_examples import examples
from ...support.comfy.shootouts import report_of, workload

pytestmark = pytest.mark.usefixtures("in_a_run")
ONE = {"examples": examples()[:1], "vae": None}
SCHEDULE = Schedule.parse("0,2,5,8/10")


def save():
    """A path of the demo model whose cached steps take the newest velocity."""
    work = workload()
    weights = tuple(
        (step, ((max(n for n in SCHEDULE.full_steps if n < step), 1.0),))
        for step in SCHEDULE.cached_steps
    )
    policy = Fitted(str(SCHEDULE), weights, plain(work.setup.conditions), examples=16)
    path = GoldenPath(
        "mine", SCHEDULE, SEARCHED, policy, sigmas=tuple(work.sigmas.tolist()),
        **stated_model(work.guider.model_patcher),
    )  # fmt: skip
    user_paths.library().save(path, overwrite=True)


def test_a_fitted_path_is_a_row_of_its_own_and_golden_path_is_one_without_weights():
    save()
    found, report = report_of(["fitted", "golden path"], **ONE)
    assert report["absent"] == {}
    fitted = found["fitted"]
    assert fitted["schedules"] == [{"schedule": "0,2,5,8/10", "share": 1.0}]
    assert (fitted["policy"], fitted["origin"]) == ("fitted", "mine, fitted here on 16 examples")
    assert found["golden path"]["policy"] == "residual reuse"
    assert found["golden path"]["schedules"] != fitted["schedules"]


def test_weights_that_do_not_hold_are_left_out_with_the_reason():
    save()
    found, report = report_of(["fitted", "uniform"], cfg=3.0, **ONE)
    assert list(found) == ["full", "uniform"]
    reason = "is known for this model, CFG and noise levels; Schedule Search can fit one"
    assert report["absent"]["fitted"].endswith(reason)


def test_it_takes_part_unless_deleted():
    assert USUAL.index("fitted") == USUAL.index("golden path") - 1
