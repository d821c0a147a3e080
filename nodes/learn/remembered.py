"""Full runs that are remembered to learn from, in main memory and as files.

A run is written to a file at once, so that a restart of ComfyUI loses nothing, and stays in memory
as long as there is room. What no file can hold, such as a ControlNet, stays in memory alone. Files
are deleted when the path is made; memory keeps the runs, so that more can be added to them.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load, save
from torch import Tensor

from ...gph_core.files import checksum, reading, strict_json, whole_file
from .plain import packed, unpacked

FORMAT = "golden-path-run-1"
ENDING = ".safetensors"
SETTINGS = 3  # whose runs are remembered: those at hand and the two before
IN_MEMORY = 2**30  # bytes of states; eight images of FLUX at 1024 x 1024, 20 steps, have 0.2 GiB
MOST_BYTES = 2**36
_STATES = "states"


@dataclass
class Example:
    """A full run, as far as its velocities can be computed again.

    Args:
        conds: of the guider, by name.
        noise, latent, mask: of its images, ``[B, C, ...]``.
        shapes: see ``Inputs``.
        states: before each step and at the end, ``[N + 1, B, ...]``; None if the file has them.
        file: None if there is none.
        is_spare: whether its path is made, so that it only serves to learn from more images.
    """

    conds: Mapping[str, list]
    noise: Tensor
    latent: Tensor
    mask: Tensor | None
    seed: int
    shapes: Sequence[Sequence[int]]
    states: Tensor | None
    file: Path | None = None
    is_spare: bool = False

    def __len__(self) -> int:
        return len(self.noise)

    def state(self, step: int) -> Tensor:
        """State ``[B, ...]`` before a step."""
        if self.states is not None:
            return self.states[step]
        with safe_open(str(self.file), "pt") as file:
            return file.get_slice(_STATES)[step]

    @property
    def num_bytes(self) -> int:
        """Size of the states in memory."""
        return 0 if self.states is None else self.states.nbytes


class Remembered:
    """Examples by the folder of their settings, those used last at the end."""

    def __init__(self) -> None:
        self._of: dict[Path, list[Example]] = {}
        self._lock = threading.RLock()

    def of(self, folder: Path) -> list[Example]:
        """Examples of some settings; those of another session are read from their files."""
        with self._lock:
            found = self._of.pop(folder, None)
            self._of[folder] = list(_read(folder)) if found is None else found
            return list(self._of[folder])

    def add(self, folder: Path, example: Example) -> str:
        """Remember an example; the reason why it is in memory alone, or nothing."""
        with self._lock:
            examples = self.of(folder)
            number = sum(other.file is not None for other in examples)
            reason = _write(folder / f"{number}{ENDING}", example)
            self._of[folder] = [*examples, example]
            self._forget_others(folder.parent)
            self._make_room()
            return reason

    def finished(self, folder: Path) -> None:
        """Delete the files of some settings; what is in memory stays there."""
        with self._lock:
            # What no file can hold may be large, such as a ControlNet.
            every = self.of(folder)
            kept = [one for one in every if one.states is not None and one.file is not None]
            for example in kept:
                example.file, example.is_spare = None, True
            self._of[folder] = kept
            _delete(folder)

    def forget(self, folder: Path) -> None:
        """Forget all examples of some settings."""
        with self._lock:
            self._of.pop(folder, None)
            _delete(folder)

    def forget_named(self, parent: Path, begin: str) -> None:
        """Forget all settings below a folder whose names begin with some characters."""
        with self._lock:
            known = [folder for folder in self._of if folder.parent == parent]
            for folder in {*known, *parent.glob("*")}:
                if begin and folder.name.startswith(begin) and not folder.is_file():
                    self.forget(folder)

    def _forget_others(self, parent: Path) -> None:
        """Forget all but the settings used last, those of other sessions included."""
        with suppress(OSError):
            unknown = [one for one in parent.iterdir() if one not in self._of and _files(one)]
            for folder in sorted(unknown, key=lambda one: one.stat().st_mtime, reverse=True):
                self._of = {folder: [], **self._of}
        ours = [folder for folder in self._of if folder.parent == parent]
        for folder in ours[:-SETTINGS]:
            self.forget(folder)
        self._of = {f: examples for f, examples in self._of.items() if examples}

    def _make_room(self) -> None:
        """Forget spare runs and leave states to their files, oldest first, until the rest fits.

        What no file can hold stays.
        """
        every = [(of, example) for of, examples in self._of.items() for example in examples]
        excess = sum(example.num_bytes for _, example in every) - IN_MEMORY
        for folder, example in every:
            if excess > 0 and (example.is_spare or example.file is not None):
                excess -= example.num_bytes
                example.states = None
                if example.is_spare:
                    self._of[folder] = [one for one in self._of[folder] if one is not example]


def _write(file: Path, example: Example) -> str:
    """Write an example; the reason why that is not possible, or nothing."""
    tensors: dict[str, Tensor] = {}
    try:
        inputs = [example.noise, example.latent, example.mask]
        tree = packed([dict(example.conds), *inputs, example.seed, example.shapes], tensors)
        assert example.states is not None
        tensors[_STATES] = example.states.contiguous()
        header = {"format": FORMAT, "run": json.dumps(tree), checksum.KEY: checksum.BLANK}
        whole_file.write(file, checksum.filled(save(tensors, header)))
    except TypeError as error:
        return f"its conditioning holds an object of the kind {error}, which no file can keep"
    except OSError as error:
        return f"{error.filename} cannot be written: {error.strerror}"
    except reading.ERRORS as error:  # such as of a sparse tensor
        return f"its conditioning cannot be kept in a file: {reading.reason(error)}"
    example.file = file
    return ""


def _files(folder: Path) -> list[Path]:
    """Files of a folder's runs, in order."""
    found = [file for file in folder.glob(f"*{ENDING}") if file.stem.isdecimal()]
    return sorted(found, key=lambda file: int(file.stem))


