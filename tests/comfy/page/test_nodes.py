"""cache/policy: the nodes' own checks: what they build, what they refuse before anything runs."""

import os
from types import SimpleNamespace

import folder_paths
import pytest
import torch
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.extrapolation import Hermite, Reuse, Taylor, TokenTaylor
from golden_path_pack.gph_core.policies.mean_velocity import MeanVelocity
from golden_path_pack.gph_core.policies.table import CHOICES, FITTED_POLICY
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor
from golden_path_pack.nodes.cache.cache import GoldenPathCache
from golden_path_pack.nodes.cache.policy import PolicySelector
from safetensors.torch import save_file

LINEAR = "causal linear (L2P)"


@pytest.fixture
def weights(monkeypatch, tmp_path):
    """The folder of fitted weights, with one file for three steps."""
    monkeypatch.setattr(folder_paths, "get_user_directory", lambda: str(tmp_path))
    folder = tmp_path / "golden_path" / "causal_linear"
    folder.mkdir(parents=True)
    header = {"format": "golden-path-causal-linear-1"}
    save_file({"weights": torch.ones(3, 3).tril(-1)}, folder / "three.safetensors", header)
    (tmp_path / "secret.safetensors").write_bytes(b"")
    return folder


def select(policy, **changes):
    return PolicySelector.execute(policy, **changes).result[0]


@pytest.mark.parametrize(
    ("name", "settings", "expected"),
    [
        ("residual reuse", {}, Reuse()),
        ("Taylor", {"order": 2}, Taylor(2)),
        ("Taylor", {"order": 2, "differences": "divided"}, Taylor(2, divided=True)),
        ("Hermite", {"scale": 0.7}, Hermite(1, 0.7)),
        ("Hermite", {"max_amplification": 8.0}, Hermite(1, max_amplification=8.0)),
        ("two-anchor (DiCache)", {}, TwoAnchor()),
        ("token prediction (DPCache)", {"max_distance": 3}, TokenTaylor(max_distance=3)),
        ("output reuse", {}, Reuse(Site.OUTPUT)),
        ("output Taylor", {}, Taylor(1, site=Site.OUTPUT)),
        ("velocity reuse", {}, Reuse(Site.GUIDED)),
        ("velocity Taylor", {"order": 2}, Taylor(2, site=Site.GUIDED)),
        ("mean velocity (MeanCache)", {"span": 2}, MeanVelocity(2)),
    ],
)
def test_each_choice_makes_its_policy(name, settings, expected):
    assert select(name, **settings) == expected


def test_every_input_belongs_to_a_choice():
    choice, *others = PolicySelector.define_schema().inputs
    page = choice.as_dict()["gph_inputs"]
    assert list(page) == list(CHOICES)
    assert {name for names in page.values() for name in names} == {i.id for i in others}


def test_causal_linear_reads_its_file(weights):
    policy = select(LINEAR, weights="three.safetensors")
    assert policy.matrix.tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0]]
    assert PolicySelector.validate_inputs(LINEAR, "three.safetensors") is True


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "no file is named; take the policy of Plan Schedule, which fits them"),
        ("other.safetensors", "there is no file 'other.safetensors'"),
        ("../../secret.safetensors", "there is no file"),
        ("three.safetensors/..", "there is no file"),
        ("x" * 5000, "there is no file"),
    ],
)
def test_a_missing_weights_file_is_said_before_anything_runs(weights, name, message):
    found = PolicySelector.validate_inputs(LINEAR, name)
    assert message in found
    assert str(weights) in found
    with pytest.raises(ValueError, match=message):
        select(LINEAR, weights=name)


def test_other_policies_need_no_file():
    for name in CHOICES:
        is_possible = PolicySelector.validate_inputs(name, "") is True
        assert is_possible == (name not in (LINEAR, FITTED_POLICY))


@pytest.mark.parametrize(
    "inputs",
    [(LINEAR, "three.safetensors"), (LINEAR, None), (None, "three.safetensors")],
    ids=["named", "linked name", "linked policy"],
)
def test_weights_fitted_anew_are_another_input(weights, inputs):
    def fingerprint():
        return PolicySelector.fingerprint_inputs(*inputs, order=1)

    before = fingerprint()
    file = weights / "three.safetensors"
    os.utime(file, ns=(1, file.stat().st_mtime_ns + 1_000_000))
    assert fingerprint() != before


def test_an_unknown_policy_is_refused_by_name():
    assert "'Magic' is not a policy" in PolicySelector.validate_inputs("Magic", "")


@pytest.mark.parametrize("schedule", ["0,4/8", ""])
def test_off_hands_on_the_very_model_whatever_the_schedule(schedule, monkeypatch):
    model, policy = object(), TwoAnchor()
    monkeypatch.setattr(GoldenPathCache, "hidden", SimpleNamespace(unique_id="1"))
    assert GoldenPathCache.validate_inputs("Off", schedule) is True
    assert GoldenPathCache.execute(model, "Off", schedule, policy).result[0] is model


def test_the_speeds_are_offered_in_this_order_and_no_other_is_accepted():
    (speed,) = (i for i in GoldenPathCache.define_schema().inputs if i.id == "speed")
    assert speed.options == ["Automatic", "Quality", "Balanced", "Fast", "Custom", "Off"]
    assert speed.default == "Automatic"
    assert all(GoldenPathCache.validate_inputs(name, "0,4/8") is True for name in speed.options)
    assert GoldenPathCache.validate_inputs("off", "0,4/8") == (
        "'off' is not a speed; choose one of Automatic, Quality, Balanced, Fast, Custom, Off"
    )


def test_too_few_full_steps_for_the_policy_are_refused_before_the_run():
    message = (
        "two-anchor needs 2 full steps before the first cached step; step 1 is cached. "
        "Make steps 0 to 1 full, or choose another policy"
    )
    with pytest.raises(ValueError, match=message):
        GoldenPathCache.execute(None, "Custom", "0,4/8", TwoAnchor())
