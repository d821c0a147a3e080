"""``paths/choice``: which of several fitted paths a run takes, learned ones among them."""

import json
from dataclasses import replace

import pytest

from gph_core.calibration.fitted import carries, check_policy
from gph_core.paths.choice import choose, provenance
from gph_core.paths.conditions import Conditions
from gph_core.paths.evidence import LEARNED_FIGURE, evidence
from gph_core.paths.golden_path import LEARNED, SEARCHED, SHARED, GoldenPath
from gph_core.paths.judging import judged
from gph_core.paths.library import UserPaths
from gph_core.policies.extrapolation import Hermite, Reuse
from gph_core.policies.fitted import NEEDED, Fitted
from gph_core.schedule import Schedule

LEVELS = (1.0, 0.75, 0.5, 0.25, 0.0)
WEIGHTS = ((1, ((0, 1.0),)), (3, ((2, 1.5), (0, -0.5))))
CONDITIONS = dict.fromkeys(NEEDED, "any") | {"sigmas": list(LEVELS), "cfg": 5.0}
PATH = GoldenPath(
    "learned, FLUX, 2 of 4, CFG 5, a1b2c3", Schedule.parse("0,2/4"), LEARNED,
    Fitted("0,2/4", WEIGHTS, CONDITIONS, examples=2), family="FLUX", architecture={"depth": 19},
    sigmas=LEVELS, quality={LEARNED_FIGURE: 36.6},
)  # fmt: skip


def path_of(cfg=5.0, examples=2, **changes):
    conditions = CONDITIONS | {"cfg": cfg}
    policy = replace(PATH.policy, conditions=conditions, examples=examples)
    return replace(PATH, name=f"{cfg} {examples}", policy=policy, **changes)


def chosen(paths, cfg=5.0, policy=None, holds=None):
    def holds_at(policy):
        return carries(policy.conditions.get("cfg"), cfg)

    policy = policy or Reuse()
    run = Conditions("FLUX", {"depth": 19}, LEVELS, policy, holds or holds_at, cfg=cfg)
    return choose(run, 2, paths)


def test_a_learned_path_is_taken_with_its_weights_and_says_what_it_is_worth():
    choice = chosen([PATH])
    assert (choice.schedule, choice.policy, choice.path) == (PATH.schedule, PATH.policy, PATH)
    assert choice.origin == (
        "learned here from 2 images, about 37 dB when tried on each other; "
        "other images may differ more"
    )
    assert not choice.is_ruled


def test_of_several_the_one_of_the_same_cfg_is_taken_then_the_one_of_most_examples():
    more = path_of(examples=16, origin=SEARCHED)
    same, other = path_of(), path_of(6.0, 16)
    for paths in ([same, other, more], [more, same, other], [other, more, same]):
        assert chosen(paths).path == more
    for paths in ([same, other], [other, same]):
        assert chosen(paths).path == same
        assert chosen(paths, 5.4).path == same  # nearer than the one of more examples
        assert chosen(paths, 5.6).path == other
    assert chosen([path_of(source="a"), path_of(source="b")]).path.source == "a"  # of equal ones


def test_a_learned_path_is_for_runs_that_leave_the_policy_to_it():
    assert chosen([PATH], policy=Hermite(1)).path is None
    assert chosen([replace(PATH, policy=Reuse())]).path is None  # it has no weights


def test_a_rule_is_said_to_have_chosen_where_the_policy_was_ours_to_choose():
    run = Conditions("FLUX", {"depth": 19}, LEVELS, Reuse(), guidance=1.0, is_free=True)
    assert choose(run, 2, []).is_ruled
    assert choose(replace(run, is_stochastic=True), 2, []).is_ruled  # with residual reuse
    assert not choose(replace(run, is_free=False), 2, []).is_ruled
    assert not choose(replace(run, sigmas=LEVELS[::-1]), 2, []).is_ruled
    searched = replace(PATH, origin=SEARCHED, policy=Reuse())
    assert not choose(run, 2, [searched]).is_ruled


