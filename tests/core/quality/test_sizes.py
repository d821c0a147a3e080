"""Pictures of two sizes meet at the smaller one."""

import pytest
import torch

from gph_core.quality.sizes import at_one_size


def test_a_picture_of_the_smaller_size_stays_as_it_is():
    small, large = torch.rand(2, 6, 4, 3), torch.rand(2, 12, 8, 3)
    for pair in ((small, large), (large, small)):
        found = at_one_size(*pair)
        assert any(picture is small for picture in found)
        assert [picture.shape for picture in found] == [(2, 6, 4, 3)] * 2


def test_squares_of_whole_pixels_become_their_means():
    small = torch.zeros(1, 1, 2, 1)
    large = torch.tensor([[0.0, 0.4, 1.0, 1.0], [0.2, 0.2, 1.0, 0.0]]).reshape(1, 2, 4, 1)
    _, scaled = at_one_size(small, large)
    assert scaled.flatten().tolist() == pytest.approx([0.2, 0.75])


def test_other_ratios_add_no_colour_that_the_picture_has_not():
    edge = torch.tensor([0.25, 0.75]).repeat_interleave(6).reshape(1, 1, 12, 1).expand(1, 12, 12, 1)
    _, scaled = at_one_size(torch.zeros(1, 8, 8, 1), edge)
    assert (scaled.min().item(), scaled.max().item()) == (0.25, 0.75)
    assert scaled[0, 0, 0].item() == pytest.approx(0.25)


def test_nothing_is_enlarged_where_shapes_differ():
    wide, high = torch.rand(1, 4, 8, 3), torch.rand(1, 8, 4, 3)
    assert [picture.shape for picture in at_one_size(wide, high)] == [(1, 4, 4, 3)] * 2


def test_pictures_without_pixels_are_left_to_the_check():
    none, some = torch.zeros(1, 0, 4, 3), torch.zeros(1, 2, 4, 3)
    assert [picture.shape for picture in at_one_size(none, some)] == [none.shape, some.shape]
