"""``surgery`` of stacks that do not end in a final layer of their own, on toys."""

import contextlib

import pytest
import torch
from torch import nn

from gph_core.gates.base import Look
from gph_core.model import families
from gph_core.model.family import Family
from gph_core.model.surgery import Surgery
from gph_core.policies.base import Anchor
from gph_core.policies.two_anchor import TwoAnchor


class Double(nn.Module):
    """Doubles the image, adds one to the text, notes its number."""

    def __init__(self, seen):
        super().__init__()
        self.seen = seen

    def forward(self, image, text=None):
        self.seen.append(1)
        return 2 * image if text is None else (2 * image, text + 1)


class Joined(nn.Module):
    """Two lists; in the second one the image comes behind the text. Nothing receives the end."""

    def __init__(self, early=2, late=1):
        super().__init__()
        self.seen = []
        self.early = nn.ModuleList([Double(self.seen) for _ in range(early)])
        self.late = nn.ModuleList([Double(self.seen) for _ in range(late)])

    def forward(self, image):
        text = torch.zeros(1, 2, 1)
        for block in self.early:
            image, text = block(image, text)
        tokens = torch.cat((text, image), dim=1)
        for block in self.late:
            tokens = block(tokens)
        return -tokens[:, 2:]


class Alone(nn.Module):
    """One list whose blocks hand on image and text."""

    def __init__(self, count):
        super().__init__()
        self.seen = []
        self.early = nn.ModuleList([Double(self.seen) for _ in range(count)])

    def forward(self, image):
        text = torch.zeros(1, 2, 1)
        for block in self.early:
            image, text = block(image, text)
        self.text = text
        return -image


JOINED = Family(
    "joined", "tests.Joined", False, ("early", "late"), (), image=0, output=0, tail=True, end=(0,)
)
ALONE = Family("alone", "tests.Alone", False, ("early",), (), image=0, output=0, end=(0, 1))
IMAGE = torch.tensor([[[2.0], [3.0], [5.0]]])


def feature(surgery):
    ((residual, _),) = surgery.take(1)
    return residual


@pytest.mark.parametrize(
    ("toy", "family", "factor"),
    [(Joined(), JOINED, 8), (Alone(1), ALONE, 2), (Alone(3), ALONE, 8)],
    ids=["two lists", "one block", "one list"],
)
def test_a_full_call_is_unchanged_and_leaves_its_residual(toy, family, factor):
    surgery = Surgery(toy, family)
    with surgery.recording():
        assert torch.equal(toy(IMAGE), -factor * IMAGE)
    (residual,) = feature(surgery)
    assert torch.equal(residual, (factor - 1) * IMAGE)


@pytest.mark.parametrize(
    ("toy", "family"), [(Joined(), JOINED), (Alone(3), ALONE)], ids=["two lists", "one list"]
)
def test_a_cached_call_runs_no_block_and_adds_the_residual(toy, family):
    toy.seen.clear()
    with Surgery(toy, family).adding((torch.full((1, 3, 1), 10.0),)):
        assert torch.equal(toy(IMAGE), -(IMAGE + 10))
    assert toy.seen == []


def test_predicted_tokens_take_the_place_of_the_image_alone():
    toy, tokens = Alone(3), torch.full((1, 3, 1), 7.0)
    with Surgery(toy, ALONE).replacing((tokens,)):
        assert torch.equal(toy(IMAGE), -tokens)
    assert torch.equal(toy.text, torch.zeros(1, 2, 1))  # as it came in


@pytest.mark.parametrize(
    ("toy", "family"), [(Joined(), JOINED), (Alone(3), ALONE)], ids=["two lists", "one list"]
)
def test_a_probed_call_runs_the_first_block_alone(toy, family):
    surgery = Surgery(toy, family, TwoAnchor())
    anchors = []
    for step, image in enumerate((IMAGE, 2 * IMAGE)):
        with surgery.recording():
            toy(image)
        ((residual, probe),) = surgery.take(1)
        assert torch.equal(probe[0], image)  # doubled once
        anchors.append(Anchor(step, 1.0 - step / 4, residual, None, probe))
    toy.seen.clear()
    with surgery.probing(anchors[1], anchors[0]):
        found = toy(2.5 * IMAGE)
    assert toy.seen == [1]
    # All grows in proportion, so the prediction is what all blocks would give.
    torch.testing.assert_close(found, -8 * 2.5 * IMAGE)


def test_a_call_that_looks_at_the_first_block_ends_behind_it():
    toy = Joined()
    surgery = Surgery(toy, JOINED, look=Look.FIRST_BLOCK)
    with surgery.adding((torch.full((1, 3, 1), 10.0),), looking=True):
        found = toy(IMAGE)
    assert toy.seen == [1]
    assert torch.equal(found, -(IMAGE + 10))
    assert torch.equal(surgery.looked().probe, 2 * IMAGE)


class Optional(nn.Module):
    """Calls a final layer where it finds one; this one has none."""

    def __init__(self):
        super().__init__()
        self.early = nn.ModuleList([Double([])])

    def forward(self, image):
        for block in self.early:
            image = block(image)
        return self.final(image, sign=-1) if hasattr(self, "final") else image


OPTIONAL = Family(
    "optional", "tests.Optional", False, ("early",), ("final",), 0, calls_what_it_finds=True
)


