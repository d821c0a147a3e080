"""The states of one run in a safetensors file, written one by one.

The file holds one tensor, ``states [N + 1, ...]`` in float32: state n is the latent before step n,
in the model's own scale; state N is the end of the run. The metadata are format and checksum, which
older versions of the pack did not write.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from . import checksum, reading, whole_file

FORMAT = "golden-path-states-2"
NAME = "states"
PART = 2**14  # coordinates: 7 MB for 51 states in float64, and computations need some copies
MOST_BYTES = 2**40


@contextmanager
def writing(path: Path, num_states: int) -> Iterator[Callable[[Tensor], None]]:
    """Yield a function that appends states; the file appears only on success.

    Raises:
        ValueError: the block gave another number of states.
        OSError: the disk is full, ...; it names the file.
    """
    with whole_file.writing(path) as file:
        written, header, digest = 0, b"", hashlib.sha256()

        def put(content: bytes) -> None:
            digest.update(content)
            file.write(content)

        def add(state: Tensor) -> None:
            nonlocal written, header
            values = state.detach().to("cpu", torch.float32).contiguous()
            if not written:
                header = _header((num_states, *values.shape))
                put(header)
            put(values.numpy().astype("<f4", copy=False).tobytes())
            written += 1

        yield add
        if written != num_states:
            raise ValueError(
                f"the sampler told {written} of {num_states} states; record without latents, or "
                "choose another sampler"
            )
        file.seek(checksum.place(header))
        file.write(digest.hexdigest().encode())


class States:
    """The states of a file in parts ``[N + 1, C]``, see ``trajectory.Parts``.

    Parts are read on demand: a whole run of a video may not fit into memory.

    Args:
        size: coordinates of a part; the last one may have fewer.

    Raises:
        ValueError: the file is of another kind, or damaged; it names the file.
    """

    def __init__(self, path: Path, size: int = PART) -> None:
        self._path, self._size = path, size
        try:
            length = reading.check_file(path, MOST_BYTES)
            with path.open("rb") as file:
                header = checksum.header_of(file)
            self.num_states, self.num_coordinates = _shape(header, length)
            if header.metadata:
                checksum.check_file(path)
            else:
                checksum.tell_of_old(path.parent)
        except reading.ERRORS as error:
            raise ValueError(
                f"{path.name} holds no states of a run ({reading.reason(error)}); delete it and "
                "its run, and record it again"
            ) from error
        self._offset = len(header.content)

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
    metadata = {"format": FORMAT, checksum.KEY: checksum.BLANK}
    text = json.dumps({"__metadata__": metadata, NAME: _entry(shape)}).encode()
    text += b" " * (-len(text) % 8)  # so that the numbers are aligned
    return len(text).to_bytes(8, "little") + text


def _entry(shape: Sequence[int]) -> dict[str, Any]:
    return {"dtype": "F32", "shape": list(shape), "data_offsets": [0, 4 * math.prod(shape)]}


def _shape(header: checksum.Header, length: int) -> tuple[int, int]:
    """Numbers of states and coordinates; an error of ``reading.ERRORS`` for another file."""
    metadata = header.metadata
    if metadata and (metadata.keys() != {"format", checksum.KEY} or metadata["format"] != FORMAT):
        raise ValueError("it is of another kind or of a newer version")
    (entry,) = header.tensors.values()
    shape = header.tensors[NAME]["shape"]
    if not all(type(count) is int and count > 0 for count in shape) or entry != _entry(shape):
        raise ValueError("its numbers are of another type")
    if length != len(header.content) + 4 * math.prod(shape):
        raise ValueError("its length does not fit")
    return shape[0], math.prod(shape[1:])
