"""What others find where a module of ours stands in a transformer's place, on a toy."""

import contextlib
import types

import pytest
import torch
from torch import nn

from gph_core.gates.base import Look
from gph_core.model.family import Family
from gph_core.model.replacements import OTHER_BATCH
from gph_core.model.signals import SignalSource
from gph_core.model.stand_ins import RAN, stand_in
from gph_core.model.surgery import Surgery
from gph_core.policies.base import Anchor
from gph_core.policies.two_anchor import TwoAnchor

SIGNAL = SignalSource(lambda block, img: img, ("img",))
FAMILY = Family("toy", "tests.Toy", False, ("blocks",), ("final",), signal=SIGNAL)
ENDING = Family("toy", "tests.Toy", False, ("blocks",), (), image=0, end=(0,), signal=SIGNAL)


class Part(nn.Module):
    factor = 2.0

    def forward(self, img):
        return self.factor * img


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()

    def forward(self, img):
        return self.part(img)


class Final(Part):
    factor = -1.0


class Toy(nn.Module):
    """Its loop looks at a block before it calls it, as that of HiDream-O1."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block(), Block()])
        self.final = Final()

    def forward(self, x):
        for block in self.blocks:
            assert block.part.factor == 2.0
            x = block(img=x)
        assert self.final.factor == -1.0
        return self.final(x)


ONE = torch.ones(1, 1, 1)


def calls(surgery):
    """All kinds of calls, by name: full ones, cached ones, and those that a gate looks at."""
    anchor = Anchor(0, 1.0, (ONE,), probe=(ONE,))
    return {
        "full": surgery.recording(),
        "cached": surgery.adding((ONE,)),
        "replaced": surgery.replacing((ONE,)),
        "probed": surgery.probing(anchor, anchor),
        "looked at": surgery.adding((ONE,), looking=True),
    }


KINDS = ["full", "cached", "replaced", "probed", "looked at"]


@pytest.fixture
def toy():
    return Toy()


@contextlib.contextmanager
def a_call(toy, kind, look=Look.FIRST_BLOCK):
    with calls(Surgery(toy, FAMILY, TwoAnchor(), look))[kind]:
        yield toy.blocks


def test_a_model_that_looks_at_its_blocks_is_computed_as_always(toy):
    with a_call(toy, "full"):
        assert toy(3 * ONE).item() == -24  # doubled three times, negated
    surgery = Surgery(toy, FAMILY)
    with surgery.adding((21 * ONE,)):
        assert toy(3 * ONE).item() == -24  # three and the residual of the full call
    with surgery.recording():
        toy(3 * ONE)
    assert surgery.take(1)[0].feature[0].item() == 21


@pytest.mark.parametrize("look", [Look.FIRST_BLOCK, Look.MODULATED])
@pytest.mark.parametrize("kind", KINDS)
def test_every_place_of_the_list_has_the_block_of_that_place(toy, kind, look):
    own = list(toy.blocks)
    with a_call(toy, kind, look) as blocks:
        assert isinstance(blocks, nn.ModuleList)
        for place in (0, 1, 2, -1, -3):
            assert isinstance(blocks[place], Block)
            assert blocks[place].part is own[place].part
        with pytest.raises(IndexError):
            blocks[3]
    assert all(a is b for a, b in zip(toy.blocks, own, strict=True))


@pytest.mark.parametrize("count", [1, 3])
def test_the_end_of_blocks_without_a_final_layer_is_a_block_too(count):
    toy = Toy()
    toy.blocks = nn.ModuleList([Block() for _ in range(count)])
    surgery = Surgery(toy, ENDING)
    for call in (surgery.recording(), surgery.adding((ONE,))):
        with call:
            assert all(isinstance(block, Block) and block.part for block in toy.blocks)


def times_ten(self, img):
    """A forward of another pack, which uses the block's own class and parts."""
    return 10 * type(self).forward(self, img) / self.part.factor


def test_a_forward_that_others_give_every_block_is_run_recorded_and_taken_back(toy):
    surgery = Surgery(toy, FAMILY)
    with surgery.recording():
        for block in toy.blocks:
            block.forward = types.MethodType(times_ten, block)
        assert toy(ONE).item() == -1000
        assert surgery.looked().tokens.item() == 1
        for block in toy.blocks:
            del block.forward
        assert toy(ONE).item() == -8
    assert not any("forward" in vars(block) for block in toy.blocks)


def test_what_others_leave_at_every_block_stays_when_the_call_has_ended(toy):
    seen = []
    with a_call(toy, "full") as blocks:
        for block in blocks:
            block.note = "theirs"
            block.register_forward_hook(lambda *_: seen.append(1))
        toy(ONE)
    assert len(seen) == 3
    assert [block.note for block in toy.blocks] == ["theirs"] * 3
    toy(ONE)
    assert len(seen) == 6


@pytest.mark.parametrize("kind", KINDS)
def test_the_weights_keep_their_names_during_a_call(toy, kind):
    for block in toy.blocks:
        block.weight = nn.Parameter(torch.zeros(1))
    own = dict(toy.named_parameters())
    with a_call(toy, kind):
        found = dict(toy.named_parameters())
    assert found.items() <= own.items()
    assert kind != "full" or found == own


def test_stand_ins_of_one_class_are_of_one_class():
    # Compiled code asks for the class, and is compiled anew for another one.
    kinds = {type(stand_in(Block(), Part())) for _ in range(2)}
    assert len(kinds) == 1
    assert issubclass(*kinds, Block)


def test_who_calls_a_blocks_forward_is_recorded_too(toy):
    surgery = Surgery(toy, FAMILY)
    with surgery.recording():
        for block in toy.blocks:
            last = block.forward(img=3 * ONE)
        toy.final(last)
    assert surgery.looked().tokens.item() == 3


def test_a_block_that_is_run_although_it_was_left_out_spoils_the_prediction(toy):
    surgery = Surgery(toy, FAMILY)
    with surgery.adding((ONE,)):
        assert toy.blocks[1](ONE).item() == 2
        assert surgery.misfit == RAN
    with surgery.adding((ONE,)):
        toy(ONE)
        assert surgery.misfit == RAN
    surgery.discard()
    assert surgery.misfit == ""


def test_a_prediction_for_another_batch_is_not_added(toy):
    surgery = Surgery(toy, FAMILY)
    with surgery.adding((torch.ones(2, 1, 1),)):
        assert toy(ONE).item() == -1
    assert surgery.misfit == OTHER_BATCH
