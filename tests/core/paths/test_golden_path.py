import json

import pytest

from gph_core.paths.golden_path import DRAWN, GoldenPath
from gph_core.policies.extrapolation import Hermite
from gph_core.schedule import Schedule

FULL = {
    "format": 2,
    "name": "mine, 3 of 5",
    "schedule": "0-2/5",
    "origin": "searched here",
    "policy": {"kind": "Hermite"},
    "model": "FLUX.1-dev",
    "family": "FLUX",
    "architecture": {"depth": 19},
    "sigmas": [1.0, 0.8, 0.6, 0.4, 0.2, 0.0],
    "conditions": {"sampler": "euler", "size": [1024, 768]},
    "quality": {"validation PSNR dB": 27.125},
    "method": "planned",
    "source": "a study",
    "notes": "a note",
}


def test_json_survives_a_round_trip():
    path = GoldenPath.from_json(json.loads(json.dumps(FULL)))
    assert path.schedule == Schedule((0, 1, 2), 5)
    assert path.policy == Hermite(2)
    assert path.sigmas == (1.0, 0.8, 0.6, 0.4, 0.2, 0.0)
    assert path.to_json() == FULL
    assert GoldenPath.from_text(json.dumps(path.to_json())) == path


def test_what_is_not_stated_is_left_out():
    path = GoldenPath("plain", Schedule.parse("0/2"), DRAWN)
    assert path.to_json() == {
        "format": 2, "name": "plain", "schedule": "0/2", "origin": DRAWN,
        "policy": {"kind": "Reuse"}, "method": "searched",
    }  # fmt: skip
    assert GoldenPath.from_json(path.to_json()) == path


def test_the_card_states_conditions_and_quality():
    assert GoldenPath.from_json(FULL).card.splitlines() == [
        "mine, 3 of 5",
        "0-2/5: 3 of 5 steps full, at most 1.67x faster",
        "policy: Hermite order 2, scale 0.5",
        "searched here",
        "model: FLUX.1-dev",
        "noise levels: 1, 0.8, ... 0.4, ... 0.2, 0",
        "sampler: euler",
        "size: 1024×768",
        "validation PSNR dB: 27.125",
        "source: a study",
        "a note",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 1}, 'not a golden path: an object with "format": 2'),
        ({"name": None}, "the field 'name' is missing or no text"),
        ({"name": "  "}, "the field 'name' is missing"),
        ({"schedule": 5}, "the field 'schedule' is missing or no text"),
        ({"schedule": "0-2"}, "'0-2' has no step count"),
        ({"origin": "heard of"}, "has the origin 'heard of'; it must be one of: published;"),
        ({"method": "guess"}, "has the method 'guess'"),
        ({"sigmas": [1.0, 0.5]}, "has 2 noise levels; its 5 steps need 6"),
        ({"sigmas": [1.0, 0.8, 0.8, 0.4, 0.2, 0]}, "'sigmas' must be a list of falling"),
        ({"sigmas": [float("nan")]}, "'sigmas' must be a list of falling"),
        ({"sigmas": 3}, "'sigmas' must be a list of falling"),
        ({"quality": {"PSNR": "high"}}, "'quality' holds something other than numbers"),
        ({"policy": "Taylor"}, "the field 'policy' is no object"),
        ({"policy": {"kind": "Magic"}}, "'Magic' is no kind of policy"),
        ({"schedule": "0,2/5"}, "needs 3 full steps before the first cached step"),
        ({"notes": 1}, "the field 'notes' is no text"),
        ({"sigma": []}, "unknown field 'sigma'; known are architecture, conditions"),
    ],
    ids=str,
)
def test_a_wrong_field_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        GoldenPath.from_json(FULL | change)


@pytest.mark.parametrize("text", ["", "[]", "3", "{", '"0-2/5"'])
def test_other_text_is_refused(text):
    with pytest.raises(ValueError, match=r"no JSON text|not a golden path"):
        GoldenPath.from_text(text)
