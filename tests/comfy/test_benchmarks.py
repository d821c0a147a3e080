"""What the benchmarks on the demo model rely on."""

import random

import numpy as np
import pytest
import torch

from benchmarks import _demo
from benchmarks._search import swapped
from benchmarks.retarget import gained
from demo import scenes
from gph_core.schedule import Schedule

SCHEDULE = Schedule.parse("0,3,5/6")


@pytest.mark.parametrize("schedule", [None, SCHEDULE])
def test_many_prompts_at_once_give_what_each_gives_alone(schedule):
    prompts = _demo.captions(3, seed=0, held_out=True)
    together = _demo.Pictures(prompts, first_seed=7).sample("simple", 6, schedule)
    assert together.shape == (3, 64, 64, 3)
    for number, prompt in enumerate(prompts):
        alone = _demo.Pictures([prompt], first_seed=7 + number).sample("simple", 6, schedule)
        assert (alone[0] - together[number]).abs().max() <= 1  # of 255


def test_a_schedule_changes_the_picture_and_none_does_not():
    pictures = _demo.Pictures(_demo.captions(1, seed=0, held_out=True), first_seed=7)
    full = pictures.sample("simple", 6)
    assert torch.equal(pictures.sample("simple", 6, Schedule.all_full(6)), full)
    assert not torch.equal(pictures.sample("simple", 6, SCHEDULE), full)


def test_more_prompts_than_a_batch_are_all_sampled():
    prompts = _demo.captions(_demo.BATCH + 1, seed=0, held_out=True)
    images = _demo.Pictures(prompts, first_seed=0).sample("simple", 1)
    assert len(images) == _demo.BATCH + 1


@pytest.mark.parametrize("held_out", [True, False])
def test_captions_differ_and_are_of_one_kind(held_out):
    found = _demo.captions(64, seed=2, held_out=held_out)
    assert len(set(found)) == 64
    assert {scenes.is_held_out(caption) for caption in found} == {held_out}


def test_psnr_is_that_of_eight_bit_images():
    reference = torch.zeros(2, 4, 4, 3)
    found = _demo.psnr(reference + torch.tensor([0.0, 25.5]).view(2, 1, 1, 1), reference)
    assert found.tolist() == pytest.approx([100, 20])  # equal ones are capped; 20 log10(255/25.5)


def test_the_interval_is_students():
    mean, half = _demo.interval(np.array([1.0, 2.0, 3.0, 4.0]))
    assert mean == 2.5
    assert half == pytest.approx(2.0541, abs=1e-3)  # 3.1824 * 1.2910 / 2


def test_gains_are_paired_by_prompt():
    one, other = np.array([10.0, 20.0, 30.0]), np.array([11.0, 21.0, 31.0])
    assert gained({"uniform": one, "density": other}) == {
        "uniform": (0.0, 0.0),
        "density": (1.0, 0.0),
    }


def test_the_search_keeps_count_and_forced_steps():
    schedule, rng = Schedule.parse("0-3,5,8,13,27,49/50"), random.Random(0)
    for _ in range(100):
        found = swapped(schedule, rng)
        assert found.distance(schedule) == 2
        assert found.num_full == 9
        assert {0, 1, 2, 49} <= set(found.full_steps)
