"""Measure the video model: 300 clips from captions that it was not trained on.

Run it with ``python dev.py train-demo-video -- --evaluate``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from ..sampling import GUIDANCE, STEPS, sample
from . import classifier, pictures, scenes
from .autoencoder import VideoAutoencoder
from .network import Experts, VideoNetwork

CAPTIONS = 300
BATCH = 25
ON_SHEET = 16


class Verdict(NamedTuple):
    """What a clip gets right, judged by its pixels."""

    background: bool
    colors: bool  # background and all named shape colours, and no other
    motion: bool  # every shape moves as its caption says
    shapes: bool  # every shape is the named one


def held_out(count: int) -> list[scenes.Clip]:
    """The clips whose captions the measurement uses."""
    rng = np.random.default_rng(0)
    return [scenes.sample_clip(rng, held_out=True) for _ in range(count)]


def judge(clip: np.ndarray, scene: scenes.Clip) -> Verdict:
    """Compare the pixels of a clip ``[F, 64, 64, 3]`` with what its caption says."""
    maps = classifier.color_maps(clip)
    behind = classifier.background(maps)
    right = behind == scene.background
    named = {mover.color for mover in scene.movers}
    shown = classifier.present(maps, scene.background)
    others = classifier.invented(maps, scene.background) - named
    return Verdict(
        right,
        right and named <= shown and not others,
        all(
            classifier.motion(maps, mover.color, mover.shape) == mover.motion
            for mover in scene.movers
        ),
        all(classifier.shape_of(maps, mover.color) == mover.shape for mover in scene.movers),
    )


def rates(verdicts: Sequence[Verdict]) -> dict[str, float]:
    """The share of clips that are right, for each field of the verdicts."""
    means = np.mean(np.array(verdicts, dtype=float), axis=0)
    return dict(zip(Verdict._fields, means.tolist(), strict=True))


def evaluate(
    model: VideoNetwork | Experts,
    out: Path,
    *,
    captions: int = CAPTIONS,
    steps: int = STEPS,
    guidance: float = GUIDANCE,
) -> dict[str, float]:
    """Print the measured shares; write a sheet of the first clips to ``out``."""
    drawn = held_out(captions)
    print(
        f"{captions} held-out captions, {steps} Euler steps, guidance {guidance:g}, "
        f"shift {model.shift:g}"
    )
    true = [scenes.render(scene) for scene in drawn]
    report("true clips (the classifier itself)", true, drawn)
    report("true clips, encoded and decoded", coded(model.autoencoder, true), drawn)
    clips: list[torch.Tensor] = []
    for start in range(0, captions, BATCH):
        texts = [scene.caption for scene in drawn[start : start + BATCH]]
        clips += sample(model, texts, seed=start, steps=steps, guidance=guidance)
        print(f"{len(clips)} of {captions} sampled", flush=True)
    texts = [scene.caption for scene in drawn[:ON_SHEET]]
    pictures.sheet(torch.stack(clips[:ON_SHEET]), texts).save(out / "held_out_video_sheet.png")
    return report("sampled clips", (clip.numpy() for clip in clips), drawn)


@torch.no_grad()
def coded(autoencoder: VideoAutoencoder, clips: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    """Clips after encoding and decoding: the best that any training can reach."""
    for clip in clips:
        yield autoencoder.decode(autoencoder.encode(torch.from_numpy(clip)[None]))[0].numpy()


def report(
    name: str, clips: Iterable[np.ndarray], drawn: Sequence[scenes.Clip]
) -> dict[str, float]:
    """Print how many clips show what their captions say, in all and by kind of motion."""
    verdicts = [judge(clip, scene) for clip, scene in zip(clips, drawn, strict=True)]
    found = rates(verdicts)
    print(f"{name}: " + ", ".join(f"{field} right {share:.1%}" for field, share in found.items()))
    kinds = [kind(scene) for scene in drawn]
    for each in sorted(set(kinds)):
        some = [verdict for verdict, of in zip(verdicts, kinds, strict=True) if of == each]
        shares = ", ".join(f"{field} {share:.0%}" for field, share in rates(some).items())
        print(f"  {each} ({len(some)}): {shares}")
    return found


def kind(scene: scenes.Clip) -> str:
    """*passes*, *moves*, or the change of a single shape."""
    if len(scene.movers) == 2:
        return "passes"
    motion = scene.movers[0].motion
    return "moves" if motion in scenes.DIRECTIONS else motion
