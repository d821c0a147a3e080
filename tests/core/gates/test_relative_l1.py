import math

import pytest
import torch

from gph_core.gates import relative_l1
from gph_core.gates.relative_l1 import mean_distances, mean_sizes, relative_change, relative_changes


def test_a_change_is_relative_to_the_older_tensor_for_each_sample():
    old = torch.tensor([[1.0, -3.0], [2.0, 2.0]])  # mean sizes 2 and 2
    new = torch.tensor([[2.0, -3.0], [2.0, 5.0]])  # mean distances 0.5 and 1.5
    assert relative_changes(new, old).tolist() == [0.25, 0.75]
    assert relative_change(new, old) == 0.5


def test_a_sum_of_parts_is_the_whole_sum(monkeypatch):
    a, b = torch.randn(2, 2, 5, 7, generator=torch.Generator().manual_seed(1))
    expected = (a - b).abs().mean((1, 2)), a.abs().mean((1, 2))
    monkeypatch.setattr(relative_l1, "CHUNK", 4)  # 35 elements: the last part is smaller
    torch.testing.assert_close(mean_distances(a, b), expected[0])
    torch.testing.assert_close(mean_sizes(a), expected[1])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_is_reduced_in_single(dtype):
    # A sum of 70,000 ones is beyond float16, and bfloat16 counts no further than 256.
    old, new = torch.ones(1, 70_000, dtype=dtype), torch.full((1, 70_000), 1.5, dtype=dtype)
    assert relative_change(new, old) == 0.5
    assert relative_changes(new, old).dtype is torch.float32


def test_nothing_at_all_is_no_scale():
    zero = torch.zeros(1, 3)
    assert relative_change(zero, zero) == 0
    assert relative_change(zero + 1, zero) == pytest.approx(1e12)


def test_other_shapes_are_infinitely_far_apart():
    # Without the check one sample would be compared with two.
    assert relative_change(torch.ones(2, 3), torch.ones(1, 3)) == math.inf


@pytest.mark.parametrize("broken", [math.nan, math.inf])
def test_one_broken_element_shows(broken):
    x = torch.ones(2, 3)
    x[1, 2] = broken
    assert not math.isfinite(relative_change(x, torch.ones(2, 3)))
    assert not math.isfinite(relative_change(torch.ones(2, 3), x))