def test_a_final_layer_that_is_called_where_it_is_found_is_there_for_a_call_alone():
    toy = Optional()
    surgery = Surgery(toy, OPTIONAL)
    with surgery.recording():
        assert torch.equal(toy(IMAGE), 2 * IMAGE)
    assert torch.equal(feature(surgery)[0], IMAGE)
    with surgery.adding((IMAGE + 1,)):
        assert torch.equal(toy(IMAGE), 2 * IMAGE + 1)
    assert not hasattr(toy, "final")
    assert list(toy._modules) == ["early"]
    with pytest.raises(RuntimeError), surgery.adding((IMAGE,)):
        raise RuntimeError
    assert not hasattr(toy, "final")


@pytest.mark.long
@pytest.mark.parametrize(("kind", "family"), [(Optional, OPTIONAL), (Joined, JOINED)])
def test_compiled_code_sees_which_call_it_is(kind, family):
    toy = kind()
    surgery, compiled = Surgery(toy, family), torch.compile(toy, backend="eager", fullgraph=True)
    torch._dynamo.reset()
    plain = toy(IMAGE)
    for _ in range(2):
        assert torch.equal(compiled(IMAGE), plain)
        with surgery.recording():
            assert torch.equal(compiled(IMAGE), plain)
        surgery.take(1)
        with surgery.adding((torch.full((1, 3, 1), 10.0),)):
            assert torch.equal(compiled(IMAGE).abs(), IMAGE + 10)
    torch._dynamo.reset()


def test_one_that_brings_such_a_layer_is_another_model(monkeypatch):
    name = f"{Optional.__module__}.{Optional.__qualname__}"
    family = Family("optional", name, False, ("early",), ("final",), 0, calls_what_it_finds=True)
    monkeypatch.setattr(families, "FAMILIES", (family,))
    toy = Optional()
    assert families.detect(toy) is family
    toy.final = nn.Identity()
    assert families.detect(toy) is None


class Around(nn.Module):
    """Its stack is in a part, which cuts what comes in front; it writes down what it was called."""

    def __init__(self):
        super().__init__()
        self.part = nn.Module()
        self.part.early = nn.ModuleList([Double([])])
        self.part.final = nn.Linear(1, 1, bias=False)
        nn.init.constant_(self.part.final.weight, -1)
        self.notes = ()

    def forward(self, image):
        tokens = torch.cat((torch.ones(1, 2, 1), image), dim=1)
        self.notes = (*self.notes, len(self.part.early))
        for block in self.part.early:
            tokens = block(tokens)
        return self.part.final(tokens[:, 2:])


AROUND = Family(
    "around", "tests.Around", False, ("early",), ("final",), 0, tail=True, inside="part",
    memory="notes",
)  # fmt: skip


@torch.no_grad()
def test_a_stack_inside_of_a_part_is_cached_there():
    toy = Around()
    surgery = Surgery(toy, AROUND)
    with surgery.recording():
        assert torch.equal(toy(IMAGE), -2 * IMAGE)
    assert torch.equal(feature(surgery)[0], IMAGE)
    with surgery.adding((IMAGE + 1,)):
        assert torch.equal(toy(IMAGE), -(2 * IMAGE + 1))
    assert torch.equal(toy(IMAGE), -2 * IMAGE)


@torch.no_grad()
def test_what_a_cached_call_writes_down_is_forgotten():
    toy = Around()
    surgery = Surgery(toy, AROUND)
    with surgery.recording():
        toy(IMAGE)
    with surgery.adding((IMAGE,)):
        toy(IMAGE)
    with contextlib.suppress(RuntimeError), surgery.adding((IMAGE,)):
        toy(IMAGE)
        raise RuntimeError
    assert toy.notes == (1,)


def test_a_model_without_the_part_is_not_detected(monkeypatch):
    name = f"{Joined.__module__}.{Joined.__qualname__}"
    family = Family("joined", name, False, ("early",), (), image=0, end=(0,), inside="part")
    monkeypatch.setattr(families, "FAMILIES", (family,))
    assert families.detect(Joined()) is None


class Either(nn.Module):
    """One of two final layers ends it, and one more token comes in than goes out."""

    def __init__(self):
        super().__init__()
        self.early = nn.ModuleList([Double([])])
        self.one, self.other = nn.Identity(), nn.Identity()

    def forward(self, image, name):
        tokens = torch.cat((image, torch.ones(1, 1, 1)), dim=1)
        for block in self.early:
            tokens = block(tokens)
        return getattr(self, name)(tokens[:, :-1])


EITHER = Family(
    "either", "tests.Either", False, ("early",), ("one", "other"), 0, one_final=True, is_cut=True
)


@pytest.mark.parametrize("name", ["one", "other"])
def test_either_final_layer_ends_a_stack_that_is_cut_behind_the_image(name):
    toy = Either()
    surgery = Surgery(toy, EITHER)
    with surgery.recording():
        toy(IMAGE, name)
    (residual,) = feature(surgery)
    assert torch.equal(residual, IMAGE)
    with surgery.adding((residual + 1,)):
        assert torch.equal(toy(IMAGE, name), 2 * IMAGE + 1)


def test_without_word_of_a_cut_fewer_tokens_leave_no_residual():
    surgery = Surgery(toy := Either(), Family(
        "either", "tests.Either", False, ("early",), ("one", "other"), 0, one_final=True
    ))  # fmt: skip
    with surgery.recording():
        toy(IMAGE, "one")
    assert surgery.take(1) is None
