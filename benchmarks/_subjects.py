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
    """

    kind: str  # of *Golden Path Demo Model*
    draw: Callable[..., Any]
    latent_shape: tuple[int, ...]

    def parts(self) -> tuple[Any, Any, Any]:
        """MODEL, VAE and CLIP, once ComfyUI and the pack are loaded."""
        from golden_path_pack.nodes.sample.demo import DemoModel

        return DemoModel.execute(self.kind).result

    def captions(self, count: int, seed: int, held_out: bool) -> list[str]:
        """Different captions, of those that training saw or of those that it did not."""
        rng = np.random.default_rng(seed)
        found: dict[str, None] = {}
        while len(found) < count:
            found[self.draw(rng, held_out=held_out).caption] = None
        return list(found)


SUBJECTS = {
    IMAGE: Subject(IMAGE, scenes.sample_scene, network.LATENT_SHAPE),
    VIDEO: Subject(VIDEO, video_scenes.sample_clip, video_network.LATENT_SHAPE),
}
