"""States of several runs, in a temporary file where they would fill the main memory."""

from __future__ import annotations

import math
import tempfile
import weakref
from pathlib import Path
from typing import IO

import torch
from torch import Tensor


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
        self._file: IO[bytes] | None = None
        self._like: Tensor | None = None

    def keep(self, run: int, step: int, state: Tensor) -> None:
        """Keep a copy of a state; another one of the same run and step takes its place."""
        if self._like is None:
            self._like = torch.empty_like(state, device="meta")  # of each state, without values
            if self._count * self._size > self._in_memory:
                self._folder.mkdir(parents=True, exist_ok=True)
                self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - kept open
                weakref.finalize(self, self._file.close)
        copied = state.to("cpu", copy=True, memory_format=torch.contiguous_format)
        if self._file is None:
            self._kept[run, step] = copied
        else:
            self._file.seek(self._place(run, step))
            self._file.write(copied.flatten().view(torch.uint8).numpy().tobytes())

    def at(self, run: int, step: int) -> Tensor:
        """State of a run before a step, or where the run ends."""
        if self._file is None:
            return self._kept[run, step]
        assert self._like is not None
        found = bytearray(self._size)
        self._file.seek(self._place(run, step))
        self._file.readinto(found)  # type: ignore[attr-defined] - a file in binary mode has it
        return torch.frombuffer(found, dtype=self._like.dtype).view(self._like.shape)

    @property
    def _size(self) -> int:
        assert self._like is not None
        return math.prod(self._like.shape) * self._like.element_size()

    def _place(self, run: int, step: int) -> int:
        return (run * self._num_states + step) * self._size
