"""Final layers where a call has more tokens than the one that was remembered."""

import threading
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from gph_core.model.family import Family
from gph_core.model.replacements import AddBehindFirst, AddProbed, AddResidual, RecordInput, Scratch


class Rest:
    """The remembered residual, less its probe, behind the probe of now."""

    def extrapolate(self, probe, probes, residuals):
        return probe + residuals[0] - probes[0]


def column(*values):
    """Tokens ``[1, L, 1]``."""
    return torch.tensor(values, dtype=torch.float32).reshape(1, -1, 1)


def scratch():
    """What a call of four tokens finds, and a former one of two has left."""
    anchor = SimpleNamespace(probe=(column(1, 2),), feature=(column(10, 20),))
    return SimpleNamespace(
        is_foreign=lambda: False, feature=(column(10, 20),), first_input=(column(1, 2, 3, 4),),
        first_output=(column(2, 4, 6, 8),), probe_policy=Rest(), anchors=(anchor, anchor),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("layer", "image"),
    [
        (AddResidual, (7 + 10, 8 + 20)),
        (AddBehindFirst, (3 + 10, 4 + 20)),
        (AddProbed, (3 + (6 - 3 + 10 - 1), 4 + (8 - 4 + 20 - 2))),
    ],
)
def test_tokens_that_were_not_remembered_stay(layer, image):
    found = layer(nn.Identity(), scratch(), 0, True)(column(5, 6, 7, 8))
    assert torch.equal(found, column(5, 6, *image))


@pytest.mark.parametrize(
    ("layer", "image"),
    [
        (AddResidual, (5 + 10, 6 + 20)),
        (AddBehindFirst, (1 + 10, 2 + 20)),
        (AddProbed, (1 + (2 - 1 + 10 - 1), 2 + (4 - 2 + 20 - 2))),
    ],
)
def test_an_image_in_front_keeps_the_tokens_behind_it(layer, image):
    found = layer(nn.Identity(), scratch(), 0, False)(column(5, 6, 7, 8))
    assert torch.equal(found, column(*image, 7, 8))


def test_tokens_before_the_image_are_not_noted():
    class Doubled(nn.Module):
        def forward(self, tokens, before):
            return 2 * tokens

    family = Family("one", "one", False, ("blocks",), image=0, prefix=1)
    noted = Scratch(1, Rest(), None)
    noted.thread = threading.get_ident()
    block = RecordInput(Doubled(), noted, family)
    assert torch.equal(block(column(1, 2), 2), column(2, 4))
    assert noted.first_input is noted.first_output is None
    assert torch.equal(block(column(1, 2, 3), 2), column(2, 4, 6))
    (received,), (handed_on,) = noted.first_input, noted.first_output
    assert torch.equal(received, column(3))
    assert torch.equal(handed_on, column(6))
