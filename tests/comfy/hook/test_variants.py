"""run/variants: options of ComfyUI and other packs: which of them make a call another branch."""

import itertools

import pytest
import torch
from golden_path_pack.gph_core.run.variants import Variants
from golden_path_pack.nodes.hook.branches import marks


def numbers(*evaluations):
    """Number of the variant of each call, all of one branch.

    Args:
        evaluations: the options of its call, or a list of them.
    """
    variants, found = Variants(), []
    for sigma, calls in enumerate(evaluations):
        variants.begin_evaluation()
        calls = calls if isinstance(calls, list) else [calls]
        found += [variants.number("branch", marks(options), sigma) for options in calls]
    return found


def new_function():
    def patch(q, k, v):
        return q, k, v

    return patch


ONE, OTHER = new_function(), print


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"run_vx": True}, {"run_vx": False}),
        ({}, {"cross_attn": False}),
        ({"stg_indexes": [3]}, {}),
        ({"mode": None}, {"mode": "on"}),
        ({"patches": {}}, {"patches": {"attn1_patch": [ONE]}}),
        ({"patches": {"attn1_patch": [ONE]}}, {"patches": {"attn1_patch": [ONE, ONE]}}),
        ({"patches_replace": {"dit": {0: ONE}}}, {"patches_replace": {"dit": {1: ONE}}}),
        ({"attention_override": ONE}, {"attention_override": OTHER}),
    ],
)
def test_a_flag_and_what_comes_or_goes_count_at_once(before, after):
    assert numbers(before, after, before, after) == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"scale": 5.0}, {"scale": 1.0}),
        ({"block": 3}, {"block": 4}),
        ({"mode": "one"}, {"mode": "other"}),
        ({"blocks": [7, 8]}, {"blocks": [7]}),
        ({"settings": {"scale": 5.0}}, {"settings": {"scale": 1.0}}),
        ({"override": ONE}, {"override": new_function()}),
        ({"patches": {"attn1_patch": [ONE]}}, {"patches": {"attn1_patch": [new_function()]}}),
    ],
)
def test_another_value_counts_once_the_value_had_stayed(before, after):
    assert numbers(before, before, after, after, before) == [0, 0, 1, 1, 0]


@pytest.mark.parametrize(
    "value",
    [
        lambda step: step,
        lambda step: step / 20,
        lambda step: f"step {step}",
        lambda step: [step, 20],
        lambda step: list(range(step)),
        lambda step: {"done": step},
        lambda step: new_function(),
        lambda step: object(),
        lambda step: torch.full((2,), step),
    ],
)
def test_what_changes_at_every_step_does_not_count(value):
    steps = [{"theirs": value(step), "flag": True} for step in range(20)]
    assert set(numbers(*steps)) == {0}


def test_a_value_that_begins_to_move_counts_once():
    ramp = [1.0, 1.0, 0.8, 0.6, 0.4, 0.4]
    assert numbers(*({"strength": value} for value in ramp)) == [0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_number_that_tells_calls_of_one_evaluation_apart_counts_from_the_first(order):
    first, second = [{"ptb_index": n} for n in (0, 1)], [{"ptb_index": n} for n in order]
    assert numbers(first, second) == [0, 1, *order]


def test_tiles_that_move_are_never_taken_for_each_other():
    found = numbers(*([{"tile": [x, 0]} for x in (step, step + 9)] for step in range(4)))
    assert len(set(found)) == len(found)


def test_equal_calls_of_one_evaluation_are_of_one_variant():
    assert numbers([{"flag": True}, {"flag": True}]) == [0, 0]


def test_what_other_parts_of_the_key_tell_or_every_call_changes_is_left_out():
    names = ("uuids", "cond_or_uncond", "sigmas", "sample_sigmas", "wrappers", "context_window")
    assert marks({name: object() for name in names}) == {}


def test_branches_have_variants_of_their_own():
    variants = Variants()
    flags = itertools.cycle([{"flag": True}, {"flag": False}])
    assert [variants.number(name, marks(next(flags)), 0.5) for name in "abba"] == [0, 0, 1, 1]


def test_a_value_that_stays_within_a_step_of_two_evaluations_has_not_stayed():
    variants, found = Variants(), []
    for step in (0, 1, 1, 2, 2, 3):  # as Heun asks: the corrector is at the level of the next step
        variants.begin_evaluation()
        found.append(variants.number("branch", marks({"step": step}), sigma=1 - step / 4))
    assert set(found) == {0}


def test_a_value_that_only_full_steps_change_has_not_stayed_over_cached_ones():
    variants, found, asked = Variants(), [], 0
    for step in range(12):
        variants.begin_evaluation()
        found.append(variants.number("branch", marks({"asked": asked}), sigma=1 - step / 12))
        if step % 4:
            variants.note_cached()
        else:
            asked += 1
    assert set(found) == {0}
