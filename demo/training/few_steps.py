"""Train students of few steps: ``python dev.py train-demo-model -- --student 8``.

The teacher is the demo model under guidance; its paths from noise to image are stored first. At
each of its own noise levels the student learns the average velocity of the teacher's path to the
next level, so its Euler steps end where the teacher's many steps do. It begins with the weights
of the student that has guidance baked in, and is sampled at CFG 1.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from .. import network, scenes
from ..sampling import sigmas, trajectory
from . import Batch, Task, Training, run_training
from .student import WEIGHTS, save_sheet

SAMPLES = 400_000  # that a student learns from, unless told otherwise
STORED = 16  # steps of a stored path; a student's number of steps divides it
FINER = 3  # steps of the teacher in each of them
PATHS_OF_FILE = 64
FILES = 160


def run(options: argparse.Namespace) -> None:
    """Store the teacher's paths, then train from the start or from the checkpoint."""
    if STORED % options.student:
        raise SystemExit(f"--student {options.student}: {STORED} must be a multiple of the number")
    paths = stored_paths(options.paths or options.out / "paths", options)
    torch.manual_seed(options.seed)
    student = network.load(WEIGHTS).requires_grad_(True).train()
    task = Task(
        samples="images",
        batch=partial(batch, paths, options.student, options.seed, options.batch),
        save=network.save,
        sheet=partial(save_sheet, steps=options.student),
        weights=f"golden_path_demo_{options.student}_steps.safetensors",
    )
    run_training(Training(student.to(options.device), options.lr), task, options)


def stored_paths(folder: Path, options: argparse.Namespace) -> dict[str, Tensor]:
    """Paths of the teacher, sampled unless they are in the folder.

    Returns:
        ``states`` ``[paths, 17, 48, 8, 8]`` from noise to image in float16, and word ``ids``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    teacher = network.load().to(options.device)
    if options.compile:  # The pattern matcher would put the slow fused attention back.
        teacher = torch.compile(teacher, options={"pattern_matcher": False})
    files = [folder / f"{options.seed}-{number:03}.safetensors" for number in range(FILES)]
    for number, file in enumerate(files):
        if not file.exists():
            found = sampled_paths(teacher, options.seed, number)
            save_file(found, file.with_suffix(".tmp"))
            file.with_suffix(".tmp").replace(file)
            print(f"{number + 1} of {FILES} files of paths", flush=True)
    parts = [load_file(file) for file in files]
    return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}


def sampled_paths(teacher, seed: int, number: int) -> dict[str, Tensor]:
    """A file of paths, of captions and noise that its number and a seed name."""
    rng = np.random.default_rng((seed, number))
    captions = [scenes.sample_scene(rng).caption for _ in range(PATHS_OF_FILE)]
    noise, device = int(rng.integers(2**31)), next(teacher.parameters()).device
    with torch.autocast(device.type, torch.bfloat16):
        states = list(trajectory(teacher, captions, seed=noise, steps=FINER * STORED))
    kept = [state.half().cpu() for state in states[::FINER]]
    ids = torch.tensor([teacher.vocabulary.ids(caption) for caption in captions])
    return {"states": torch.stack(kept, 1), "ids": ids}


def batch(paths: dict[str, Tensor], steps: int, seed: int, size: int, number: int) -> Batch:
    """Steps of stored paths, each as the straight line that passes through both of its ends.

    The velocity of such a line is the path's average between them, and at the first end's noise
    level it is at that end.
    """
    rng = np.random.default_rng((seed, number))
    chosen = torch.from_numpy(rng.integers(len(paths["ids"]), size=size))
    first = torch.from_numpy(rng.integers(steps, size=size))
    levels, stride = sigmas(steps), STORED // steps
    start, end = (paths["states"][chosen, stride * (first + n)].float() for n in (0, 1))
    at, to = (levels[first + n].view(-1, 1, 1, 1) for n in (0, 1))
    velocity = (end - start) / (to - at)
    return Batch(
        start - at * velocity, paths["ids"][chosen], levels[first], start + (1 - at) * velocity
    )
