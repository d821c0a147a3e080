"""The surgery on a toy transformer whose residuals can be computed in the head."""

import operator

import pytest
import torch
from torch import nn

from gph_core.model import families
from gph_core.model.family import Family, with_image
from gph_core.model.surgery import Surgery

FAMILY = Family("toy", "tests.Toy", False, ("early", "late"), ("final",))


class Double(nn.Module):
    """Doubles its input, in place as ComfyUI's blocks do."""

    calls = 0

    def forward(self, img):
        Double.calls += 1
        img += img
        return img


class Negate(nn.Module):
    def forward(self, tokens, sign):
        return sign * tokens


class Add(nn.Module):
    def forward(self, tokens, sign):
        return tokens + sign


class Toy(nn.Module):
    def __init__(self):
        super().__init__()
        self.early = nn.ModuleList([Double(), Double()])
        self.late = nn.ModuleList([Double()])
        self.final = Negate()

    def forward(self, x):
        tokens = x + 1
        for block in (*self.early, *self.late):
            tokens = block(img=tokens)
        return self.final(tokens, -1)


@pytest.fixture
def toy():
    Double.calls = 0
    return Toy()


def values(recorded):
    return [stream.item() for part in recorded for stream in part.feature]


def test_a_recorded_call_is_unchanged_and_leaves_its_residual(toy):
    surgery = Surgery(toy, FAMILY)
    with surgery.recording():
        out = toy(torch.tensor([2.0]))
    # Tokens 3, doubled three times 24: residual 21.
    assert out.item() == -24
    assert values(surgery.take(1)) == [21]
    assert surgery.take(1) is None


def test_a_module_that_was_exchanged_takes_part_from_the_next_call_on(toy):
    surgery = Surgery(toy, FAMILY)
    with surgery.recording():
        toy(torch.tensor([2.0]))
    toy.late = nn.ModuleList([Double(), Double()])
    toy.final = Add()
    with surgery.recording():
        out = toy(torch.tensor([2.0]))
    # Tokens 3, doubled four times 48, and one less.
    assert out.item() == 47
    assert values(surgery.take(1)) == [45]


def test_the_modules_of_a_call_are_made_once(toy):
    # What was compiled for them holds for the next call, too.
    surgery, found = Surgery(toy, FAMILY), []
    for _ in range(2):
        with surgery.recording():
            found.append([toy.early, toy.final])
    assert all(map(operator.is_, *found))
    assert found[0][1] is not toy.final


def test_residuals_of_a_batch_are_tensors_of_their_own(toy):
    surgery = Surgery(toy, FAMILY)
    with surgery.recording():
        toy(torch.tensor([[2.0], [3.0]]))
    ((first,), _), ((second,), _) = surgery.take(2)
    assert (first.item(), second.item()) == (21, 28)
    # Neither keeps the other alive.
    assert first.untyped_storage().nbytes() == second.untyped_storage().nbytes() == 4


def test_a_cached_call_runs_no_block_and_adds_the_residual(toy):
    with Surgery(toy, FAMILY).adding((torch.tensor([10.0]),)):
        assert toy(torch.tensor([2.0])).item() == -13
    assert Double.calls == 0


def test_a_cached_call_with_the_recorded_residual_is_the_full_call(toy):
    surgery = Surgery(toy, FAMILY)
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    with surgery.recording():
        full = toy(x)
    ((residual, _),) = surgery.take(1)
    with surgery.adding(residual):
        cached = toy(x)
    torch.testing.assert_close(cached, full)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("kind", ["recording", "adding"])
def test_the_modules_are_the_original_ones_after_every_call(toy, kind, error):
    surgery = Surgery(toy, FAMILY)
    before = dict(toy.named_modules())
    order = list(toy._modules)

    def call():
        return surgery.recording() if kind == "recording" else surgery.adding((torch.zeros(1),))

    with call():
        toy(torch.ones(1))
    surgery.take(1)
    with pytest.raises(error), call():
        raise error
    assert list(toy._modules) == order
    assert all(a is b for a, b in zip(toy.modules(), before.values(), strict=True))
    assert surgery.take(1) is None


def test_a_block_that_is_not_called_leaves_no_residual(toy):
    surgery = Surgery(toy, FAMILY)
    with surgery.recording():
        toy.final(torch.ones(1), 1)  # another extension ran its own blocks
    assert surgery.take(1) is None


def test_a_class_without_a_row_is_not_detected(toy):
    assert families.detect(toy) is None


@pytest.mark.parametrize(("tail", "expected"), [(False, [9, 9, 2, 3, 4]), (True, [0, 1, 2, 9, 9])])
def test_image_tokens_are_replaced_at_their_end_of_all_tokens(tail, expected):
    tokens, image = torch.arange(5).view(1, 5, 1), torch.full((1, 2, 1), 9)
    assert with_image(tokens, image, tail).flatten().tolist() == expected
