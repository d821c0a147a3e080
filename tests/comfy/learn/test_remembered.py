"""The store of full runs: in order, within its bounds, and after a restart."""

import math
import os
import uuid

import pytest
import torch
from golden_path_pack.nodes.learn import remembered
from golden_path_pack.nodes.learn.plain import packed, unpacked
from golden_path_pack.nodes.learn.remembered import Example, Recorder, Remembered

STEPS = 3


def example(number, images=1, mask=None, **conds):
    """A run whose states can be told from those of others."""
    shape = (images, 4, 2, 2)
    states = torch.arange(STEPS + 1.0).view(-1, 1, 1, 1, 1) + 100 * number + torch.zeros(shape)
    noise, latent = torch.full(shape, float(number)), torch.zeros(shape)
    given = {"positive": [{"cross_attn": torch.full((1, 2), float(number)), **conds}]}
    return Example(given, noise, latent, mask, number, [list(shape)], states)


def remember(folder, count, store=None):
    """A store with so many runs in a folder."""
    store = store or Remembered()
    for number in range(count):
        assert store.add(folder, example(number)) == ""
    return store


def seeds(store, folder):
    return [found.seed for found in store.of(folder)]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "learning" / "some"


# --- plain data -----------------------------------------------------------------------------------


def test_nested_data_come_back_as_they_were():
    tree = {
        "a": [1, 2.5, None, True, False, "text", "", math.inf, -math.inf],
        "b": (torch.arange(6).view(2, 3), [torch.ones(2, dtype=torch.bfloat16)], ()),
        "c": {"": {}, "tensor": [], "value": ({"list": 0},)},
    }
    tensors = {}
    found = unpacked(packed(tree, tensors), tensors)
    assert repr(found) == repr(tree)  # which tells 1 from True, and a list from a tuple
    assert len(tensors) == 2


def test_a_tensor_is_copied_whole_and_one_that_is_there_twice_can_be_saved(folder):
    whole = torch.arange(8.0)
    part = whole.view(2, 4).T[1:3]
    tensors = {}
    found = unpacked(packed([part, part, whole], tensors), tensors)
    whole.zero_()
    assert torch.equal(found[0], torch.tensor([[1.0, 5.0], [2.0, 6.0]]))
    assert Remembered().add(folder, example(0, other=[part, whole, whole])) == ""


def test_an_id_becomes_a_new_one():
    one, other = uuid.uuid4(), uuid.uuid4()
    found = unpacked(packed([one, other, one], {}), {})
    assert all(type(item) is uuid.UUID for item in found)
    assert len({one, other, *found}) == 5


class Control:
    """What is no plain data."""


class Text(str):
    """Neither is this, as it would come back as another kind."""


@pytest.mark.parametrize(
    ("tree", "kind"),
    [
        ({"a": [{"control": Control()}]}, "Control"),
        ([Text("a")], "Text"),
        ({1: 2}, "dict"),
        ([{2}], "set"),
        (torch.float32, "dtype"),
    ],
)
def test_another_object_is_refused_by_its_kind(tree, kind):
    with pytest.raises(TypeError, match=f"^{kind}$"):
        packed(tree, {})


@pytest.mark.parametrize("data", [{"object": 1}, {}, {"value": 1, "list": []}, {"value": [1]}, 5])
def test_data_of_another_kind_are_not_taken(data):
    with pytest.raises(remembered.reading.ERRORS):
        unpacked(data, {})


# --- the store ------------------------------------------------------------------------------------


def test_runs_come_back_in_their_order_and_whole(folder):
    mask = torch.ones(2, 1, 2, 2)
    store = remember(folder, 11)  # so that the order is not that of the names as texts
    store.add(folder, example(11, 2, mask, area=(1, 2, 3, 4), strength=math.inf))
    assert seeds(store, folder) == list(range(12))
    again = Remembered()
    assert seeds(again, folder) == list(range(12))
    for found, known in zip(again.of(folder), store.of(folder), strict=True):
        assert found.file == known.file
        assert repr(found) == repr(known)
    assert len(again.of(folder)[-1]) == 2


def test_a_damaged_file_loses_itself_and_those_after_it_but_none_before(folder):
    remember(folder, 4)
    file = folder / "1.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    store = Remembered()
    assert seeds(store, folder) == [0]
    assert [path.name for path in folder.iterdir()] == ["0.safetensors"]
    assert store.add(folder, example(9)) == ""
    assert seeds(Remembered(), folder) == [0, 9]


def test_a_file_that_cannot_be_deleted_is_left_and_nothing_fails(folder):
    remember(folder, 3)
    (folder / "1.safetensors").unlink()
    (folder / "1.safetensors").mkdir()
    store = Remembered()
    assert seeds(store, folder) == [0]
    assert "cannot be written" in store.add(folder, example(9))
    assert seeds(store, folder) == [0, 9]


def test_memory_leaves_the_oldest_states_to_their_files(monkeypatch, folder):
    size = example(0).num_bytes
    monkeypatch.setattr(remembered, "IN_MEMORY", 2 * size)
    store = remember(folder, 4)
    found = store.of(folder)
    assert [item.num_bytes for item in found] == [0, 0, size, size]
    for number, item in enumerate(found):
        for step in range(STEPS + 1):
            assert torch.equal(item.state(step), example(number).states[step])


