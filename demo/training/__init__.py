"""Flow matching for the demo models: the loop, its checkpoints and its log.

The network sees ``(1 - t) sample + t noise`` and predicts ``noise - sample``. Data, noise and times
of a step are drawn from a generator seeded with (seed, step), so an interrupted training that
resumes sees what it would have seen.

The learning rate stays at its peak until the last 30 % of the samples and falls to zero there, so a
training can be given more samples, or fewer, while it has not come to that part.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from . import pictures

WARM_UP_STEPS = 300
DECAY_SHARE = 0.3
EMA_DECAY = 0.999
CAPTION_DROPOUT = 0.1


class Batch(NamedTuple):
    """What one step learns from: latents ``[B, ...]``, word ids, times in [0, 1] and noise."""

    latents: Tensor
    ids: Tensor
    times: Tensor
    noise: Tensor


def learning_rate_factor(step: int, total: int) -> float:
    """Linear warm-up, a plateau, and a linear fall to zero over the last part."""
    return min(1.0, (step + 1) / WARM_UP_STEPS, (total - step) / (DECAY_SHARE * total))


def optimizers(model: nn.Module, lr: float) -> dict[str, torch.optim.Optimizer]:
    """Muon for the matrices of the transformer's blocks, AdamW for all else."""
    matrices = [
        parameter
        for name, parameter in model.get_submodule("transformer").named_parameters()
        if "blocks." in name and parameter.ndim == 2
    ]
    chosen = set(matrices)
    others = [parameter for parameter in model.parameters() if parameter not in chosen]
    return {
        "muon": torch.optim.Muon(
            matrices, lr=lr, weight_decay=0.01, adjust_lr_fn="match_rms_adamw"
        ),
        "optimizer": torch.optim.AdamW(
            others, lr=lr, betas=(0.9, 0.99), weight_decay=0.01, fused=True
        ),
    }


def data_velocity(states: Tensor, batch: Batch) -> Tensor:
    """What a model learns from data: the velocity from each sample to its noise."""
    return batch.noise - batch.latents


def growing_ema(averages: Sequence[Tensor], current: Sequence[Tensor], count: Tensor | int) -> None:
    """Average over about the last tenth of the steps, at most over ``EMA_DECAY``'s 1,000.

    With a decay that never changes, the first weights would stay for long.
    """
    decay = min(EMA_DECAY, (1 + int(count)) / (10 + int(count)))
    with torch.no_grad():
        for average, weights in zip(averages, current, strict=True):
            average.lerp_(weights, 1 - decay)


@dataclass(frozen=True)
class Task:
    """What differs between the models."""

    samples: str  # what is learnt from, in the plural, for the log
    batch: Callable[[int], Batch]  # of the number of a step, on the CPU; it can be pickled
    save: Callable[[Any, Path], None]
    sheet: Callable[[Any, Path], None]
    weights: str  # name of the file that ``save`` writes
    sheets_every: int = 4  # checkpoints


def add_options(parser: argparse.ArgumentParser, samples: str, total: int, lr: float) -> None:
    """The options that both trainings have."""
    parser.add_argument(
        "--out", type=Path, required=True, help="folder of checkpoint, log and sheets"
    )
    parser.add_argument(
        f"--{samples}", dest="total", type=int, default=total, help=f"training {samples} in all"
    )
    parser.add_argument("--batch", type=int, default=64, help=f"{samples} per step")
    parser.add_argument("--lr", type=float, default=lr, help="peak learning rate")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads")
    parser.add_argument(
        "--workers", type=int, default=0, help=f"processes that draw {samples}; 0: the training's"
    )
    parser.add_argument(
        "--compile", action="store_true", help="torch.compile: needs a C++ compiler"
    )
    parser.add_argument("--save-every", type=int, default=500, help="steps between checkpoints")