def _read(folder: Path) -> Iterator[Example]:
    """Examples of a folder, in order; a damaged file and those after it are deleted."""
    files = _files(folder)
    for number, file in enumerate(files):
        try:
            if int(file.stem) != number:
                raise ValueError("one before it is missing")
            yield _example(file)
        except (MemoryError, OSError, *reading.ERRORS):
            for later in files[number:]:
                with suppress(OSError):
                    later.unlink()
            return


def _delete(folder: Path) -> None:
    """Delete a folder's runs and, unless it holds something else, the folder."""
    with suppress(OSError):
        # A killed process has left a file whose name goes on after the ending.
        for file in folder.glob(f"*{ENDING}*"):
            if file.name.partition(".")[0].isdecimal():
                file.unlink()
        folder.rmdir()


def _example(file: Path) -> Example:
    data = reading.read(file, MOST_BYTES)
    header = checksum.header_of(BytesIO(data))
    if header.metadata.get("format") != FORMAT:
        raise ValueError("it is of another kind or of another version")
    checksum.check(header, [data[len(header.content) :]])
    tensors = load(data)
    tree = unpacked(strict_json.loads(header.metadata["run"], is_finite=False), tensors)
    conds, noise, latent, mask, seed, shapes = tree
    states = tensors[_STATES]
    if not isinstance(noise, Tensor) or states.shape[1:2] != noise.shape[:1]:
        raise ValueError("its states do not fit")
    return Example(conds, noise, latent, mask, seed, shapes, states, file)


REMEMBERED = Remembered()


class Recorder:
    """Keeps the states of a run in main memory.

    Args:
        num_states: N + 1.
        count: images of the batch, the first ones, that are kept.
    """

    def __init__(self, num_states: int, count: int) -> None:
        self._num_states, self._count = num_states, count
        self._states: Tensor | None = None
        self._step = 0

    def keep(self, state: Tensor) -> None:
        """Keep the next state."""
        some = state[: self._count]
        if self._states is None:
            self._states = torch.empty((self._num_states, *some.shape), dtype=some.dtype)
        if self._step < self._num_states:
            self._states[self._step].copy_(some)
        self._step += 1

    @property
    def states(self) -> Tensor | None:
        """``[N + 1, B, ...]``; None if the sampler has told another number of states."""
        return self._states if self._step == self._num_states else None
