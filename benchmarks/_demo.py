"""Pictures of the demo model through ComfyUI's sampling and this pack's cache, many at once."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from demo import network, scenes

CFG = 5.0
SAMPLER = "euler"
BATCH = 8  # prompts at once: the fastest on one core
PSNR_OF_EQUAL = 100.0  # dB, where it would be infinite


class Silent:
    """A reporter that keeps the record and takes no refusal."""

    record = None

    def planned(self, line: str, choice) -> None: ...
    def stepped(self, step: int, kind: str) -> None: ...
    def refused(self, reason: str) -> None:
        raise RuntimeError(reason)

    def finished(self, record) -> None:
        self.record = record


def captions(count: int, seed: int, held_out: bool) -> list[str]:
    """Different captions, of those that training saw or of those that it did not."""
    rng = np.random.default_rng(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        found[scenes.sample_scene(rng, held_out=held_out).caption] = None
    return list(found)


class Pictures:
    """Samples a fixed list of prompts, the i-th from the noise of ``first_seed + i``."""

    def __init__(self, prompts: list[str], first_seed: int) -> None:
        from golden_path_pack.demo import comfy_model

        self.model, self.vae = comfy_model.load_model(), comfy_model.DemoVAE()
        ids = torch.tensor([scenes.word_ids(text) for text in ("", *prompts)])
        with torch.no_grad():
            tokens, pooled = comfy_model.load_words()(ids)
        self.negative = [[tokens[:1], {"pooled_output": pooled[:1]}]]
        self.tokens, self.pooled = tokens[1:], pooled[1:]
        seeds = range(first_seed, first_seed + len(prompts))
        self.noise = torch.cat([_noise(seed) for seed in seeds])
        self.count = len(prompts)

    def sigmas(self, scheduler: str, steps: int) -> list[float]:
        """Noise levels of a scheduler of ComfyUI on the demo model."""
        import comfy.samplers

        sampling = self.model.get_model_object("model_sampling")
        return comfy.samplers.calculate_sigmas(sampling, scheduler, steps).tolist()

    def sample(self, scheduler: str, steps: int, schedule=None) -> Tensor:
        """``[B, 64, 64, 3]`` 8-bit values; without a schedule, of the model as it is."""
        model = self.model if schedule is None else self._cached(schedule)
        batches = range(0, self.count, BATCH)
        return torch.cat([self._batch(model, scheduler, steps, first) for first in batches])

    def _batch(self, model, scheduler: str, steps: int, first: int) -> Tensor:
        import comfy.sample

        some = slice(first, first + BATCH)
        noise, tokens, pooled = self.noise[some], self.tokens[some], self.pooled[some]
        positive = [[tokens, {"pooled_output": pooled}]]
        with torch.inference_mode():
            latent = comfy.sample.sample(
                model, noise, steps, CFG, SAMPLER, scheduler, positive, self.negative,
                torch.zeros_like(noise), disable_pbar=True, seed=0,
            )  # fmt: skip
            images = self.vae.decode(model.model.process_latent_out(latent))
        return (images.clamp(0, 1) * 255).round()

    def _cached(self, schedule):
        from golden_path_pack.gph_core.extrapolation import Reuse
        from golden_path_pack.gph_core.schedule import Schedule
        from golden_path_pack.nodes import patching

        own = Schedule.parse(str(schedule))  # of the pack's own module
        return patching.attach(self.model, patching.CachePlan("Custom", own, Reuse()), Silent())


def psnr(images: Tensor, reference: Tensor) -> np.ndarray:
    """dB ``[B]`` of 8-bit images."""
    error = (images - reference).double().square().mean((1, 2, 3))
    decibel = 10 * torch.log10(255**2 / error)
    return decibel.clamp(max=PSNR_OF_EQUAL).numpy()


def interval(values: np.ndarray) -> tuple[float, float]:
    """Mean, and half of its 95 % interval by Student's t."""
    from scipy.stats import t

    return values.mean(), t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / math.sqrt(
        len(values)
    )


def _noise(seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(1, *network.LATENT_SHAPE, generator=generator)
