"""Tiny random instances of ComfyUI's real model classes, and how to sample them.

A *case* is one way in which people use one model family. ``zoo_images``, ``zoo_videos`` and others
list them; weights are random but seeded, and every part of a model matters in what it samples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import comfy.model_patcher
import comfy.nested_tensor
import comfy.sample
import comfy.samplers
import comfy.supported_models_base
import torch
from golden_path_pack.gph_core.model import families


@dataclass(frozen=True)
class Case:
    """One model family in one use."""

    name: str
    family: str  # the row of gph_core.families
    config: type[comfy.supported_models_base.BASE]
    unet: dict  # the transformer's configuration, as detected from a checkpoint
    latent: (
        tuple  # shape without batch; a tuple of shapes where several tensors are sampled at once
    )
    conditioning: Callable[[int, int], list]  # seed and text tokens to CONDITIONING
    cfg: float = 3.0


def randomize(module: torch.nn.Module, seed: int = 0) -> None:
    """Seeded random weights, large enough in scale that every block matters."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, tensor in (*module.named_parameters(), *module.named_buffers()):
            if tensor.is_floating_point():
                fan_in = tensor[0].numel() if tensor.ndim >= 2 else 100
                values = torch.randn(tensor.shape, generator=generator) / fan_in**0.5
                is_norm = tensor.ndim == 1 and name.endswith(("weight", "scale"))
                tensor.copy_(values + 1 if is_norm else values)


def build(case: Case, dtype: torch.dtype = torch.float32):
    """A MODEL of the case."""
    config = case.config(dict(case.unet))
    config.set_inference_dtype(dtype, None)
    model = config.get_model({}, "")
    randomize(model.diffusion_model)
    cpu = torch.device("cpu")
    return comfy.model_patcher.ModelPatcher(model, load_device=cpu, offload_device=cpu)


def empty_latent(case: Case, batch: int = 1):
    """Zeros of the case's latent shape, nested where several tensors are sampled at once."""
    if isinstance(case.latent[0], tuple):
        return comfy.nested_tensor.NestedTensor([torch.zeros(batch, *s) for s in case.latent])
    return torch.zeros(batch, *case.latent)


def sigmas(model, steps: int) -> torch.Tensor:
    """``[steps + 1]`` noise levels of the scheduler *simple*."""
    sampling = model.get_model_object("model_sampling")
    return comfy.samplers.calculate_sigmas(sampling, "simple", steps)


def sample(
    case: Case, model, steps: int = 8, sampler: str = "euler", cfg: float | None = None,
    batch: int = 1, tokens: tuple[int, int] = (5, 5), item: int | None = None, **kwargs,
):  # fmt: skip
    """Latents sampled as KSampler does, one tensor a stream.

    Args:
        tokens: of the positive and the negative prompt.
        item: sample only this item of the batch.
        kwargs: for ``comfy.sample.sample``.
    """
    latent = empty_latent(case, batch)
    noise = comfy.sample.prepare_noise(latent, seed=1)
    if item is not None:
        latent, noise = _item(latent, item), _item(noise, item)
    with torch.inference_mode():
        result = comfy.sample.sample(
            model, noise, steps, case.cfg if cfg is None else cfg, sampler, "simple",
            case.conditioning(1, tokens[0]), case.conditioning(2, tokens[1]), latent,
            disable_pbar=True, seed=1, **kwargs,
        )  # fmt: skip
    return streams(result)


def streams(latent) -> tuple[torch.Tensor, ...]:
    """Clones of the tensors that are sampled at once; mostly one."""
    return tuple(part.clone() for part in (latent.unbind() if latent.is_nested else (latent,)))


def _item(latent, item: int):
    parts = [part[item : item + 1] for part in streams(latent)]
    return comfy.nested_tensor.NestedTensor(parts) if latent.is_nested else parts[0]


def same(one, other) -> bool:
    """Whether two samples have the same bits in all streams."""
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def counted(model, sample: Callable) -> int:
    """Calls of blocks with the image, and of what runs beside them, in a sampling run."""
    transformer = model.model.diffusion_model
    family = families.detect(transformer)
    transformer = transformer.get_submodule(family.inside)
    calls = []
    blocks = [block for name in family.block_lists for block in getattr(transformer, name)]
    beside = [
        module
        for name in ("vace_blocks", "audio_injector", "face_adapter", "music_injector")
        if hasattr(transformer, name)
        for module in getattr(transformer, name).modules()
    ]

    def note(_module, args):
        if family.prefix is None or args[family.prefix] < args[family.image].shape[1]:
            calls.append(1)

    hooks = [module.register_forward_pre_hook(note) for module in (*blocks, *beside)]
    try:
        sample()
    finally:
        for hook in hooks:
            hook.remove()
    return len(calls)
