import json
import random

import pytest
import torch

from gph_core.paths.golden_path import DRAWN, LEARNED, SHARED, GoldenPath
from gph_core.paths.judging import judged
from gph_core.paths.library import UserPaths
from gph_core.policies.base import Anchor, Now
from gph_core.policies.extrapolation import Hermite
from gph_core.policies.fitted import Fitted
from gph_core.policies.weights import SECOND, Term
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
    assert judged(json.dumps(path.to_json())) == path


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
        "notes: a note",
    ]


def test_what_others_state_stands_below_their_name():
    shared = GoldenPath.from_json(FULL | {"origin": SHARED, "conditions": {}, "sigmas": []})
    assert shared.card.splitlines()[3:] == [
        "searched elsewhere; its author states",
        "  model: FLUX.1-dev",
        "  validation PSNR dB: 27.125",
        "  source: a study",
        "  notes: a note",
    ]
    drawn = GoldenPath("mine", Schedule.parse("0/2"), DRAWN, quality={"PSNR dB": 99.0})
    assert drawn.card.splitlines()[3:] == [
        "drawn by hand, not measured; its author states", "  PSNR dB: 99",
    ]  # fmt: skip


# A line break of each kind, and a mark that turns the direction of what follows.
BREAKS = "\n\r\v\f\x1c\x85\u2028\u2029\u202e"


@pytest.mark.parametrize("sign", BREAKS, ids=ascii)
def test_no_text_of_others_can_look_like_a_line_of_the_card(sign):
    forged = f"x{sign}published{sign}PSNR dB: 99"
    path = GoldenPath(
        "mine", Schedule.parse("0/2"), SHARED, model=forged, source=forged, notes=forged,
        conditions={forged: forged, "list": [forged]}, quality={forged: 1.0},
    )  # fmt: skip
    head, facts = path.card.splitlines()[:4], path.card.splitlines()[4:]
    assert head[-1] == "searched elsewhere; its author states"
    assert all(line.startswith("  ") for line in facts)
    assert sign not in "".join(facts)


def test_a_long_text_of_others_is_cut_on_the_card():
    path = GoldenPath("mine", Schedule.parse("0/2"), SHARED, conditions={"n" * 400: "v" * 9000})
    assert path.card.splitlines()[-1] == f"  {'n' * 299}…: {'v' * 299}…"


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


# As the pack wrote it before weights were of channels.
THIRD = """{
 "format": 3, "name": "demo, 2 of 4", "schedule": "0,2/4", "origin": "searched here",
 "policy": {"kind": "Fitted", "schedule": "0,2/4",
  "weights": [[1, [[0, 0.875]]], [3, [[2, 1.25], [0, -0.5]]]],
  "conditions": {"family": "FLUX", "cfg": 3.5}, "examples": 16},
 "method": "searched"
}"""


def test_a_path_of_an_older_pack_predicts_what_it_did():
    path = judged(THIRD)
    assert path.policy.examples == 16
    anchors = [
        Anchor(n, 1 - n / 4, (torch.full((1, 3, 2), value),)) for n, value in ((2, 4.0), (0, 8.0))
    ]
    (one,) = path.policy.predict(anchors[1:], Now(1, 0.75, 0.5))
    (two,) = path.policy.predict(anchors, Now(3, 0.25, 0.0))
    assert torch.equal(one, torch.full((1, 3, 2), 7.0))  # 0.875 · 8
    assert torch.equal(two, torch.full((1, 3, 2), 1.0))  # 1.25 · 4 - 0.5 · 8
    again = path.to_json()
    assert again == json.loads(THIRD) | {"format": 4}
    assert judged(json.dumps(again)) == path


def rich(channels=2, full=(0, 2), steps=4):
    """A path whose cached steps have weights of each channel, for both prompts where they can."""
    draw, schedule = random.Random(1), Schedule(full, steps)

    def of_channels(center):
        return tuple(float(f"{draw.gauss(center, 0.1):.5g}") for _ in range(channels))

    def of_step(step):
        newest = [n for n in reversed(full) if n < step]
        guided = [Term(n, of_channels(float(not place))) for place, n in enumerate(newest[:3])]
        return (*guided, *(Term(n, of_channels(0.0), SECOND) for n in newest[:2]))

    weights = tuple((step, of_step(step)) for step in schedule.cached_steps)
    return GoldenPath("rich", schedule, LEARNED, Fitted(str(schedule), weights, {"cfg": 3.5}))


def test_weights_of_channels_and_both_prompts_are_of_format_4():
    path = rich()
    data = json.loads(json.dumps(path.to_json()))
    assert data["format"] == 4
    (step, ((full_step, of_channels), (_, second, stream))), _ = data["policy"]["weights"]
    assert (step, full_step, len(of_channels), len(second), stream) == (1, 0, 2, 2, 1)
    assert judged(json.dumps(data)) == path


def test_a_file_of_a_later_format_is_refused_in_words():
    data = rich().to_json() | {"format": 5}
    with pytest.raises(ValueError, match="format 5, of a newer version of this pack: update it"):
        judged(json.dumps(data))


def test_the_weights_of_a_large_model_are_a_small_file(tmp_path):
    # 13 of 50 steps are full; from the third on, five velocities have weights.
    path, library = rich(16, (0, 1, 2, *range(5, 50, 5), 49), 50), UserPaths(tmp_path)
    assert [len(terms) for _, terms in path.policy.weights] == [5] * 37
    assert library.save(path).stat().st_size <= 200_000
    assert library.read() == ([path], {})
