"""library/library: paths with fitted weights in library, Policy Selector and sharing."""

import json

import folder_paths
import pytest
import torch
from golden_path_pack.gph_core.paths.golden_path import SEARCHED, SHARED, GoldenPath
from golden_path_pack.gph_core.paths.library import bundled_paths
from golden_path_pack.gph_core.policies.fitted import Fitted
from golden_path_pack.gph_core.policies.table import FITTED_POLICY
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.cache.cache import GoldenPathCache
from golden_path_pack.nodes.cache.policy import PolicySelector
from golden_path_pack.nodes.library import library_routes, user_paths
from golden_path_pack.nodes.library.library import GoldenPathLibrary, SaveGoldenPath
from golden_path_pack.nodes.page import routes

SIGMAS = (1.0, 0.75, 0.5, 0.25, 0.0)
WEIGHTS = ((1, ((0, 1.25),)), (3, ((2, 1.5), (0, -0.5))))
POLICY = Fitted("0,2/4", WEIGHTS, {"family": "FLUX", "cfg": 3.5})
PATH = GoldenPath("mine", Schedule.parse("0,2/4"), SEARCHED, POLICY, sigmas=SIGMAS)
MINE = "yours: mine"


@pytest.fixture(autouse=True)
def library(tmp_path, monkeypatch):
    monkeypatch.setattr(folder_paths, "user_directory", str(tmp_path))
    user_paths.library().save(PATH)
    return user_paths.library()


def select(**inputs):
    return PolicySelector.execute(FITTED_POLICY, **inputs).result[0]


def test_policy_selector_gives_the_weights_of_a_path():
    assert select(path=MINE) == POLICY
    assert PolicySelector.validate_inputs(FITTED_POLICY, path=MINE) is True
    linked = {"path": "COMBO"}
    assert PolicySelector.validate_inputs(FITTED_POLICY, path=None, input_types=linked) is True


def test_policy_selector_offers_the_paths_that_have_weights():
    SaveGoldenPath.execute("without", "0-2/6")
    *_, path = PolicySelector.define_schema().inputs
    assert path.options[:2] == ["none", MINE]
    others = {name: found for found in bundled_paths() for name in [found.name]}
    assert all(isinstance(others[name].policy, Fitted) for name in path.options[2:])


def test_a_path_without_weights_is_refused_before_anything_runs():
    SaveGoldenPath.execute("without", "0-2/6")
    for path, reason in (
        ("none", "none is chosen; choose one at path, or let Schedule Search find one"),
        ("yours: without", "has no fitted weights, it was found with residual reuse"),
        ("yours: gone", "there is no golden path named 'gone' of yours"),
    ):
        assert reason in PolicySelector.validate_inputs(FITTED_POLICY, path=path)
        with pytest.raises(ValueError, match=reason.split(";")[0]):
            select(path=path)


@pytest.mark.parametrize("node", [PolicySelector, GoldenPathLibrary])
@pytest.mark.parametrize("path", [MINE, None], ids=["named", "linked"])
def test_weights_that_were_fitted_anew_are_another_input(library, node, path):
    inputs = {"path": path} | ({"policy": FITTED_POLICY} if node is PolicySelector else {})
    before = node.fingerprint_inputs(**inputs)
    again = Fitted("0,2/4", ((1, ((0, 1.0),)), *WEIGHTS[1:]), POLICY.conditions)
    library.save(GoldenPath("mine", PATH.schedule, SEARCHED, again, sigmas=SIGMAS), overwrite=True)
    assert node.fingerprint_inputs(**inputs) != before


def test_an_edited_schedule_is_refused_with_the_weights_of_the_former():
    inputs = {"policy": FITTED_POLICY, "path": MINE}
    assert routes.check("0,2/4", inputs) == {"error": None}
    edited = routes.check("0,1/4", inputs)["error"]
    assert "the weights were fitted for the schedule 0,2/4, this run has 0-1/4" in edited
    with pytest.raises(ValueError, match="this run has 0-1/4; take that schedule, or another"):
        GoldenPathCache.execute(object(), "Custom", "0-1/4", select(path=MINE))


def test_the_menu_of_the_editor_knows_which_paths_have_weights():
    SaveGoldenPath.execute("without", "0-2/6")
    found = {entry["id"]: entry["fitted"] for entry in library_routes.list_paths()["paths"]}
    assert (found["user/mine"], found["user/without"]) == (MINE, "")


def test_export_and_import_keep_the_weights(library):
    shared = json.dumps(library_routes.export("mine"))
    library_routes.delete("mine")
    library_routes.import_text(shared)
    path = library.get("mine")
    assert (path.origin, path.policy) == (SHARED, POLICY)
    assert path.policy.conditions == POLICY.conditions
    assert path.to_json()["format"] == 4


def test_renaming_and_saving_a_fitted_policy_keep_the_weights(library):
    library_routes.rename("mine", "ours")
    SaveGoldenPath.execute("saved", "0,2/4", policy=POLICY, sigmas=torch.tensor(SIGMAS))
    for name in ("ours", "saved"):
        policy = library.get(name).policy
        assert (policy, policy.conditions) == (POLICY, POLICY.conditions)


def test_the_library_does_not_move_fitted_weights_to_other_noise_levels():
    schedule, policy, _ = GoldenPathLibrary.execute(MINE, torch.tensor(SIGMAS)).result
    assert (schedule, policy) == ("0,2/4", POLICY)
    with pytest.raises(ValueError, match="the weights of 'mine' were fitted at its own noise"):
        GoldenPathLibrary.execute(MINE, torch.linspace(1, 0, 9))
