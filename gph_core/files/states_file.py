"""The states of one run in a safetensors file, written one by one as they come.

The file holds one tensor, ``states [N + 1, ...]`` in float32: state n is the latent before step n,
in the model's own scale, and state N is where the run ends.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

NAME = "states"
PART = 2**14  # coordinates: of 51 states 7 MB in float64, of which a computation needs several
_LONGEST_HEADER = 2**16  # bytes; a file that says it has more is none of ours


@contextmanager
def writing(path: Path, num_states: int) -> Iterator[Callable[[Tensor], None]]:
    """Yields what takes the states; the file is there once the block ends without an error.

    ``ValueError`` if the block gave another number of states.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        with temporary.open("wb") as file:
            written = 0

            def add(state: Tensor) -> None:
                nonlocal written
                values = state.detach().to("cpu", torch.float32).contiguous()
                if not written:
                    file.write(_header((num_states, *values.shape)))
                file.write(values.numpy().astype("<f4", copy=False).tobytes())
                written += 1

            yield add
        if written != num_states:
            raise ValueError(
                f"the sampler told {written} of {num_states} states; record without latents, or "
                "choose another sampler"
            )
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a whole file of states, which came from another machine."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.tmp")
    temporary.write_bytes(content)
    temporary.replace(path)


class States:
    """The states of a file in parts ``[N + 1, C]``, see ``trajectory.Parts``.

    A part is read when it is asked for, since a whole run of a video may not fit into memory.

    Args:
        size: how many coordinates a part has; the last one may have fewer.

    Raises:
        ValueError: the file is none of this module.
    """

    def __init__(self, path: Path, size: int = PART) -> None:
        self._path, self._size = path, size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            try:
                entry = json.loads(file.read(min(length, _LONGEST_HEADER)))[NAME]
                num_states, *shape = entry["shape"]
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{path.name} holds no states of a run") from error
        self._offset = 8 + length
        self.num_states: int = num_states
        self.num_coordinates: int = math.prod(shape)

    def __len__(self) -> int:
        return math.ceil(self.num_coordinates / self._size)

    def __iter__(self) -> Iterator[Tensor]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, number: int) -> Tensor:
        if not 0 <= number < len(self):
            raise IndexError(number)
        shape = (self.num_states, self.num_coordinates)
        states = np.memmap(self._path, "<f4", "r", self._offset, shape)
        start = number * self._size
        return torch.from_numpy(np.array(states[:, start : start + self._size], np.float32))


def _header(shape: tuple[int, ...]) -> bytes:
    """Header of a safetensors file: 8 bytes of length, then JSON."""
    entry = {"dtype": "F32", "shape": list(shape), "data_offsets": [0, 4 * math.prod(shape)]}
    text = json.dumps({NAME: entry}).encode()
    text += b" " * (-len(text) % 8)  # so that the numbers are aligned
    return len(text).to_bytes(8, "little") + text
