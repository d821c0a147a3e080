"""Runs of a tiny FLUX as ComfyUI's nodes make them, and what they promise."""

import comfy.samplers
import torch
from comfy.k_diffusion import sampling as k_diffusion
from comfy_extras import nodes_context_windows, nodes_custom_sampler
from golden_path_pack.gph_core.paths.spacings import noise_spacing
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.run_plan import by_speed
from golden_path_pack.nodes.hook import patching
from golden_path_pack.nodes.library import user_paths

import nodes

from . import tiny

BLOCKS = 5  # of the tiny FLUX; both prompts run in one batch
PROMPTS = tiny.conditioning(1), tiny.conditioning(2)
BETWEEN_STEPS = "evaluations between two steps were computed in full"
# Float32 in bytes. A feature of the stack: 16 tokens of 96 channels; of an output: the latent.
TOKENS, LATENT = 16 * 96 * 4, 16 * 8 * 8 * 4


def spaced(model, record, num_full):
    """Full steps by noise level, on what the sampler really had."""
    halfway = model.get_model_object("model_sampling").percent_to_sigma(0.5)
    return noise_spacing(record.sigmas, num_full, halfway, guided=True).full_steps


def advice(steps):
    """What a run of few steps is told."""
    if steps > 10:
        return ()
    if steps <= 3:
        counted = "1 step" if steps == 1 else f"{steps} steps"
        return (f"{counted}: too few to cache any, so all are computed in full",)
    return (
        f"of {steps} steps each cached one shows more than in a longer run; Golden Path Compare "
        "Run shows how much, and learn makes it less",
    )


def balanced(model, listener):
    return patching.attach(model, by_speed("Balanced", Reuse(), user_paths.every), listener)


def latent(batch=1, size=8, seed=None):
    """A LATENT, empty without a seed."""
    shape = (batch, 16, size, size)
    if seed is None:
        return {"samples": torch.zeros(shape)}
    return {"samples": torch.randn(shape, generator=torch.Generator().manual_seed(seed))}


@torch.inference_mode()
def ksampler(model, start=None, steps=8, scheduler="simple", denoise=1.0):
    """The LATENT that the node *KSampler* makes."""
    start = latent() if start is None else start
    return nodes.KSampler().sample(
        model, 1, steps, 3.0, "euler", scheduler, *PROMPTS, start, denoise
    )[0]


@torch.inference_mode()
def on_sigmas(guider, sigmas, start=None):
    """The LATENT that *SamplerCustomAdvanced* makes with Euler; ``start`` gets no noise."""
    if start is None:
        noise = nodes_custom_sampler.RandomNoise.execute(1)[0]
    else:
        noise = nodes_custom_sampler.DisableNoise.execute()[0]
    sampler = comfy.samplers.sampler_object("euler")
    return nodes_custom_sampler.SamplerCustomAdvanced.execute(
        noise, guider, sampler, sigmas, start or latent()
    )[0]


def guided(model, cfg=3.0):
    """The GUIDER of *CFGGuider*."""
    return nodes_custom_sampler.CFGGuider.execute(model, *PROMPTS, cfg)[0]


def windowed(model, schedule):
    """Windows of 5 latent frames, of which 2 overlap."""
    return nodes_context_windows.WanContextWindowsManualNode.execute(
        model, context_length=17, context_overlap=8, context_schedule=schedule, context_stride=1,
        closed_loop=False, fuse_method="pyramid", freenoise=False,
    )[0]  # fmt: skip


def grid(model, steps):
    return comfy.samplers.calculate_sigmas(
        model.get_model_object("model_sampling"), "simple", steps
    )


@torch.inference_mode()
def two_experts(high, low, steps, split, cfg=3.0, prompts=PROMPTS, start=None):
    """The tensor that two *KSamplerAdvanced* make in a row, as Wan 2.2 is used."""

    def sample(model, add_noise, latent, begin, end, leftover):
        return nodes.KSamplerAdvanced().sample(
            model, add_noise, 1, steps, cfg, "euler", "simple", *prompts, latent, begin, end,
            leftover,
        )[0]  # fmt: skip

    half = sample(high, "enable", start or latent(), 0, split, "enable")
    return sample(low, "disable", half, split, 10_000, "disable")["samples"]


def in_parts(models, sigmas, split, cfg=3.0):
    """The same with *SplitSigmas* and two *SamplerCustomAdvanced*."""
    parts = nodes_custom_sampler.SplitSigmas.execute(sigmas, split)
    half = on_sigmas(guided(models[0], cfg), parts[0])
    return on_sigmas(guided(models[1], cfg), parts[1], half)["samples"]


def lying(inner=k_diffusion.sample_euler, below=9.0, reports=True):
    """Sampler that halves the noise levels below one, as wrappers for more detail do.

    So far off are they that the nearest step is another one.
    """

    def sample(model, x, sigmas, extra_args=None, callback=None, disable=None):
        def call(x, sigma, **kwargs):
            return model(x, sigma * (0.5 if float(sigma[0]) < below else 1.0), **kwargs)

        call.inner_model = model.inner_model
        return inner(call, x, sigmas, extra_args, callback if reports else None, disable)

    return comfy.samplers.KSAMPLER(sample)