class Training:
    """A model, its running average and its optimizers: what a checkpoint holds.

    Args:
        target: velocity to learn, from the states and their batch.
    """

    def __init__(
        self, model: nn.Module, lr: float,
        target: Callable[[Tensor, Batch], Tensor] = data_velocity,
    ) -> None:  # fmt: skip
        self.model, self._target = model, target
        self.average = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=growing_ema)
        self.optimizers = optimizers(model, lr)
        self.step = 0

    def _parts(self) -> dict:
        return {"model": self.model, "average": self.average, **self.optimizers}

    def save(self, path: Path) -> None:
        """Write a checkpoint, so that an interruption leaves the old one or the new one."""
        state = {name: part.state_dict() for name, part in self._parts().items()}
        torch.save(state | {"step": self.step}, path.with_suffix(".tmp"))
        path.with_suffix(".tmp").replace(path)

    def load(self, path: Path) -> None:
        """Continue from a checkpoint."""
        state = torch.load(path, weights_only=True)
        for name, part in self._parts().items():
            part.load_state_dict(state[name])
        self.step = state["step"]

    def learn(self, forward: Callable, batch: Batch, lr: float) -> float:
        """Take one step and return its loss."""
        for optimizer in self.optimizers.values():
            for group in optimizer.param_groups:
                group["lr"] = lr
        device = next(self.model.parameters()).device
        batch = Batch(*(part.to(device) for part in batch))
        at = batch.times.view(-1, *[1] * (batch.latents.ndim - 1))
        states = batch.latents.lerp(batch.noise, at)
        with torch.autocast(device.type, torch.bfloat16):
            predicted = forward(states, batch.times, batch.ids)
        loss = (predicted.float() - self._target(states, batch)).square().mean()
        for optimizer in self.optimizers.values():
            optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimizer in self.optimizers.values():
            optimizer.step()
        self.average.update_parameters(self.model)
        self.step += 1
        return loss.item()


class _Batches(Dataset[Batch]):
    """Batches of some steps, in the process that asks for them."""

    def __init__(self, draw: Callable[[int], Batch], steps: range) -> None:
        self._draw, self._steps = draw, steps

    def __len__(self) -> int:
        return len(self._steps)

    def __getitem__(self, index: int) -> Batch:
        return self._draw(self._steps[index])


def run_training(training: Training, task: Task, options: argparse.Namespace) -> None:
    """Train to ``options.total``, from the checkpoint in ``options.out`` if there is one."""
    total = options.total // options.batch
    checkpoint = options.out / "checkpoint.pt"
    if checkpoint.exists():
        training.load(checkpoint)
        print(f"resuming at step {training.step} of {total}")
    model = training.model
    # The pattern matcher would put the slow fused attention back (see differentiable.py).
    forward = torch.compile(model, options={"pattern_matcher": False}) if options.compile else model
    report = _Report(task.samples, options.out / "log.jsonl", options.batch, training.step, total)
    steps = range(training.step, total)
    drawn = _Batches(task.batch, steps)
    batches = DataLoader(drawn, batch_size=None, num_workers=options.workers)
    for step, batch in zip(steps, batches, strict=True):
        lr = options.lr * learning_rate_factor(step, total)
        report.losses.append(training.learn(forward, batch, lr))
        done, last = training.step, training.step == total
        if done % 50 == 0 or done % options.save_every == 0 or last:
            report.write(done)
        if done % options.save_every == 0 or last:
            training.save(checkpoint)
            task.save(training.average.module, options.out / task.weights)
        if done % (task.sheets_every * options.save_every) == 0 or last:
            task.sheet(training.average.module, options.out / f"sheet_{done:06d}.png")
            pictures.loss_curve(report.log, options.out / "loss.png", task.samples)


class _Report:
    """Losses since the last line of the log."""

    def __init__(self, samples: str, log: Path, batch: int, first: int, total: int) -> None:
        self.samples, self.log, self.batch = samples, log, batch
        self.first, self.total = first, total
        self.losses: list[float] = []
        self.started = time.perf_counter()

    def write(self, done: int) -> None:
        mean, self.losses = sum(self.losses) / len(self.losses), []
        rate = (done - self.first) * self.batch / (time.perf_counter() - self.started)
        row = {"step": done, self.samples: done * self.batch, "loss": mean, "rate": rate}
        with self.log.open("a") as file:
            file.write(json.dumps(row) + "\n")
        left = (self.total - done) * self.batch / rate / 60
        print(
            f"step {done}/{self.total}  loss {mean:.4f}  {rate:.0f} {self.samples}/s  "
            f"{left:.0f} min left",
            flush=True,
        )
