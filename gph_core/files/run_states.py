"""States of several runs, in a temporary file if they are too large for main memory."""

from __future__ import annotations

import math
import tempfile
import weakref
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from . import whole_file


class RunStates:
    """The states of some runs, all of one shape, by run and step.

    Args:
        num_runs, num_states: how many runs there will be, and how many states of each.
        folder: of the temporary file, which is deleted with this object.
        in_memory: bytes; if there will be more, all go to the file and are read one by one.
    """

    def __init__(self, num_runs: int, num_states: int, folder: Path, in_memory: int) -> None:
        self._count, self._num_states = num_runs * num_states, num_states
        self._folder, self._in_memory = folder, in_memory
        self._kept: dict[tuple[int, int], Tensor] = {}
        self._file: Any = None
        self._like: Tensor | None = None

    def keep(self, run: int, step: int, state: Tensor) -> None:
        """Keep a copy of a state, or replace it; ``OSError`` names the folder of a full disk."""
        if self._like is None:
            self._like = torch.empty_like(state, device="meta")  # of each state, without values
            if self._count * self._size > self._in_memory:
                self._folder.mkdir(parents=True, exist_ok=True)
                # Kept open, and without a buffer: a full disk is an error at once.
                self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115
                weakref.finalize(self, self._file.close)
        copied = state.to("cpu", copy=True, memory_format=torch.contiguous_format)
        if self._file is None:
            self._kept[run, step] = copied
        else:
            with whole_file.naming(self._folder):
                self._file.seek(self._place(run, step))
                content = copied.flatten().view(torch.uint8).numpy().tobytes()
                whole_file.write_all(self._file, content)

    def at(self, run: int, step: int) -> Tensor:
        """State of a run before a step, or at its end."""
        if self._file is None:
            return self._kept[run, step]
        assert self._like is not None
        content = bytearray(self._size)
        self._file.seek(self._place(run, step))
        left = memoryview(content)
        while left and (count := self._file.readinto(left)):
            left = left[count:]
        return torch.frombuffer(content, dtype=self._like.dtype).view(self._like.shape)

    @property
    def _size(self) -> int:
        assert self._like is not None
        return math.prod(self._like.shape) * self._like.element_size()

    def _place(self, run: int, step: int) -> int:
        return (run * self._num_states + step) * self._size
