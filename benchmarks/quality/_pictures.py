"""Pictures of many prompts at once, by any scheduler, and from other pictures on (img2img)."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import comfy.sample
import comfy.samplers
import numpy as np
import torch
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from torch import Tensor

from benchmarks.lab.demo import BATCH, CFG, SAMPLER, cached, psnr
from benchmarks.lab.subjects import IMAGE, SUBJECTS


class How(NamedTuple):
    """Sampler, denoise and CFG; below a denoise of 1 a sampling begins with pictures."""

    sampler: str = SAMPLER
    denoise: float = 1.0
    cfg: float = CFG


HOW = How()


class Pictures:
    """Samples a fixed list of prompts, the i-th from the noise of ``first_seed + i``."""

    def __init__(self, prompts: list[str], first_seed: int, subject: str = IMAGE) -> None:
        self.model, self.vae, clip = SUBJECTS[subject].parts()
        self.negative, *positive = (
            clip.encode_from_tokens_scheduled(clip.tokenize(text)) for text in ("", *prompts)
        )
        self.tokens = torch.cat([tokens for ((tokens, _),) in positive])
        self.pooled = torch.cat([extra["pooled_output"] for ((_, extra),) in positive])
        shape = SUBJECTS[subject].latent_shape
        self.noise = torch.cat([_noise(shape, first_seed + n) for n in range(len(prompts))])

    def sigmas(self, scheduler: str, steps: int, how: How = HOW) -> list[float]:
        """Noise levels of a scheduler of ComfyUI on the demo model."""
        options, device = self.model.model_options, torch.device("cpu")
        return comfy.samplers.KSampler(
            self.model, steps, device, how.sampler, scheduler, how.denoise, options
        ).sigmas.tolist()

    def sample(self, scheduler: str, steps: int, schedule=None, how: How = HOW) -> Tensor:
        """8-bit values ``[B, 64, 64, 3]``, ``[B, 13, 64, 64, 3]`` of the video model.

        With a schedule the cached steps reuse the residual; without one the model is as it is.
        """
        latents = self._latents(scheduler, steps, schedule, how)
        with torch.inference_mode():
            images = self.vae.decode(self.model.model.process_latent_out(latents))
        return (images.clamp(0, 1) * 255).round()

    def psnr(self, reference: Tensor, *args, **how) -> np.ndarray:
        """dB ``[B]`` of a sample to others."""
        return psnr(self.sample(*args, **how), reference)

    @cached_property
    def _others(self) -> Tensor:
        """Pictures to begin with: each prompt has that of the one before it."""
        return self._latents("simple", 20, None, HOW).roll(1, 0)

    def _latents(self, scheduler: str, steps: int, schedule, how: How) -> Tensor:
        model = self.model if schedule is None else cached(self.model, schedule, Reuse())
        begin = torch.zeros_like(self.noise) if how.denoise == 1 else self._others
        found = []
        for first in range(0, len(self.noise), BATCH):
            some = slice(first, first + BATCH)
            positive = [[self.tokens[some], {"pooled_output": self.pooled[some]}]]
            with torch.inference_mode():
                found.append(comfy.sample.sample(
                    model, self.noise[some], steps, how.cfg, how.sampler, scheduler, positive,
                    self.negative, begin[some], denoise=how.denoise, disable_pbar=True, seed=0,
                ))  # fmt: skip
        return torch.cat(found)


def _noise(shape: tuple[int, ...], seed: int) -> Tensor:
    return torch.randn(1, *shape, generator=torch.Generator().manual_seed(seed))
