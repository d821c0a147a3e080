"""Noise levels for another number of steps."""

import pytest
import torch

from gph_core.run.levels import along


def test_fewer_levels_lie_on_the_same_curve():
    levels = along(torch.tensor([1.0, 0.8, 0.5, 0.1, 0.0]))
    # Places 0, 4/3, 8/3 and 4: a third of the way from 0.8 to 0.5, two thirds from 0.5 to 0.1.
    torch.testing.assert_close(levels(3), torch.tensor([1.0, 0.7, 0.7 / 3, 0.0]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_as_many_steps_have_the_same_levels(dtype):
    sigmas = torch.tensor([1.0, 0.8, 0.5, 0.1, 0.0], dtype=dtype)
    assert torch.equal(along(sigmas)(4), sigmas)
