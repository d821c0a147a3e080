"""cache/plan_schedule: Plan Schedule without a calibration: steps spaced by published rules."""

import pytest
import torch
from golden_path_pack.gph_core.paths.library import NONE
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.cache.plan_schedule import PlanSchedule

from ...support.comfy.planned import NEED_NONE, plan
from ...support.zoo import zoo, zoo_images, zoo_videos

pytestmark = pytest.mark.usefixtures("user")


@pytest.mark.parametrize("method", NEED_NONE)
def test_spaced_methods_need_nothing(method):
    schedule, policy, text = plan(method, 50, 9, NONE)
    # Of 46 steps that are not forced: i · 45 / 4 is 0, 11.25, 22.5, 33.75, 45, from step 3 on;
    # or 2 + (i + 1) · 47 / 6.
    images, videos = "0-3,14,25,37,48-49/50", "0-2,9,17,25,33,41,49/50"
    assert schedule == (videos if "videos" in method else images)
    assert policy == NEED_NONE[method]
    assert "9 of 50 steps full, at most 5.56x faster" in text
    expected = f"spaced by the GPH paper's rule for {'videos' if 'videos' in method else 'images'}"
    is_guess = "uniform" not in method
    guess = "; if your model makes videos, connect it to model" if is_guess else ""
    assert text.splitlines()[1] == expected + guess


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [("FLUX dev", "images", "0-3,14,25,37,48-49/50"), ("Wan", "videos", "0-2,9,17,25,33,41,49/50")],
)
def test_a_model_says_whether_images_or_videos_are_spaced(name, kind, expected):
    other = zoo.build(next(c for c in zoo_images.CASES + zoo_videos.CASES if name in c.name))
    schedule, _, text = plan("TaylorSeer", 50, 9, NONE, model=other)
    assert schedule == expected
    assert text.splitlines()[1] == f"spaced by the GPH paper's rule for {kind}"
    # The two rules that are chosen by name stay what they are.
    assert plan("uniform (images)", 50, 9, NONE, model=other)[0] == "0-3,14,25,37,48-49/50"


def test_the_speed_gives_the_count_and_sigmas_the_steps():
    schedule, *_ = PlanSchedule.execute("TaylorSeer", 50, "Fast", 99, NONE).result
    assert Schedule.parse(schedule).num_full == 9
    levels = torch.linspace(1, 0, 29)
    schedule, *_ = PlanSchedule.execute("TaylorSeer", 50, "Balanced", 99, NONE, levels).result
    found = Schedule.parse(schedule)
    assert (found.num_steps, found.num_full) == (28, 7)  # 28 · 13 / 50 = 7.28


def test_a_policy_that_needs_more_full_steps_says_so():
    with pytest.raises(ValueError, match=r"needs 3 first full steps .* ask for 4 full steps or"):
        plan("HiCache", 12, 3, NONE)


def test_a_number_out_of_range_is_an_error_with_the_range():
    with pytest.raises(ValueError, match="13 full steps do not fit: of 12 steps 1 to 12 can be"):
        plan("TaylorSeer", 12, 13, NONE)
    assert plan("TaylorSeer", 12, 12, NONE)[0] == "0-11/12"


@pytest.mark.parametrize(
    ("full", "schedule"), [(1, "0/12"), (2, "0,11/12"), (3, "0-1,11/12"), (4, "0-2,11/12")]
)
@pytest.mark.parametrize("rule", ["uniform (images)", "uniform (videos)", "TaylorSeer"])
def test_fewer_full_steps_than_the_published_rules_are_for_are_reported(rule, full, schedule):
    if (rule, full) == ("TaylorSeer", 1):
        return  # needs an anchor and one full step more
    found, _, text = plan(rule, 12, full, NONE)
    assert found == schedule
    expected = f"keeps three first steps and the last one full, 4 in all; with {full} some"
    assert (expected in text) == (full < 4)
