import pytest
import torch
from safetensors.torch import load_file

from gph_core.files.states_file import States, writing

STATES = [torch.arange(6.0).reshape(1, 2, 3) + 10 * n for n in range(4)]


def test_states_are_one_tensor_in_their_order(tmp_path):
    path = tmp_path / "latents" / "run.safetensors"
    with writing(path, 4) as add:
        for state in STATES:
            add(state.double().transpose(1, 2))
    found = load_file(path)
    assert list(found) == ["states"]
    assert found["states"].dtype == torch.float32
    assert torch.equal(found["states"], torch.stack(STATES).transpose(2, 3))
    assert [file.name for file in path.parent.iterdir()] == ["run.safetensors"]


def test_a_run_that_was_cancelled_leaves_no_file(tmp_path):
    def cancelled():
        with writing(tmp_path / "run.safetensors", 4) as add:
            add(STATES[0])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cancelled()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("written", [0, 3, 5])
def test_another_number_of_states_is_an_error(tmp_path, written):
    def record():
        with writing(tmp_path / "run.safetensors", 4) as add:
            for _ in range(written):
                add(STATES[0])

    with pytest.raises(ValueError, match=f"the sampler told {written} of 4 states"):
        record()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [1, 4, 6, 100])
def test_states_are_read_in_parts(tmp_path, size):
    with writing(tmp_path / "run.safetensors", 4) as add:
        for state in STATES:
            add(state)
    found = States(tmp_path / "run.safetensors", size)
    assert (found.num_states, found.num_coordinates) == (4, 6)
    assert len(found) == {1: 6, 4: 2, 6: 1, 100: 1}[size]
    assert torch.equal(torch.cat(list(found), dim=1), torch.stack(STATES).flatten(1))
    with pytest.raises(IndexError):
        found[len(found)]
