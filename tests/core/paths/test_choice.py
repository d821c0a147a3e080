"""The order in which a run finds its schedule."""

from dataclasses import replace

import pytest

from gph_core.paths.choice import choose
from gph_core.paths.conditions import Choice, Conditions
from gph_core.paths.golden_path import DRAWN, PUBLISHED, RETARGETED, SEARCHED, GoldenPath
from gph_core.paths.library import bundled_paths
from gph_core.paths.spacings import damped_spacing, noise_spacing, spacing
from gph_core.paths.without_path import LONG, NOISE, REUSED, SPACED, TOO_LONG
from gph_core.policies.base import Site
from gph_core.policies.damped_velocity import DampedVelocity
from gph_core.policies.extrapolation import Hermite, Reuse, Taylor
from gph_core.policies.mean_velocity import MeanVelocity
from gph_core.policies.two_anchor import TwoAnchor
from gph_core.schedule import Schedule

TEN = tuple(1 - n / 10 for n in range(11))
SHIFTED = tuple(3 * s / (1 + 2 * s) for s in TEN)
MODEL = {"depth": 19, "hidden_size": 3072}

OWN = GoldenPath(
    "own", Schedule.parse("0,2,4,9/10"), SEARCHED, model="A", family="FLUX",
    architecture={"depth": 19}, sigmas=TEN,
)  # fmt: skip
GIVEN = replace(OWN, name="given", schedule=Schedule.parse("0,1,3,9/10"), origin=PUBLISHED)


def run(sigmas=TEN, policy=None, family="FLUX", model=MODEL):
    return Conditions(family, model, sigmas, policy or Reuse())


def chosen(conditions, *paths, num_full=4):
    return choose(conditions, num_full, paths)


def test_an_own_search_comes_before_a_published_path():
    assert chosen(run(), GIVEN, OWN) == Choice(
        OWN.schedule, "searched here: own", Reuse(), path=OWN
    )  # fmt: skip
    assert chosen(run(), GIVEN) == Choice(
        GIVEN.schedule, "published for A", Reuse(), path=GIVEN
    )  # fmt: skip


def test_a_path_of_other_noise_levels_is_not_taken():
    other = replace(OWN, sigmas=SHIFTED)
    assert chosen(run(), other, GIVEN).origin == "published for A"
    assert chosen(run(), other) == chosen(run())


@pytest.mark.parametrize("guided", [True, False])
def test_without_a_path_it_is_spacing_by_noise_level(guided):
    conditions = replace(run(SHIFTED), guidance=3.0 if guided else 1.0, halfway=0.75)
    expected = noise_spacing(SHIFTED, 4, 0.75, guided)
    assert chosen(conditions) == Choice(expected, SPACED, Reuse())


@pytest.mark.parametrize("guidance", [1.0, 2.0])
def test_where_the_policy_is_free_too_it_is_damped_velocity_with_its_own_spacing(guidance):
    conditions = replace(run(SHIFTED), guidance=guidance, halfway=0.75, is_free=True)
    expected = damped_spacing(SHIFTED, 4, 0.75, guidance)
    assert chosen(conditions) == Choice(
        expected, SPACED, DampedVelocity(guidance, 0.75), is_ruled=True
    )  # fmt: skip
    assert chosen(conditions, replace(OWN, sigmas=SHIFTED)).policy == Reuse()
    rising = replace(conditions, sigmas=TEN[::-1])
    assert chosen(rising) == Choice(Schedule.parse("0,3,6,9/10"), "uniform spacing", Reuse())


def test_where_gaps_are_long_and_guidance_is_strong_it_is_residual_reuse():
    def policy(guidance, is_multistep=False, **facts):
        free = replace(run(), guidance=guidance, is_free=True, is_multistep=is_multistep, **facts)
        choice = chosen(free)
        if choice.policy == Reuse():
            assert choice.schedule == noise_spacing(TEN, 4, 0.5, True)
            assert choice.note == f"{REUSED}: {TOO_LONG}"
        return choice.policy

    # 0,2,5,9 of 10: the longest gap is 0.4 of the noise levels, and 0.4 * 1.8 < 0.73 < 0.4 * 1.9.
    # For a sampler that extrapolates too it counts as 0.6, and 0.6 * 1.2 < 0.73 < 0.6 * 1.3.
    assert {damped_spacing(TEN, 4, 0.5, g).full_steps for g in (2.2, 2.9)} == {(0, 2, 5, 9)}
    assert policy(2.8) == DampedVelocity(2.8)
    assert policy(2.9) == Reuse()
    assert policy(2.2, is_multistep=True) == DampedVelocity(2.2, is_multistep=True)
    assert policy(2.3, is_multistep=True) == Reuse()


