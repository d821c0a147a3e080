import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file

from gph_core.states_file import writing

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


def test_half_precision_is_widened(tmp_path):
    with writing(tmp_path / "run.safetensors", 1) as add:
        add(torch.tensor([0.5, 1.5], dtype=torch.bfloat16))
    with safe_open(tmp_path / "run.safetensors", framework="pt") as file:
        assert file.get_tensor("states").tolist() == [[0.5, 1.5]]


def test_a_run_that_was_cancelled_leaves_no_file(tmp_path):
    def cancelled():
        with writing(tmp_path / "run.safetensors", 4) as add:
            add(STATES[0])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cancelled()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("told", [0, 3, 5])
def test_another_number_of_states_is_an_error(tmp_path, told):
    def record():
        with writing(tmp_path / "run.safetensors", 4) as add:
            for _ in range(told):
                add(STATES[0])

    with pytest.raises(ValueError, match=f"the sampler told {told} of 4 states"):
        record()
    assert list(tmp_path.iterdir()) == []