@pytest.mark.parametrize(
    ("fitted", "of_run", "expected"),
    [
        (5.0, 5.0, True),
        (5.0, 4.5, True),
        (5.0, 4.0, True),
        (5.0, 3.99, False),
        (5.0, 6.0, True),
        (5.0, 6.01, False),
        (3.0, 3.0 * 1.2, True),  # 3.5999999999999996
        (3.0, 3.0 * 0.8, True),  # 2.4000000000000004
        (3, 2.4, True),
        (1.0, 0.8, False),
        (1.0, 1.2, False),
        (1.0, 1.0, True),
        (1.2, 1.0, False),  # without guidance nobody asks for the negative prompt
        (1.2, 1, False),
        (0.0, 0.0, True),
        (0.0, -0.1, False),
        (-2.0, -2.0, True),
        (-2.0, -1.9, False),
        (None, None, True),
        (None, 5.0, False),
        (5.0, None, False),
        ("5", "4.5", False),
        (float("nan"), 5.0, False),
    ],
)
def test_weights_are_carried_to_a_cfg_within_a_fifth_and_no_further(fitted, of_run, expected):
    assert carries(fitted, of_run) is expected


def test_a_run_of_a_near_cfg_is_told_so_and_one_of_a_far_cfg_is_refused():
    of_run = CONDITIONS | {"cfg": 4.2}
    for cfg in (4.2, 5.8):
        assert "another CFG" in check_policy(PATH.policy, of_run | {"cfg": cfg})
    assert check_policy(PATH.policy, CONDITIONS) == ""
    for cfg in (6.5, 3.0):
        with pytest.raises(ValueError, match=f"cfg 5.0, this run has {cfg}"):
            check_policy(PATH.policy, of_run | {"cfg": cfg})
    with pytest.raises(ValueError, match="sampler"):  # and that alone is not exact
        check_policy(PATH.policy, of_run | {"sampler": "heun"})


def test_weights_of_other_channels_are_refused_before_the_run():
    of_run = CONDITIONS | {"latent": [4, 8, 8]}
    weights = ((1, ((0, (1.0, 0.5, 1.5)),)),)
    policy = replace(PATH.policy, weights=weights)
    with pytest.raises(ValueError, match="for latents of 3 channels, this run's have 4"):
        check_policy(policy, of_run)
    assert check_policy(policy, of_run | {"latent": [3, 8, 8]}) == ""
    assert check_policy(PATH.policy, of_run) == ""  # the same for every channel


# --- what it says of itself -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {},
            "learned here from 2 images, about 37 dB when tried on each other; "
            "other images may differ more",
        ),
        ({"quality": {}}, "learned here from 2 images"),
        (
            {"quality": {LEARNED_FIGURE: 21.0}},
            "learned here from 2 images, about 21 dB when tried on each other; "
            "other images may differ more",
        ),
        (
            {"policy": replace(PATH.policy, examples=1), "quality": {"PSNR dB": 30.0}},
            "learned here from 1 image",
        ),
        ({"policy": Reuse()}, ""),
    ],
)
def test_evidence_is_the_number_of_images_and_what_they_say_of_each_other(changes, text):
    assert evidence(replace(PATH, **changes)) == text


def test_provenance_leaves_out_the_long_name_but_for_a_path_without_weights():
    assert provenance(PATH) == evidence(PATH)
    assert provenance(replace(PATH, policy=Reuse())) == f"learned here: {PATH.name}"
    assert provenance(replace(PATH, origin=SEARCHED)).startswith(f"{PATH.name}, fitted here on 2")


def test_a_card_states_it_as_our_own():
    assert PATH.is_ours
    lines = PATH.card.splitlines()
    assert lines[3] == "learned here"
    assert f"{LEARNED_FIGURE}: 36.6" in lines


# --- in the library -------------------------------------------------------------------------------


def test_it_is_read_back_as_it_was_saved(tmp_path):
    library = UserPaths(tmp_path)
    library.save(PATH)
    assert library.read() == ([PATH], {})
    assert GoldenPath.from_json(json.loads(json.dumps(PATH.to_json()))) == PATH
    assert judged(json.dumps(PATH.to_json())).origin == LEARNED


def test_one_of_others_was_not_learned_here(tmp_path):
    library = UserPaths(tmp_path)
    library.import_text(json.dumps(PATH.to_json()))
    found = library.get(PATH.name)
    assert found == replace(PATH, origin=SHARED)
    assert evidence(found) == "searched elsewhere, its author states: fitted on 2 examples"
    assert chosen([found]).path == found


@pytest.mark.parametrize("origin", ["learned", "Learned here", "learned elsewhere"])
def test_no_other_origin_sounds_like_it(origin):
    with pytest.raises(ValueError, match=r"must be one of: .*learned here"):
        GoldenPath.from_json(PATH.to_json() | {"origin": origin})
