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

import torch
from torch import Tensor

NAME = "states"


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


def _header(shape: tuple[int, ...]) -> bytes:
    """Of a safetensors file: 8 bytes of length, then JSON."""
    entry = {"dtype": "F32", "shape": list(shape), "data_offsets": [0, 4 * math.prod(shape)]}
    text = json.dumps({NAME: entry}).encode()
    text += b" " * (-len(text) % 8)  # so that the numbers are aligned
    return len(text).to_bytes(8, "little") + text
