"""The range of a run's latents: what is told of it, and what is not."""

import math

import pytest
import torch

from gph_core.run.latent_range import ALREADY_BEFORE, LatentRange

NAN, INF = math.nan, math.inf
SLOWER = "let more steps be full, or choose another path or policy"
SOUND = torch.zeros(1)


def fault(seen, result=SOUND, cached=(), steps=None):
    """Fault of evaluations, one a step, of RMS (before, after) or the same for both."""
    latents = LatentRange()
    for number, pair in enumerate(seen):
        before, after = pair if isinstance(pair, tuple) else (pair, pair)
        latents.evaluated(number, torch.tensor([[before]]), torch.tensor([[after]]))
    steps = steps or range(len(seen))
    return latents.fault({n: (s, n in cached) for n, s in enumerate(steps)}, result)


def test_the_rms_is_that_of_each_item():
    batch = torch.tensor([[[3.0, 4.0]], [[0.0, 2.0]]])  # sqrt(25 / 2), sqrt(4 / 2)
    torch.testing.assert_close(LatentRange().rms(batch), torch.tensor([[12.5**0.5], [2**0.5]]))


def test_the_rms_is_that_of_each_part_of_packed_latents():
    packed = torch.tensor([[[2.0, 2.0, 2.0, 0.0, 6.0]]])  # 2, and sqrt(36 / 2)
    for sizes in ([3, 2], [3, 0, 2]):  # a video may have no sound
        found = LatentRange(sizes).rms(packed)
        torch.testing.assert_close(found, torch.tensor([[2.0, 18**0.5]]))


def test_a_square_that_half_precision_cannot_hold_is_no_fault():
    assert LatentRange().rms(torch.full((1, 4), 3e4, dtype=torch.float16)) == 3e4


@pytest.mark.parametrize("seen", [[1, 1.3, 3.9], [(1, 0.1), 0.3, (0.2, 3.9)], [0, 0, 0]])
def test_latents_up_to_four_times_as_large_say_nothing(seen):
    assert fault(seen, cached={2}) == ""


def test_latents_that_grow_without_a_cached_step_say_nothing():
    assert fault([1, 10, 100]) == ""


def test_a_cached_step_that_leaves_the_range_is_told_with_its_size():
    assert fault([1, (1.5, 2.0), (2.0, 25.0), 400.0], cached={2}) == (
        "the latents left their range at step 2 (cached): they were 12 times as large as at any "
        f"full step before, so the result is likely broken; {SLOWER}"
    )


def test_a_full_step_whose_input_a_cached_one_has_blown_up_is_told():
    told = fault([1, 1, 1, (9.0, 1.0)], cached={2})
    assert told.startswith("the latents left their range at step 3 (full after cached ones): they")


def test_full_steps_after_cached_ones_widen_the_range():
    assert fault([1, 2, 3.5, 10, 30], cached={1, 4}) == ""


def test_one_item_of_a_batch_that_leaves_the_range_is_told():
    latents = LatentRange()
    for number, rms in enumerate(([[1.0], [9.0]], [[5.0], [9.0]])):
        latents.evaluated(number, torch.tensor(rms), torch.tensor(rms))
    assert "5 times" in latents.fault({0: (0, False), 1: (1, True)}, SOUND)


def test_a_batch_that_changes_on_the_way_is_taken_by_its_largest_item():
    latents = LatentRange()
    for number, rms in enumerate(([[1.0], [2.0]], [[7.0]], [[8.0]])):
        latents.evaluated(number, torch.tensor(rms), torch.tensor(rms))
    kinds = {n: (n, n > 0) for n in range(4)}
    assert latents.fault(kinds, SOUND) == ""
    latents.evaluated(3, torch.tensor([[1.0]]), torch.tensor([[10.0]]))
    assert "step 3 (cached): they were 5 times" in latents.fault(kinds, SOUND)


NOT_FINITE = {
    "before": ([(NAN, NAN), NAN], (), ALREADY_BEFORE),
    "full": (
        [1, (1, NAN), NAN], {2},
        "the latents are not finite from step 1 (full) on, so the cache did not cause it; let the "
        "model compute in another precision, such as bf16 or fp32",
    ),
    "cached": (
        [1, (1, INF), NAN], {1},
        f"the latents are not finite from step 1 (cached) on; {SLOWER}",
    ),
    "made by the sampler": (
        [1, 1, (INF, 1)], {1},
        f"the latents are not finite from step 1 (cached) on; {SLOWER}",
    ),
    "full after cached": (
        [1, 1, (1, NAN)], {1},
        "the latents are not finite from step 2 (full after cached ones) on; sample without the "
        f"cache: if the result is finite then, {SLOWER}",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("seen", "cached", "told"), NOT_FINITE.values(), ids=NOT_FINITE.keys())
def test_latents_that_are_not_finite_are_told_with_where_it_began(seen, cached, told):
    assert fault(seen, torch.tensor([NAN]), cached) == told


def test_a_result_that_is_not_finite_is_told_even_if_nothing_else_was_seen():
    assert "from a full evaluation on" in fault([], torch.tensor([INF]))
    unseen = LatentRange().fault({0: (0, False), 1: (1, True)}, torch.tensor([INF]))
    assert "from step 1 (cached) on" in unseen
    assert "from step 1 (cached) on" in fault([1, 1], torch.tensor([INF]), {1})


def test_an_evaluation_of_no_known_step_is_told_as_one():
    assert "from a cached evaluation on" in fault([1, (1, NAN)], cached={1}, steps=[0, None])
