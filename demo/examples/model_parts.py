"""Nodes of which the workflows of released models consist. Standard library only."""

from __future__ import annotations

from collections.abc import Sequence

from .drawing import Part, cache_values, folded
from .drawing import prompt as encoded

MODEL, CLIP, VAE, LATENT, IMAGE, CONDITIONING = (
    {kind: kind} for kind in ("MODEL", "CLIP", "VAE", "LATENT", "IMAGE", "CONDITIONING")
)


def diffusion_model(file: str, title: str | None = None) -> Part:
    return Part("UNETLoader", {}, MODEL, (file, "default"), title)


def encoders(clip: Sequence[str], vae: str) -> dict[str, Part]:
    """Loaders of text and image encoders: ``clip`` is a file, or two of them, and their type."""
    kind = "CLIPLoader" if len(clip) == 2 else "DualCLIPLoader"
    return {
        "clip": Part(kind, {}, CLIP, (*clip, "default")),
        "vae": Part("VAELoader", {}, VAE, (vae,)),
    }


def loaders(unet: str, clip: Sequence[str], vae: str) -> dict[str, Part]:
    return {"model": diffusion_model(unet), **encoders(clip, vae)}


def latent(kind: str, *size: int) -> dict[str, Part]:
    return {"latent": Part(kind, {}, LATENT, (*size, 1))}


def prompts(positive: str, negative: str | None = "") -> dict[str, Part]:
    """Both prompts; None where the model has no use for a negative one."""
    zero = folded(
        "ConditioningZeroOut", {"conditioning": conditioning("positive")}, CONDITIONING,
        title="No negative prompt",
    )  # fmt: skip
    if negative is not None:
        zero = encoded("Negative prompt", negative, "clip")._replace(is_folded=True)
    return {"positive": encoded("Prompt", positive, "clip"), "negative": zero}


def conditioning(source: str) -> tuple[str, str]:
    return source, "CONDITIONING"


def shifted(kind: str, shift: float, source: str = "model") -> Part:
    """A patch for the noise levels of a model whose own ones differ."""
    return folded(kind, {"model": (source, "MODEL")}, MODEL, shift)


def cache(speed: str, *source: str, title: str | None = None) -> Part:
    """The cache of a model: of the output of a part, which is mostly called MODEL."""
    key, output = source if len(source) == 2 else (*source, "MODEL")
    return Part("GPH_Cache", {"model": (key, output)}, MODEL, (speed,), title)


def learning(part: Part) -> Part:
    """A cache that learns from two images."""
    _, *others, _ = cache_values()
    return part._replace(values=(*part.values, *others, "from 2 images"))


def custom(schedule: str, policy: str, source: str, title: str) -> Part:
    """A cache with a schedule and a policy, which is another part."""
    inputs = {"model": (source, "MODEL"), "policy": (policy, "policy")}
    return Part("GPH_Cache", inputs, MODEL, ("Custom", schedule), title)


def sampler(steps: int, cfg: float, method: str = "euler", seeds: str = "fixed") -> dict[str, Part]:
    inputs = {
        "model": ("cache", "MODEL"), "positive": conditioning("positive"),
        "negative": conditioning("negative"), "latent_image": ("latent", "LATENT"),
    }  # fmt: skip
    return {
        "sampler": Part("KSampler", inputs, LATENT, (1, seeds, steps, cfg, method, "simple", 1))
    }


def decoder(source: str = "sampler", output: str = "LATENT") -> dict[str, Part]:
    inputs = {"samples": (source, output), "vae": ("vae", "VAE")}
    return {"decoded": folded("VAEDecode", inputs, IMAGE)}


def image() -> dict[str, Part]:
    inputs = {"images": ("decoded", "IMAGE")}
    return {"saved": Part("SaveImage", inputs, values=("golden_path",), height=300)}


def video(fps: int) -> dict[str, Part]:
    created = folded("CreateVideo", {"images": ("decoded", "IMAGE")}, {"VIDEO": "VIDEO"}, fps)
    inputs, values = {"video": ("created", "VIDEO")}, ("video/golden_path", "auto", "auto")
    return {"created": created, "saved": Part("SaveVideo", inputs, values=values, height=300)}


def expert(model: str, latent: str, cfg: float, steps: tuple[int, int, int]) -> Part:
    """One expert's part of a run: of all steps, from one to another."""
    count, start, end = steps
    is_first = start == 0
    inputs = {
        "model": (model, "MODEL"), "positive": conditioning("positive"),
        "negative": conditioning("negative"), "latent_image": (latent, "LATENT"),
    }  # fmt: skip
    noise = "enable" if is_first else "disable"  # added before, and left after
    values = (noise, 1, "fixed", count, cfg, "euler", "simple", start, end, noise)
    title = "KSampler (high noise)" if is_first else "KSampler (low noise)"
    return Part("KSamplerAdvanced", inputs, LATENT, values, title)
