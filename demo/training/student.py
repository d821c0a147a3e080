"""Train a student with guidance baked in: ``python dev.py train-demo-model -- --student``.

The student's velocity is the teacher's guided velocity, at noise levels and states as in training.
It begins with the teacher's weights and is sampled at CFG 1, as FLUX.1-dev is.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from .. import network
from ..sampling import GUIDANCE, STEPS, sample
from . import Batch, Task, Training, pictures, run_training
from .train import SHEET_CAPTIONS, batch

WEIGHTS = (
    Path(__file__).parents[2] / "benchmarks" / "weights" / "golden_path_demo_student.safetensors"
)


def run(options: argparse.Namespace) -> None:
    """Train from the teacher's weights, or from the checkpoint in ``options.out``."""
    torch.manual_seed(options.seed)
    teacher = network.load().to(options.device)
    student = network.load().requires_grad_(True).train()
    task = Task(
        samples="images",
        batch=partial(batch, network.load().autoencoder, options.seed, options.batch),
        save=network.save,
        sheet=save_sheet,
        weights=WEIGHTS.name,
    )
    training = Training(student.to(options.device), options.lr, partial(guided, teacher))
    run_training(training, task, options)


@torch.no_grad()
def guided(teacher: network.DemoNetwork, states: Tensor, batch: Batch) -> Tensor:
    """Guided velocity of the teacher at states ``[B, 48, 8, 8]``."""
    unprompted = torch.tensor([teacher.vocabulary.ids("")]).to(batch.ids).expand_as(batch.ids)
    both = teacher(
        torch.cat((states, states)), batch.times.repeat(2), torch.cat((batch.ids, unprompted))
    )
    positive, negative = both.float().chunk(2)
    return negative + GUIDANCE * (positive - negative)


def save_sheet(model: network.DemoNetwork, path: Path, steps: int = STEPS) -> None:
    """Draw each of the sheet's captions twice, without guidance."""
    images = sample(model, SHEET_CAPTIONS * 2, seed=0, steps=steps, guidance=1.0)
    pictures.sheet(images, SHEET_CAPTIONS * 2, columns=8).save(path)
