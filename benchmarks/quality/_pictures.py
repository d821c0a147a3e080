"""Pictures of many prompts at once, by any scheduler, and from other pictures on (img2img)."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import comfy.sample
import comfy.samplers
import numpy as np
import torch
from golden_path_pack.gph_core.paths.conditions import Choice
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.run_plan import RunPlan, fixed
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.hook import patching
from golden_path_pack.nodes.hook.setup import SamplingSetup
from torch import Tensor

from benchmarks.lab.demo import BATCH, CFG, SAMPLER, Silent, psnr
from benchmarks.lab.subjects import IMAGE, MODELS


class How(NamedTuple):
    """Sampler, denoise and CFG; below a denoise of 1 a sampling begins with pictures."""

    sampler: str = SAMPLER
    denoise: float = 1.0
    cfg: float = CFG


HOW = How()


class Pictures:
    """Samples a fixed list of prompts, the i-th from the noise of ``first_seed + i``."""

    def __init__(self, prompts: list[str], first_seed: int, subject: str = IMAGE) -> None:
        self.model, self.vae, clip = MODELS[subject].parts()
        self.negative, *positive = (
            clip.encode_from_tokens_scheduled(clip.tokenize(text)) for text in ("", *prompts)
        )
        self.tokens = torch.cat([tokens for ((tokens, _),) in positive])
        self.pooled = torch.cat([extra["pooled_output"] for ((_, extra),) in positive])
        shape = MODELS[subject].latent_shape
        self.noise = torch.cat([_noise(shape, first_seed + n) for n in range(len(prompts))])

    def sigmas(self, scheduler: str, steps: int, how: How = HOW) -> list[float]:
        """Noise levels of a scheduler of ComfyUI on the demo model."""
        options, device = self.model.model_options, torch.device("cpu")
        return comfy.samplers.KSampler(
            self.model, steps, device, how.sampler, scheduler, how.denoise, options
        ).sigmas.tolist()

    def sample(
        self, scheduler: str, steps: int, plan: RunPlan | None = None, how: How = HOW
    ) -> Tensor:
        """8-bit values ``[B, 64, 64, 3]``, ``[B, 13, 64, 64, 3]`` of the video model.

        Without a plan the model is as it is.
        """
        latents = self._latents(scheduler, steps, plan, how)
        with torch.inference_mode():
            images = self.vae.decode(self.model.model.process_latent_out(latents))
        return (images.clamp(0, 1) * 255).round()

    def choice(self, plan: RunPlan, scheduler: str, steps: int, how: How = HOW) -> Choice:
        """What a plan chooses for a run."""
        guider = comfy.samplers.CFGGuider(self.model)
        guider.set_cfg(how.cfg)
        sampler = comfy.samplers.sampler_object(how.sampler)
        levels = self.sigmas(scheduler, steps, how)
        return SamplingSetup(guider, sampler, levels, self.noise.shape).choice_of(plan)

    def psnr(self, reference: Tensor, *args, **how) -> np.ndarray:
        """dB ``[B]`` of a sample to others."""
        return psnr(self.sample(*args, **how), reference)

    @cached_property
    def _others(self) -> Tensor:
        """Pictures to begin with: each prompt has that of the one before it."""
        return self._latents("simple", 20, None, HOW).roll(1, 0)

    def _latents(self, scheduler: str, steps: int, plan: RunPlan | None, how: How) -> Tensor:
        model = patching.attach(self.model, plan, Silent()) if plan else self.model
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


def reused(schedule: Schedule) -> RunPlan:
    """Plan of a schedule with residual reuse."""
    return fixed(schedule, Reuse())


def _noise(shape: tuple[int, ...], seed: int) -> Tensor:
    return torch.randn(1, *shape, generator=torch.Generator().manual_seed(seed))
