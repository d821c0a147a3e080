"""The demo's two models, image and video, and a student of the first, as benchmarks use them."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from golden_path_pack.nodes.sample.demo import DemoModel

from benchmarks.lab import student
from demo import network, scenes
from demo.video import network as video_network
from demo.video import scenes as video_scenes

IMAGE, VIDEO, STUDENT = "image", "video", "student"


class Subject(NamedTuple):
    """A model.

    Args:
        draw: a random scene or clip with a caption, which training saw or did not (``held_out``).
        latent_shape: of one item.
        shift: of its noise levels.
        weights: their file.
    """

    kind: str  # of *Golden Path Demo Model*, or of a student of the image model
    draw: Callable[..., Any]
    latent_shape: tuple[int, ...]
    shift: float
    weights: Path

    def parts(self) -> tuple[Any, Any, Any]:
        """MODEL, VAE and CLIP, once ComfyUI and the pack are loaded."""
        is_student = self.kind not in SUBJECTS
        model, vae, clip = DemoModel.execute(IMAGE if is_student else self.kind).args
        return (student.load_model(self.weights) if is_student else model), vae, clip

    def captions(self, count: int, seed: int, held_out: bool) -> list[str]:
        """Distinct captions, held out of training or not."""
        return list(self.drawn(count, seed, held_out))

    def drawn(self, count: int, seed: int, held_out: bool) -> dict[str, Any]:
        """Distinct captions, each with the scene that it names."""
        rng = np.random.default_rng(seed)
        found: dict[str, Any] = {}
        while len(found) < count:
            scene = self.draw(rng, held_out=held_out)
            found.setdefault(scene.caption, scene)
        return found

    @property
    def name(self) -> str:
        """The model's name in results."""
        return "demo model" if self.kind == IMAGE else f"demo model, {self.kind}"

    @property
    def digest(self) -> str:
        """First 12 digits of the SHA-256 of its weights."""
        return hashlib.sha256(self.weights.read_bytes()).hexdigest()[:12]

    def file(self, path: Path) -> Path:
        """This file for the image model; one beside it for another model."""
        return path if self.kind == IMAGE else path.with_stem(f"{path.stem}-{self.kind}")


SUBJECTS = {
    IMAGE: Subject(
        IMAGE, scenes.sample_scene, network.LATENT_SHAPE, network.SHIFT, network.WEIGHTS
    ),
    VIDEO: Subject(
        VIDEO, video_scenes.sample_clip, video_network.LATENT_SHAPE, video_network.SHIFT,
        video_network.WEIGHTS,
    ),
}  # fmt: skip
FEW_STEPS = (4, 8, 16)


def of_steps(steps: int) -> str:
    """The student that takes so few steps."""
    return f"student of {steps} steps"


_WEIGHTS = {STUDENT: student.WEIGHTS, **{of_steps(n): student.of_steps(n) for n in FEW_STEPS}}
STUDENTS = {
    kind: SUBJECTS[IMAGE]._replace(kind=kind, weights=file) for kind, file in _WEIGHTS.items()
}
MODELS = {**SUBJECTS, STUDENT: STUDENTS[STUDENT]}  # that every benchmark can measure
EVERY = SUBJECTS | STUDENTS
BOTH = "demo models"  # the name of SUBJECTS in results
OF_STUDENTS = "students of the demo model"  # that of STUDENTS


def weights_of(model: str) -> str:
    """Digest of the weights of a demo model, or of ``BOTH``; "" for another model."""
    about = [
        subject for kind, subject in EVERY.items()
        if model == subject.name or kind in {BOTH: SUBJECTS, OF_STUDENTS: STUDENTS}.get(model, ())
    ]  # fmt: skip
    return ", ".join(subject.digest for subject in about)


def add_option(parser: argparse.ArgumentParser, models: Iterable[str] = SUBJECTS) -> None:
    """The option that chooses a model, ``IMAGE`` without it."""
    parser.add_argument(
        "--model", choices=list(models), default=IMAGE, help="which of the demo's models"
    )
