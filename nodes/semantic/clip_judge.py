"""CLIP as judge: the cosine of image and prompt embeddings, from ComfyUI's own encoders."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from comfy.clip_model import CLIPTextModel
from safetensors import safe_open
from torch import Tensor

from ...gph_core.files import reading
from ...gph_core.quality.semantic.scores import clip_score
from ..hook import fingerprint

# Largest weight of a trained projection, in medians; uninitialized memory has larger ones.
_MOST_SPREAD = 1000.0
MOST_BYTES = 2**37  # of a file of weights
ADVICE = (
    "the file model.safetensors of openai/clip-vit-large-patch14 has all that is needed: load it "
    "both with Load CLIP Vision and with Load CLIP"
)


class ClipJudge:
    """CLIP score of images.

    Raises ``ValueError`` if the two encoders do not share an embedding space.

    Args:
        clip_vision: a CLIP_VISION.
        clip: a CLIP, one of whose text encoders is that of the same CLIP.
    """

    def __init__(self, clip_vision: Any, clip: Any) -> None:
        width = _vision_width(clip_vision)
        self._name, self._encoder = _text_encoder(clip, width)
        self._vision, self._clip = clip_vision, clip
        self._texts: dict[str, Tensor] = {}

    @property
    def fingerprint(self) -> str:
        """Fingerprint of both encoders."""
        parts = self._vision.model, self._encoder
        return fingerprint.of_values([fingerprint.of_module(part) for part in parts])

    def score(self, image: Tensor, prompt: str) -> float:
        """Score of an image ``[1, H, W, 3]``, of which CLIP sees the middle square.

        Only the first 75 tokens or so of a prompt count, which is what CLIP reads at once.
        """
        with torch.no_grad():
            if prompt not in self._texts:
                self._texts[prompt] = self._encoded(prompt)
            seen = self._vision.encode_image(image)["image_embeds"]
            return float(clip_score(seen.cpu(), self._texts[prompt]))

    def _encoded(self, prompt: str) -> Tensor:
        """Projected embedding of a text, ``[1, D]``; weights of words have no effect."""
        chunk = self._clip.tokenize(prompt)[self._name][0]
        encoder, patcher = self._encoder, self._clip.load_model()
        encoder.reset_clip_options()
        try:
            # Text encoders of some models leave out the projection unless told otherwise.
            encoder.set_clip_options(
                {"projected_pooled": True, "execution_device": patcher.load_device}
            )
            encoded = encoder.encode_token_weights([chunk])
        finally:
            encoder.reset_clip_options()
        return encoded[1].float().cpu()


def _vision_width(clip_vision: Any) -> int:
    """Width of an image encoder's embeddings; ``ValueError`` if they are not CLIP's."""
    projection = getattr(clip_vision.model, "visual_projection", None)
    weight = getattr(projection, "weight", None)
    if clip_vision.model_type != "clip_vision_model" or weight is None:
        raise ValueError(
            "clip_vision is no CLIP with a visual projection, but another image encoder such as "
            f"SigLIP or DINO, whose embeddings no text can be compared with; {ADVICE}"
        )
    if not _is_trained(weight):
        raise ValueError(
            "the file of clip_vision has no visual_projection, so its embeddings mean nothing; "
            f"{ADVICE}"
        )
    return weight.shape[0]


def _text_encoder(clip: Any, width: int) -> tuple[str, Any]:
    """Text encoder with embeddings of a given width, and the name of its tokens.

    Raises ``ValueError`` if there is none, or it has no projection.
    """
    model, patcher = getattr(clip, "cond_stage_model", None), getattr(clip, "patcher", None)
    encoders = {
        name.removeprefix("clip_"): part
        for name, part in (model.named_children() if model is not None else ())
        if isinstance(getattr(part, "transformer", None), CLIPTextModel)
    }
    if not encoders:
        raise ValueError(f"clip holds no text encoder of a CLIP; {ADVICE}")
    if getattr(patcher, "patches", None):
        raise ValueError(
            "clip is changed by a LoRA, so its scores would mean something else; connect it "
            "before the LoRA"
        )
    projections = {name: part.transformer.text_projection for name, part in encoders.items()}
    widths = {name: projection.weight.shape[0] for name, projection in projections.items()}
    name = next((name for name, own in widths.items() if own == width), None)
    if name is None:
        raise ValueError(
            f"clip_vision gives embeddings of {width} numbers, clip those of "
            f"{' or '.join(map(str, widths.values()))}; both have to be of the same CLIP: {ADVICE}"
        )
    files = _files_of(patcher)
    if not _is_trained(projections[name].weight) or not _has_projection(files, width):
        which = f"clip ({', '.join(file.name for file in files)})" if files else "clip"
        raise ValueError(
            f"{which} has no text_projection, so its embedding of a prompt cannot be compared "
            f"with an image; {ADVICE}"
        )
    return name, encoders[name]


def _is_trained(weight: Tensor) -> bool:
    """Whether a projection was loaded; ComfyUI does not fill one that a file lacks.

    Such a projection holds zeros, a unit matrix, or uninitialized memory.
    """
    sizes = weight.detach().float().abs()
    return bool(sizes.isfinite().all() and sizes.max() < _MOST_SPREAD * sizes.median())


def _files_of(patcher: Any) -> list[Path]:
    """Files that a text encoder was loaded from, as far as ComfyUI tells."""
    made = getattr(patcher, "cached_patcher_init", None)
    paths = made[1][0] if made and made[1] else []
    paths = [paths] if isinstance(paths, str) else paths
    is_known = isinstance(paths, (list, tuple)) and all(isinstance(p, str) for p in paths)
    return [Path(path) for path in paths] if is_known else []


def _has_projection(files: list[Path], width: int) -> bool:
    """Whether the files hold a text projection; also True if that cannot be told."""
    readable = [f for f in files if f.suffix.lower() in (".safetensors", ".sft") and f.is_file()]
    if not files or readable != files:
        return True
    shapes = (shape for file in files for shape in _shapes_of_projections(file))
    return [width, width] in shapes


def _shapes_of_projections(file: Path) -> Iterator[list[int]]:
    """Shapes of the text projections that a file holds."""
    try:
        reading.check_file(file, MOST_BYTES)
        with safe_open(file, "pt") as opened:
            for key in list(opened.keys()):
                if key.endswith(("text_projection", "text_projection.weight")):
                    yield opened.get_slice(key).get_shape()
    except reading.ERRORS as error:
        raise ValueError(
            f"{file.name} cannot be read: {reading.reason(error)}; {ADVICE}"
        ) from error
