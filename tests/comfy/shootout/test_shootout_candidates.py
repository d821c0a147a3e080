"""Candidates of a real model: the user's paths, speeds, and workflows that cannot be compared."""

from dataclasses import replace

import pytest
import torch
from golden_path_pack.demo import comfy_model
from golden_path_pack.gph_core.paths.golden_path import SEARCHED, GoldenPath
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.library import user_paths
from golden_path_pack.nodes.library.library import stated_model
from golden_path_pack.nodes.sample.sampling import Sampling

from ...support.comfy.demo_examples import examples
from ...support.comfy.shootouts import report_of, workload
from ...support.zoo import zoo

pytestmark = pytest.mark.usefixtures("in_a_run")
ONE = {"examples": examples()[:1], "vae": None}


def test_the_golden_path_is_that_of_the_users_library():
    work = workload()
    path = GoldenPath(
        "mine", Schedule.parse("0-1,4,9/10"), SEARCHED, Reuse(), method="searched",
        sigmas=tuple(work.sigmas.tolist()), **stated_model(work.guider.model_patcher),
    )  # fmt: skip
    user_paths.library().save(path)
    found, _ = report_of(["golden path"], **ONE)
    assert found["golden path"]["schedules"] == [{"schedule": "0-1,4,9/10", "share": 1.0}]
    assert found["golden path"]["origin"] == "searched here: mine"


def test_a_speed_is_that_of_golden_path_cache():
    # 26 % of 20 steps.
    sigmas = zoo.sigmas(comfy_model.load_model(), 20)
    found, report = report_of(["uniform"], speed="Balanced", sigmas=sigmas, **ONE)
    assert report["full_steps"] == 5
    assert found["uniform"]["cached"]["mean"] == 15


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"latent": {"samples": torch.zeros(2, 48, 8, 8)}}, "set its batch size to 1"),
        ({"methods": []}, "nothing can be compared .no method is named"),
        ({"examples": tuple(replace(e, negative=None) for e in examples())}, "negative"),
    ],
)
def test_what_cannot_be_compared_is_said_before_anything_runs(changes, reason, monkeypatch):
    monkeypatch.setattr(Sampling, "full", None)
    methods = changes.get("methods", ["uniform"])
    others = {name: value for name, value in changes.items() if name != "methods"}
    with pytest.raises(ValueError, match=reason):
        report_of(methods, **others)
