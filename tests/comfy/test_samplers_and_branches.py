"""Prompts, batches, sizes and samplers: planned steps are met, branches stay apart."""

import pytest
import torch

from . import tiny


def test_separate_and_batched_prompts_agree(model, monkeypatch):
    batched = tiny.sample(tiny.attach(model, "0,1,4/8"))
    monkeypatch.setattr(model.model, "memory_required", lambda *args, **kwargs: 2**60)
    separate = tiny.sample(tiny.attach(model, "0,1,4/8"))
    # Matrix products round differently for another batch size.
    torch.testing.assert_close(separate, batched, rtol=1e-4, atol=1e-4)


def test_prompts_of_different_length_run_apart_and_cache_apart(model, monkeypatch):
    listener = tiny.Listener()
    with tiny.counted_blocks(monkeypatch) as count:
        tiny.sample(tiny.attach(model, "0,1,4/8", listener=listener), negative_tokens=7)
    assert count[0] == 3 * 5 * 2
    assert listener.records[0].notes == ()


@pytest.mark.parametrize("schedule", ["0,1,4/8", "0-7/8"])
def test_a_batch_is_sampled_like_its_images(model, schedule):
    noise = torch.randn(3, 16, 8, 8, generator=torch.Generator().manual_seed(5))
    whole = tiny.sample(tiny.attach(model, schedule), noise=noise)
    for i in range(3):
        single = tiny.sample(tiny.attach(model, schedule), noise=noise[i : i + 1])
        # Matrix products round differently for another batch size.
        torch.testing.assert_close(whole[i : i + 1], single, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("sampler", "full", "calls"),
    [
        ("dpmpp_2m", (0, 1, 4), 3 + 5),
        ("uni_pc", (0, 1, 4), None),
        ("heun", (0, 1, 4), 8 + 7),
        ("euler_ancestral", (0, 1, 4), 3 + 5),
    ],
)
def test_samplers_meet_the_planned_steps(model, sampler, full, calls):
    listener = tiny.Listener()
    tiny.sample(tiny.attach(model, "0,1,4/8", listener=listener), sampler=sampler)
    (record,) = listener.records
    assert record.full_steps == full
    assert record.cached_steps == tuple(n for n in range(8) if n not in full)
    if calls is not None:
        assert len(record.full_seconds) + len(record.cached_seconds) == calls


def test_evaluations_between_grid_points_are_full(model):
    listener = tiny.Listener()
    tiny.sample(tiny.attach(model, "0/8", listener=listener), sampler="dpm_2")
    (record,) = listener.records
    # 8 steps on the grid, 7 midpoints (the last step has none).
    assert (len(record.full_seconds), len(record.cached_seconds)) == (1 + 7, 7)
    assert record.notes == ("evaluations between two steps were computed in full",)