def test_settings_used_last_stay_in_memory_longest(monkeypatch, folder):
    size = example(0).num_bytes
    monkeypatch.setattr(remembered, "IN_MEMORY", 2 * size)
    store, other = remember(folder, 1), folder.with_name("other")
    remember(other, 1, store)
    store.of(folder)
    remember(folder.with_name("third"), 1, store)
    assert [store.of(path)[0].num_bytes for path in (folder, other)] == [size, 0]


def test_what_no_file_can_hold_stays_in_memory(monkeypatch, folder):
    monkeypatch.setattr(remembered, "IN_MEMORY", 0)
    store = Remembered()
    assert "the kind Control, which no file can keep" in store.add(
        folder, example(0, control=Control())
    )
    assert store.add(folder, example(1)) == ""
    assert [item.states is None for item in store.of(folder)] == [False, True]


@pytest.mark.parametrize(
    "tensor",
    [
        torch.eye(2).to_sparse(),
        torch.ones(2, dtype=torch.complex128),
        torch.ones(2, device="meta"),
    ],
    ids=["sparse", "of complex numbers", "without values"],
)
def test_a_tensor_that_no_file_can_hold_costs_no_image(folder, tensor):
    store = Remembered()
    assert "cannot be kept in a file" in store.add(folder, example(0, other=tensor))
    assert seeds(store, folder) == [0]


def test_after_a_restart_the_settings_that_were_used_longest_ago_are_forgotten(folder):
    names = ("c", "a", "d", "b")
    for age, name in enumerate(names):
        place = folder.with_name(name)
        remember(place, 1, Remembered() if age else None)
        os.utime(place, (1000.0 + age,) * 2)
    (folder.parent / "an outcome.json").write_text("{}")
    found = sorted(path.name for path in folder.parent.iterdir() if path.is_dir())
    assert found == ["a", "b", "d"]  # the fourth made the first one be forgotten
    remember(folder.with_name("e"), 1)
    found = sorted(path.name for path in folder.parent.iterdir())
    assert found == ["an outcome.json", "b", "d", "e"]


def test_what_a_user_keeps_beside_the_runs_is_never_deleted(folder):
    theirs = [folder.parent / name for name in ("my own", "some of mine", "empty")]
    for place in theirs:
        place.mkdir(parents=True)
    notes = [theirs[0] / "notes.txt", theirs[1] / "best.safetensors", folder / "notes.txt"]
    store = remember(folder, 2)
    (folder / "1.safetensors.0123456789.tmp").touch()  # of a killed process
    for note in notes:
        note.touch()
    for number in range(remembered.SETTINGS + 1):
        remember(folder.with_name(f"other {number}"), 1)
    store.finished(folder)
    store.forget_named(folder.parent, "some")
    assert all(note.exists() for note in notes)
    assert theirs[2].is_dir()
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]


def test_settings_of_other_users_are_not_counted(tmp_path):
    store = Remembered()
    for user in ("ann", "bob"):
        for name in "abc":
            remember(tmp_path / user / name, 1, store)
    assert len(list(tmp_path.glob("*/*/0.safetensors"))) == 6


def test_finished_runs_leave_their_files_and_can_be_added_to(folder):
    store = remember(folder, 2)
    store.finished(folder)
    assert not folder.exists()
    assert seeds(store, folder) == [0, 1]
    store.add(folder, example(2))
    assert seeds(store, folder) == [0, 1, 2]
    assert torch.equal(store.of(folder)[0].state(1), example(0).states[1])


def test_spare_runs_make_room_first_and_later_ones_survive_a_restart(monkeypatch, folder):
    store = remember(folder, 2)
    store.finished(folder)
    assert store.add(folder, example(2)) == ""
    assert seeds(store, folder) == [0, 1, 2]
    assert seeds(Remembered(), folder) == [2]
    monkeypatch.setattr(remembered, "IN_MEMORY", example(0).num_bytes)
    assert store.add(folder, example(3)) == ""
    assert seeds(store, folder) == [2, 3]


def test_finished_runs_that_only_a_file_had_are_gone(monkeypatch, folder):
    monkeypatch.setattr(remembered, "IN_MEMORY", example(0).num_bytes)
    store = remember(folder, 2)
    store.finished(folder)
    assert seeds(store, folder) == [1]


def test_settings_are_forgotten_by_the_begin_of_their_name_in_memory_and_on_disk(tmp_path):
    store = Remembered()
    for name in ("abc1", "abc2", "xyz1"):
        remember(tmp_path / name, 1, store)
    (tmp_path / "abc.json").write_text("{}")
    store.forget_named(tmp_path, "")
    assert len(store.of(tmp_path / "abc1")) == 1
    store.forget_named(tmp_path, "abc")
    Remembered().forget_named(tmp_path, "xyz")  # of another session
    assert [path.name for path in tmp_path.iterdir()] == ["abc.json"]
    assert store.of(tmp_path / "abc1") == []


# --- what a run gives -----------------------------------------------------------------------------


@pytest.mark.parametrize(("told", "is_kept"), [(3, False), (4, True), (5, False)])
def test_states_of_a_run_are_kept_if_they_are_as_many_as_its_steps_say(told, is_kept):
    recorder, given = Recorder(4, 2), torch.zeros(3, 5)
    for number in range(told):
        given.fill_(float(number))  # samplers may go on in the same memory
        recorder.keep(given)
    assert (recorder.states is not None) == is_kept
    if is_kept:
        assert recorder.states.shape == (4, 2, 5)  # the first two images of the batch
        assert recorder.states[:, 0, 0].tolist() == [0, 1, 2, 3]


def test_a_run_that_tells_nothing_gives_nothing():
    assert Recorder(1, 1).states is None
