"""Train the demo model on procedural scenes. Run it with ``python dev.py train-demo-model``.

Flow matching: the network sees ``(1 - t) image + t noise`` and predicts ``noise - image``. Data,
noise and times of a step are drawn from a generator seeded with (seed, step), so an interrupted
training that resumes sees what it would have seen.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from . import network, pictures, scenes
from .comfyui import use_comfyui
from .evaluate import evaluate
from .sampling import sample

WARM_UP_STEPS = 500
EMA_DECAY = 0.999
CAPTION_DROPOUT = 0.1
SHEET_CAPTIONS = (
    "one red circle on plain white background",
    "two yellow triangles on striped blue background",
    "three pink rings on checkered black background",
    "large green cross on dotted orange background",
    "small white diamond on gradient purple background",
    "blue square left of yellow circle on plain pink background",
    "cyan ring above red triangle on gradient black background",
    "black cross left of white diamond on striped green background",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="dev.py train-demo-model", description=__doc__)
    parser.add_argument(
        "--out", type=Path, required=True, help="folder of checkpoint, log and sheets"
    )
    parser.add_argument("--images", type=int, default=1_000_000, help="training images in all")
    parser.add_argument("--batch", type=int, default=64, help="images per step")
    parser.add_argument("--lr", type=float, default=1.5e-3, help="peak learning rate")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1, help="CPU threads")
    parser.add_argument(
        "--compile", action="store_true", help="torch.compile: needs a C++ compiler"
    )
    parser.add_argument("--save-every", type=int, default=500, help="steps between checkpoints")
    parser.add_argument(
        "--evaluate", action="store_true", help="measure the bundled weights instead"
    )
    options = parser.parse_args()
    use_comfyui("--cpu")
    torch.set_num_threads(options.threads)
    options.out.mkdir(parents=True, exist_ok=True)
    if options.evaluate:
        evaluate(network.WEIGHTS, options.out)
    else:
        train(options)


def train(options: argparse.Namespace) -> None:
    """Train to ``options.images``, from the checkpoint in ``options.out`` if there is one."""
    torch.manual_seed(options.seed)
    model = network.DemoNetwork()
    initialize(model)
    average = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(EMA_DECAY)
    )
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=options.lr, betas=(0.9, 0.99), weight_decay=0.01, fused=True
    )
    total = options.images // options.batch
    checkpoint, log = options.out / "checkpoint.pt", options.out / "log.jsonl"
    first = 0
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        for name, part in (("model", model), ("average", average), ("optimizer", optimizer)):
            part.load_state_dict(state[name])
        first = state["step"]
        print(f"resuming at step {first} of {total}")
    # The pattern matcher would put the slow fused attention back (see differentiable.py).
    forward = torch.compile(model, options={"pattern_matcher": False}) if options.compile else model

    losses: list[float] = []
    started = time.perf_counter()
    for step in range(first, total):
        for group in optimizer.param_groups:
            group["lr"] = options.lr * learning_rate_factor(step, total)
        images, ids, times, noise = batch(options.seed, step, options.batch)
        latents = model.autoencoder.encode(images)
        at = times[:, None, None, None]
        with torch.autocast("cpu", torch.bfloat16):
            predicted = forward(latents.lerp(noise, at), times, ids)
        loss = (predicted.float() - (noise - latents)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        average.update_parameters(model)
        losses.append(loss.item())

        done = step + 1
        if done % 50 == 0 or done % options.save_every == 0 or done == total:
            mean, losses = sum(losses) / len(losses), []
            with log.open("a") as file:
                file.write(
                    json.dumps({"step": done, "images": done * options.batch, "loss": mean}) + "\n"
                )
            rate = (done - first) * options.batch / (time.perf_counter() - started)
            left = (total - done) * options.batch / rate / 60
            print(
                f"step {done}/{total}  loss {mean:.4f}  {rate:.0f} images/s  {left:.0f} min left",
                flush=True,
            )
        if done % options.save_every == 0 or done == total:
            state = {"model": model, "average": average, "optimizer": optimizer}
            state = {name: part.state_dict() for name, part in state.items()} | {"step": done}
            torch.save(state, checkpoint.with_suffix(".tmp"))
            checkpoint.with_suffix(".tmp").replace(checkpoint)
        if done % (4 * options.save_every) == 0 or done == total:
            images = sample(average.module, SHEET_CAPTIONS * 2, seed=0)
            pictures.sheet(images, SHEET_CAPTIONS * 2, columns=8).save(
                options.out / f"sheet_{done:06d}.png"
            )
            pictures.loss_curve(log, options.out / "loss.png")
    network.save(average.module, options.out / "golden_path_demo.safetensors")


def initialize(model: network.DemoNetwork) -> None:
    """Xavier weights; gates and output start at zero, so that blocks begin as the identity."""
    for name, parameter in model.transformer.named_parameters():
        if parameter.ndim == 2:
            nn.init.xavier_uniform_(parameter)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)
    for name, module in model.transformer.named_modules():
        if name.endswith((".lin", "adaLN_modulation.1", "final_layer.linear")):
            nn.init.zeros_(module.weight)
    nn.init.normal_(model.words.positions, std=0.5)
    rng = np.random.default_rng(0)
    images = np.stack([scenes.render(scenes.sample_scene(rng)) for _ in range(2000)])
    model.autoencoder.fit(torch.from_numpy(images))


def learning_rate_factor(step: int, total: int) -> float:
    """Linear warm-up, then a cosine to zero."""
    warm_up = min(1.0, (step + 1) / WARM_UP_STEPS)
    return warm_up * 0.5 * (1 + math.cos(math.pi * step / total))


def batch(seed: int, step: int, size: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Images, word ids, times and noise of one training step.

    Times are logistic-normal, shifted like the sampler's noise levels.
    """
    rng = np.random.default_rng((seed, step))
    drawn = [scenes.sample_scene(rng) for _ in range(size)]
    images = torch.from_numpy(np.stack([scenes.render(scene) for scene in drawn]))
    captions = ["" if rng.random() < CAPTION_DROPOUT else scene.caption for scene in drawn]
    ids = torch.tensor([scenes.word_ids(caption) for caption in captions])
    normal = torch.from_numpy(rng.standard_normal(size, dtype=np.float32))
    times = network.shifted(normal.sigmoid())
    noise = torch.from_numpy(rng.standard_normal((size, *network.LATENT_SHAPE), dtype=np.float32))
    return images, ids, times, noise


if __name__ == "__main__":
    main()
