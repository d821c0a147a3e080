"""The demo's two models, image and video, as benchmarks use them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from demo import network, scenes
from demo.video import network as video_network
from demo.video import scenes as video_scenes

IMAGE, VIDEO = "image", "video"


class Subject(NamedTuple):
    """A model.

    Args:
        draw: a random scene or clip with a caption, which training saw or did not (``held_out``).
        latent_shape: of one item.
        parts: MODEL, VAE and CLIP, once ComfyUI and the pack are loaded.
    """

    draw: Callable[..., Any]
    latent_shape: tuple[int, ...]
    parts: Callable[[], tuple[Any, Any, Any]]

    def captions(self, count: int, seed: int, held_out: bool) -> list[str]:
        """Different captions, of those that training saw or of those that it did not."""
        rng = np.random.default_rng(seed)
        found: dict[str, None] = {}
        while len(found) < count:
            found[self.draw(rng, held_out=held_out).caption] = None
        return list(found)


def _parts_of(kind: str) -> tuple[Any, Any, Any]:
    from golden_path_pack.nodes.sample.demo import DemoModel

    return DemoModel.execute(kind).result


SUBJECTS = {
    IMAGE: Subject(scenes.sample_scene, network.LATENT_SHAPE, lambda: _parts_of(IMAGE)),
    VIDEO: Subject(
        video_scenes.sample_clip, video_network.LATENT_SHAPE, lambda: _parts_of(VIDEO)
    ),
}  # fmt: skip