def test_where_residual_reuse_cannot_run_long_gaps_are_said():
    def refusal(policy):
        return "the blocks are not known" if policy.site is Site.STACK else None

    for guidance, note in ((1.0, ""), (9.0, LONG)):
        choice = chosen(replace(run(), guidance=guidance, is_free=True, incompatibility=refusal))
        assert (choice.policy, choice.note) == (DampedVelocity(guidance), note)


def test_where_the_sampler_adds_noise_it_is_residual_reuse_and_says_why():
    choice = chosen(replace(run(), guidance=1.0, is_free=True, is_stochastic=True))
    assert choice.schedule == noise_spacing(TEN, 4, 0.5, False)
    assert (choice.policy, choice.note) == (Reuse(), f"{REUSED}: {NOISE}")


def test_where_damped_velocity_cannot_run_it_is_residual_reuse_and_says_why():
    def refusal(policy):
        return "the sampler wants both; take another" if policy.site is Site.GUIDED else None

    choice = chosen(replace(run(), guidance=1.0, is_free=True, incompatibility=refusal))
    assert choice.schedule == noise_spacing(TEN, 4, 0.5, False)
    assert (choice.policy, choice.note) == (Reuse(), f"{REUSED}: the sampler wants both")


@pytest.mark.parametrize(
    ("sigmas", "continues", "text"),
    [
        (TEN[:6], False, "0,2,4/5"),  # leaves noise
        (TEN[5:], True, "0,4/5"),  # step 9 of the path; a run begins with a full step
        (TEN[3:8], True, "0-1/4"),
    ],
)
def test_a_run_that_goes_on_takes_its_part_of_a_path(sigmas, continues, text):
    conditions = replace(run(sigmas), continues=continues)
    first = TEN.index(sigmas[0])
    origin = f"steps {first} to {first + len(sigmas) - 2} of searched here: own"
    found = choose(conditions, 4, [GIVEN, OWN], 0.6)
    assert found == Choice(Schedule.parse(text), origin, Reuse(), path=OWN, wanted=4)
    assert choose(conditions, 4, [OWN], 0.8).origin == SPACED  # another speed
    other = replace(run(SHIFTED[5:]), continues=True)
    assert choose(other, 4, [OWN], 0.6).origin == SPACED


def test_image_to_image_is_no_part_of_a_path():
    assert choose(run(TEN[5:]), 4, [OWN], 0.6).origin == SPACED


@pytest.mark.parametrize("sigmas", [TEN[::-1], (*TEN[:-1], TEN[-2]), (0.5,) * 11])
def test_noise_levels_that_do_not_fall_get_uniform_spacing(sigmas):
    expected = Choice(Schedule.parse("0,3,6,9/10"), "uniform spacing", Reuse())
    assert chosen(run(sigmas)) == expected


@pytest.mark.parametrize(
    ("num_steps", "num_full", "schedule"),
    [
        (50, 9, "0-2,9,17,25,33,41,49/50"),  # the published rule
        (28, 7, "0-1,6,11,16,21,27/28"),
        (20, 5, "0,4,9,14,19/20"),
        (8, 4, "0,2,4,7/8"),
        (3, 3, "0-2/3"),
        # The last step and three first ones would be more than all.
        (50, 3, "0,24,49/50"),  # 0 + floor(1 * 49 / 2)
        (50, 2, "0,49/50"),
    ],
)
def test_first_full_steps_are_in_proportion_to_three_of_50(num_steps, num_full, schedule):
    assert str(spacing(num_steps, num_full)) == schedule


def test_spacing_begins_with_the_anchors_that_a_policy_needs():
    assert str(spacing(20, 5, min_anchors=3)) == "0-2,10,19/20"


