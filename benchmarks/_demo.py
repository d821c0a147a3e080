"""Pictures of the demo model through ComfyUI's sampling and this pack's cache, many at once."""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from benchmarks._subjects import IMAGE, SUBJECTS
from demo.comfyui import load_pack, use_comfyui

CFG = 5.0
SAMPLER = "euler"
ON_GPU = torch.cuda.is_available()
BATCH = 64 if ON_GPU else 8  # prompts at once: 8 are the fastest on one core
PSNR_OF_EQUAL = 100.0  # dB, where it would be infinite


def begin() -> None:
    """Load ComfyUI and the pack, on a GPU or else on one thread: more only wait for each other."""
    use_comfyui(device="cuda" if ON_GPU else "cpu")
    torch.set_num_threads(1)
    load_pack()


class Silent:
    """A reporter that keeps the record and takes no refusal."""

    record = None

    def planned(self, line: str, choice) -> None: ...
    def started(self, run) -> None: ...
    def stepped(self, step: int, kind: str) -> None: ...
    def refused(self, reason: str) -> None:
        raise RuntimeError(reason)

    def finished(self, record) -> None:
        self.record = record


def captions(count: int, seed: int, held_out: bool) -> list[str]:
    """Captions of the image model, see ``Subject``."""
    return SUBJECTS[IMAGE].captions(count, seed, held_out)


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
        seeds = range(first_seed, first_seed + len(prompts))
        shape = SUBJECTS[subject].latent_shape
        self.noise = torch.cat([_noise(shape, seed) for seed in seeds])
        self.count = len(prompts)

    def sigmas(self, scheduler: str, steps: int, how: How = HOW) -> list[float]:
        """Noise levels of a scheduler of ComfyUI on the demo model."""
        import comfy.samplers

        options, device = self.model.model_options, torch.device("cpu")
        return comfy.samplers.KSampler(
            self.model, steps, device, how.sampler, scheduler, how.denoise, options
        ).sigmas.tolist()

    def sample(
        self, scheduler: str, steps: int, schedule=None, policy=None, how: How = HOW
    ) -> Tensor:
        """8-bit values of ``images``; without a schedule, of the model as it is.

        The policy is the pack's, residual reuse without one.
        """
        return self.images(self._latents(scheduler, steps, schedule, policy, how))

    def images(self, latents: Tensor) -> Tensor:
        """``[B, 64, 64, 3]`` 8-bit values of latents, ``[B, 13, 64, 64, 3]`` of the video model."""
        with torch.inference_mode():
            images = self.vae.decode(self.model.model.process_latent_out(latents))
        return (images.clamp(0, 1) * 255).round()

    @cached_property
    def _others(self) -> Tensor:
        """Pictures to begin with: each prompt has that of the one before it."""
        return self._latents("simple", 20, None, None, HOW).roll(1, 0)

    def _latents(self, scheduler: str, steps: int, schedule, policy, how: How) -> Tensor:
        model = self.model if schedule is None else self._cached(schedule, policy)
        begin = torch.zeros_like(self.noise) if how.denoise == 1 else self._others
        batches = range(0, self.count, BATCH)
        return torch.cat([self._batch(model, scheduler, steps, n, begin, how) for n in batches])

    def _batch(
        self, model, scheduler: str, steps: int, first: int, begin: Tensor, how: How
    ) -> Tensor:
        import comfy.sample

        some = slice(first, first + BATCH)
        noise, tokens, pooled = self.noise[some], self.tokens[some], self.pooled[some]
        positive = [[tokens, {"pooled_output": pooled}]]
        with torch.inference_mode():
            return comfy.sample.sample(
                model, noise, steps, how.cfg, how.sampler, scheduler, positive, self.negative,
                begin[some], denoise=how.denoise, disable_pbar=True, seed=0,
            )  # fmt: skip

    def _cached(self, schedule, policy):
        from golden_path_pack.gph_core.policies.extrapolation import Reuse

        return cached(self.model, schedule, policy or Reuse())


def cached(model, schedule, policy, reporter=None):
    """A MODEL under a schedule and a policy."""
    from golden_path_pack.nodes.cache.plan import CachePlan
    from golden_path_pack.nodes.hook import patching

    plan = CachePlan("Custom", of_pack(schedule), policy)
    return patching.attach(model, plan, reporter or Silent())


def of_pack(schedule):
    """A schedule as the pack's own module has it."""
    from golden_path_pack.gph_core.schedule import Schedule

    return Schedule.parse(str(schedule))


def examples(prompts: list[str], first_seed: int, scheduler: str, steps: int, subject: str = IMAGE):
    """The pack's ``SampledExamples`` of some prompts, scored by PSNR, with residual reuse."""
    from golden_path_pack.gph_core.policies.extrapolation import Reuse
    from golden_path_pack.nodes.sample.assessing import assessor_for
    from golden_path_pack.nodes.sample.measuring import SampledExamples

    prepare = _prepare(prompts, first_seed, scheduler, steps, subject)
    assessor = assessor_for("PSNR", SUBJECTS[subject].parts()[1], "off")
    return SampledExamples(len(prompts), prepare, Reuse(), assessor, batch=BATCH)


def sampling(prompts: list[str], first_seed: int, scheduler: str, steps: int):
    """The pack's ``Sampling`` of some prompts as one batch."""
    return _prepare(prompts, first_seed, scheduler, steps)(range(len(prompts)))


def _prepare(prompts: list[str], first_seed: int, scheduler: str, steps: int, subject: str = IMAGE):
    from golden_path_pack.nodes.sample.examples import sampling_of

    return sampling_of(*parts(prompts, first_seed, scheduler, steps, CFG, subject=subject))


def parts(
    prompts: list[str], first_seed: int, scheduler: str, steps: int, cfg: float,
    sampler: str = SAMPLER, subject: str = IMAGE,
) -> tuple:  # fmt: skip
    """The pack's examples of some prompts, and guider, latent, sampler and noise levels."""
    import comfy.samplers
    from golden_path_pack.nodes.sample.examples import Example

    model, _, clip = SUBJECTS[subject].parts()
    away, *toward = (
        clip.encode_from_tokens_scheduled(clip.tokenize(text)) for text in ("", *prompts)
    )
    several = [
        Example(prompt, positive, away, first_seed + number)
        for number, (prompt, positive) in enumerate(zip(prompts, toward, strict=True))
    ]
    guider = comfy.samplers.CFGGuider(model)
    guider.set_cfg(cfg)
    guider.set_conds(toward[0], away)
    levels = model.get_model_object("model_sampling")
    return (
        several, guider, {"samples": torch.zeros(1, *SUBJECTS[subject].latent_shape)},
        comfy.samplers.sampler_object(sampler),
        comfy.samplers.calculate_sigmas(levels, scheduler, steps),
    )  # fmt: skip


def psnr(images: Tensor, reference: Tensor) -> np.ndarray:
    """dB ``[B]`` of 8-bit images, or of clips: the mean of their frames."""
    error = (images - reference).double().square().mean((-3, -2, -1))
    decibel = 10 * torch.log10(255**2 / error)
    return decibel.clamp(max=PSNR_OF_EQUAL).reshape(len(images), -1).mean(1).numpy()


def interval(values: np.ndarray) -> tuple[float, float]:
    """Mean, and half of its 95 % interval by Student's t."""
    from scipy.stats import t

    return values.mean(), t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / math.sqrt(
        len(values)
    )


def _noise(shape: tuple[int, ...], seed: int) -> Tensor:
    return torch.randn(1, *shape, generator=torch.Generator().manual_seed(seed))
