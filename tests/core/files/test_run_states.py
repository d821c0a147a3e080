"""States of runs in memory and in a file."""

import errno
import os

import pytest
import torch

from gph_core.files import run_states
from gph_core.files.run_states import RunStates

SHAPE = (1, 2, 3)
BYTES = 2 * 3 * 4  # of a state in float32


@pytest.mark.parametrize("in_memory", [6 * BYTES, 6 * BYTES - 1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_state_is_what_was_kept(tmp_path, in_memory, dtype):
    states = RunStates(2, 3, tmp_path / "new", in_memory if dtype == torch.float32 else 0)
    given = {(run, step): torch.randn(SHAPE).to(dtype) for run in range(2) for step in range(3)}
    for (run, step), state in given.items():
        states.keep(run, step, state)
    for (run, step), state in given.items():
        found = states.at(run, step)
        assert found.dtype == dtype
        assert found.equal(state)


@pytest.mark.parametrize("in_memory", [1e9, 0])
def test_it_is_a_copy_and_the_last_one_counts(tmp_path, in_memory):
    states, state = RunStates(1, 2, tmp_path, in_memory), torch.zeros(2, 3).T
    states.keep(0, 1, torch.ones(3, 2))
    states.keep(0, 1, state)
    state += 5
    assert states.at(0, 1).equal(torch.zeros(3, 2))


@pytest.mark.parametrize(("in_memory", "is_written"), [(6 * BYTES, False), (6 * BYTES - 1, True)])
def test_only_what_exceeds_the_memory_is_written(tmp_path, in_memory, is_written):
    folder = tmp_path / "new"
    states = RunStates(2, 3, folder, in_memory)
    states.keep(0, 0, torch.zeros(SHAPE))
    assert folder.exists() == is_written


def test_nothing_is_left_behind(tmp_path):
    states = RunStates(1, 1, tmp_path, 0)
    states.keep(0, 0, torch.zeros(SHAPE))
    del states
    assert not list(tmp_path.iterdir())


def test_a_full_disk_names_the_folder(tmp_path, monkeypatch):
    class Full:
        """A file that takes three bytes and then no more."""

        def seek(self, place):
            self.taken = 0

        def write(self, content):
            if self.taken:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self.taken = 3
            return 3

        def close(self):
            pass

    monkeypatch.setattr(run_states.tempfile, "TemporaryFile", lambda **_: Full())
    with pytest.raises(OSError, match=f"No space left on device: .*{tmp_path.name}"):
        RunStates(1, 1, tmp_path, 0).keep(0, 0, torch.zeros(SHAPE))
