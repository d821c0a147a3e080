"""Who takes part in Method Shootout, with which schedule, and who is left out and why."""

from dataclasses import replace

import pytest
import torch
from golden_path_pack.demo import comfy_model
from golden_path_pack.gph_core.methods.candidates import NAMES
from golden_path_pack.gph_core.paths.golden_path import SEARCHED, GoldenPath
from golden_path_pack.gph_core.policies.extrapolation import Hermite, Reuse
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.hook import compatibility
from golden_path_pack.nodes.library import user_paths
from golden_path_pack.nodes.sample.sampling import Sampling

from ...support.comfy.demo_examples import examples
from ...support.comfy.shootouts import calibrate, report_of, workload
from ...support.zoo import zoo

pytestmark = pytest.mark.usefixtures("in_a_run")


def test_who_cannot_run_is_listed_with_the_reason():
    _, report = report_of(NAMES)
    absent, taking_part = report["absent"], [row["name"] for row in report["rows"]]
    possible = {"full", "golden path", "TaylorSeer", "HiCache", "uniform", "plain steps"}
    assert set(taking_part) == possible
    assert set(absent) | set(taking_part) == {"full", *NAMES}
    for name in ("SeaCache", "TeaCache", "SenCache", "DiCache", "EasyCache", "MagCache"):
        assert "no threshold is known for 4 full steps; run Calibrate Ratio" in absent[name]
    assert "no path with weights for 4 of 10 full steps is known" in absent["fitted"]
    assert "needs products of outputs of this model (FLUX); run Calibrate" in absent["L2P"]
    assert "needs costs of jumps" in absent["DPCache"]
    assert "needs costs of jumps" in absent["MeanCache"]
    assert "no schedule of 4 full steps for this model (FLUX)" in absent["BudCache"]


def test_a_threshold_for_another_number_of_full_steps_does_not_count():
    _, report = report_of(["SeaCache", "uniform"], full_steps=5, **calibrate({"SeaCache": 0.5}))
    assert "no threshold for 5 cached steps" in report["absent"]["SeaCache"]


def test_with_three_full_steps_uniform_is_even_and_published_rules_say_what_they_leave_out():
    found, report = report_of(["uniform", "TaylorSeer", "HiCache"], full_steps=3)
    assert found["uniform"]["schedules"] == [{"schedule": "0,4,9/10", "share": 1.0}]
    assert found["TaylorSeer"]["schedules"] == [{"schedule": "0-1,9/10", "share": 1.0}]
    assert found["TaylorSeer"]["origin"] == (
        "uniform spacing; the published rule keeps three first steps and the last one full, 4 in "
        "all; with 3 some of these are cached"
    )
    assert report["absent"] == {
        "HiCache": "Hermite order 2, scale 0.5 needs 3 first full steps and the last one, not 3 in "
        "all; ask for 4 full steps or more"
    }


def test_without_a_path_the_golden_path_is_what_the_cache_takes_then():
    found, _ = report_of(["golden path"], full_steps=6)
    assert found["golden path"]["origin"] == "spacing by noise level"
    # The cheapest of all 126 by the rule's formula, tried one by one.
    assert found["golden path"]["schedules"] == [{"schedule": "0-2,4,7,9/10", "share": 1.0}]


def test_the_golden_path_is_that_of_the_users_library():
    work = workload()
    sigmas = tuple(work.sigmas.tolist())
    family, _ = compatibility.identify(work.guider.model_patcher)
    config = work.guider.model_patcher.model.model_config.unet_config
    path = GoldenPath(
        "mine", Schedule.parse("0-1,4,9/10"), SEARCHED, Reuse(), sigmas=sigmas, method="searched",
        model="demo", family=family.name, architecture={"hidden_size": config["hidden_size"]},
    )  # fmt: skip
    user_paths.library().save(path)
    found, _ = report_of(["golden path"])
    assert found["golden path"]["schedules"] == [{"schedule": "0-1,4,9/10", "share": 1.0}]
    assert found["golden path"]["origin"] == "searched here: mine"


def test_a_speed_is_that_of_golden_path_cache():
    # 26 % of 20 steps.
    found, report = report_of(
        ["uniform"], speed="Balanced", sigmas=zoo.sigmas(comfy_model.load_model(), 20)
    )
    assert report["full_steps"] == 5
    assert found["uniform"]["cached"]["mean"] == 15


def test_a_calibration_of_other_settings_is_an_error_that_names_them():
    with pytest.raises(ValueError, match="SeaCache was calibrated with the cfg"):
        report_of(["uniform"], cfg=3.0, **calibrate({"SeaCache": 0.1}))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"latent": {"samples": torch.zeros(2, 48, 8, 8)}}, "set its batch size to 1"),
        ({"methods": []}, "nothing can be compared .no method is named"),
        ({"methods": ["L2P"]}, "nothing can be compared .L2P needs products of outputs"),
        ({"full_steps": 10}, "10 full steps do not fit: of 10 steps 2 to 9 can be full; change"),
        ({"schedule": "0,3,9/12"}, "0,3,9/12: the schedule covers 12 steps but the sampler"),
        ({"schedule": "0,3,9/10", "policy": Hermite(2)}, "needs 3 full steps before the first"),
        ({"examples": tuple(replace(e, negative=None) for e in examples())}, "negative"),
    ],
)
def test_what_cannot_be_compared_is_said_before_anything_runs(changes, reason, monkeypatch):
    monkeypatch.setattr(Sampling, "full", None)
    methods = changes.get("methods", ["uniform"])
    others = {name: value for name, value in changes.items() if name != "methods"}
    with pytest.raises(ValueError, match=reason):
        report_of(methods, **others)
