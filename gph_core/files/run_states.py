"""States of several runs, in a temporary file where they would fill the main memory."""

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
    """The states of some runs, all of one shape, found by run and step.

    Args:
        num_runs, num_states: how many there will be, and of each how many.
        folder: of the temporary file, which vanishes with this object.
        in_memory: bytes; more than these go to the file, and each state is read when it is asked
            for.
    """

    def __init__(self, num_runs: int, num_states: int, folder: Path, in_memory: int) -> None:
        self._count, self._num_states = num_runs * num_states, num_states
        self._folder, self._in_memory = folder, in_memory
        self._kept: dict[tuple[int, int], Tensor] = {}
        self._file: Any = None
        self._like: Tensor | None = None

    def keep(self, run: int, step: int, state: Tensor) -> None:
        """Keep a copy of a state; another one of the same run and step takes its place.

        ``OSError`` names the folder if its disk is full.
        """
        if self._like is None:
            self._like = torch.empty_like(state, device="meta")  # of each state, without values
            if self._count * self._size > self._in_memory:
                self._folder.mkdir(parents=True, exist_ok=True)
                # Kept open, and without a buffer: a full disk is an error here, not at the end.
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
        """State of a run before a step, or where the run ends."""
        if self._file is None:
            return self._kept[run, step]
        assert self._like is not None
        found = bytearray(self._size)
        self._file.seek(self._place(run, step))
        left = memoryview(found)
        while left and (count := self._file.readinto(left)):
            left = left[count:]
        return torch.frombuffer(found, dtype=self._like.dtype).view(self._like.shape)

    @property
    def _size(self) -> int:
        assert self._like is not None
        return math.prod(self._like.shape) * self._like.element_size()

    def _place(self, run: int, step: int) -> int:
        return (run * self._num_states + step) * self._size