@pytest.mark.parametrize(
    "path",
    [
        replace(OWN, family="Wan"),
        replace(OWN, architecture={"depth": 8}),
        replace(OWN, architecture={"dim": 19}),
        replace(OWN, architecture={}),  # a path that states no model
        replace(OWN, family=""),
        replace(OWN, origin=DRAWN),
        replace(OWN, origin=RETARGETED),
        replace(OWN, method="control"),
        replace(OWN, schedule=Schedule.parse("0-7,9/10")),  # of another cache ratio
        replace(OWN, sigmas=SHIFTED[::2], schedule=Schedule.parse("0,4/5"), policy=Taylor(1)),
    ],
    ids=range(10),
)
def test_paths_that_do_not_fit_are_not_taken(path):
    assert chosen(run(), path).origin == SPACED


def test_a_model_without_a_family_takes_the_paths_of_its_class_and_configuration():
    path = replace(OWN, family="UNetModel", policy=Reuse(Site.GUIDED))

    def origin(name="UNetModel", model=MODEL):
        unlisted = replace(run(policy=path.policy, family=None, model=model), name=name)
        return chosen(unlisted, path).origin

    assert origin() == "searched here: own"
    assert origin(name="OtherModel") == SPACED
    assert origin(model={"depth": 20}) == SPACED


def test_the_policy_of_a_path_comes_first_then_reuse():
    hermite = replace(GIVEN, schedule=Schedule.parse("0-2,9/10"), policy=Hermite(2))
    assert chosen(run(policy=Hermite(2)), GIVEN, hermite).schedule == hermite.schedule
    choice = chosen(run(policy=Taylor(1)), hermite, GIVEN)
    assert choice == Choice(
        GIVEN.schedule, "published for A, found with residual reuse", Taylor(1), path=GIVEN
    )  # fmt: skip


def test_a_path_of_damped_velocity_knows_of_a_run_what_does_not_matter_here():
    path = replace(OWN, policy=DampedVelocity(2.0, 0.7))
    assert chosen(run(policy=DampedVelocity()), path).origin == "searched here: own"
    assert chosen(run(), path).origin == SPACED


def test_other_methods_schedules_stay_with_their_policy():
    adaptive = replace(GIVEN, method="adaptive", policy=TwoAnchor())
    assert chosen(run(policy=TwoAnchor()), adaptive).origin == "published for A"
    assert chosen(run(), adaptive).origin == SPACED
    assert chosen(run(policy=Taylor(1)), replace(adaptive, policy=Reuse())).origin == SPACED


def test_a_searched_path_comes_before_what_an_adaptive_method_chose():
    adaptive = replace(GIVEN, name="adaptive", method="adaptive", policy=TwoAnchor())
    assert chosen(run(policy=TwoAnchor()), adaptive, GIVEN).origin == (
        "published for A, found with residual reuse"
    )


def test_a_path_whose_first_steps_are_too_few_for_the_policy_is_not_taken():
    # Step 1 is cached, Hermite of order 2 needs three full steps before.
    assert chosen(run(policy=Hermite(2)), OWN) == chosen(run(policy=Hermite(2)))


def test_the_spans_of_a_path_belong_to_its_own_steps():
    spans = MeanVelocity(4, ((3, 2), (5, 1)))
    path = replace(GIVEN, schedule=Schedule.parse("0-2,9/10"), policy=spans)
    assert chosen(run(policy=MeanVelocity()), path).policy == spans
    other = replace(path, schedule=Schedule.parse("0,3,6,9/10"), sigmas=SHIFTED)
    assert chosen(run(policy=MeanVelocity()), other).policy == MeanVelocity()


FLUX_DEV = {"hidden_size": 3072, "depth": 19, "depth_single_blocks": 38, "guidance_embed": True}


def test_flux_dev_gets_the_delivered_paths_of_the_paper():
    sigmas = next(path.sigmas for path in bundled_paths() if path.model == "FLUX.1-dev")
    for num_full, full_steps in (
        (21, (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 24, 30, 38, 46, 49)),
        (13, (0, 1, 2, 3, 4, 6, 8, 10, 14, 19, 30, 43, 49)),
        (9, (0, 1, 2, 3, 5, 8, 13, 27, 49)),
    ):
        conditions = Conditions("FLUX", FLUX_DEV, sigmas, Reuse())
        choice = choose(conditions, num_full, bundled_paths())
        assert choice.schedule.full_steps == full_steps
        assert choice.origin == "published for FLUX.1-dev"
