"""Full runs once more, seen through hooks and wrappers of their own, and computed on in NumPy."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field

import numpy as np
import torch
from comfy.patcher_extension import WrappersMP


@dataclass
class Run:
    """What one full run showed, a list entry for each step.

    ``signal``, ``before`` and ``after`` hold both prompts in one batch, ``velocity`` too.
    """

    latents: list = field(default_factory=list)  # of one prompt
    sigmas: list = field(default_factory=list)
    velocity: list = field(default_factory=list)
    guided: list = field(default_factory=list)
    signal: list = field(default_factory=list)  # that the first attention receives, or of time
    before: list = field(default_factory=list)  # tokens
    after: list = field(default_factory=list)
    calls: list = field(default_factory=list)  # other arguments
    positive: int = 0  # its place in the batch

    def at(self, base_model, latent, step, sigma):
        """The velocity of the positive prompt of a step's call at another latent and level."""
        (given, inputs), parts = self.calls[step], len(self.velocity[step])
        x = torch.cat([latent] * parts)
        t = torch.full((parts,), sigma)
        denoised = base_model._apply_model(x, t, *given, **inputs)
        return ((x - denoised) / sigma)[self.positive]


@contextlib.contextmanager
def recorded(model, is_wan):
    """Replaces the MODEL's own options for as long; yields the runs, which it fills."""
    runs = []
    transformer = model.model.diffusion_model

    def outer(executor, *args, **kwargs):
        runs.append(Run())
        return executor(*args, **kwargs)

    def guided(executor, x, timestep, *args, **kwargs):
        denoised = executor(x, timestep, *args, **kwargs)
        runs[-1].latents.append(x.clone())
        runs[-1].sigmas.append(float(timestep[0]))
        runs[-1].guided.append(((x - denoised) / timestep[0]).clone())
        return denoised

    def call(executor, x, t, *given, **inputs):
        denoised = executor(x, t, *given, **inputs)
        run = runs[-1]
        run.velocity.append(((x - denoised) / t[0]).clone())
        run.calls.append((given, inputs))
        run.positive = given[3]["cond_or_uncond"].index(0)
        return denoised

    def keep(name, take):
        return lambda _module, args, *result: getattr(runs[-1], name).append(take(args, *result))

    first = transformer.blocks[0] if is_wan else transformer.double_blocks[0]
    last = transformer.head if is_wan else transformer.final_layer
    if is_wan:
        time = transformer.time_projection
        hook = time.register_forward_hook(keep("signal", lambda _, result: result.clone()))
        hooks = [hook, first.register_forward_pre_hook(keep("before", lambda a: a[0].clone()))]
    else:
        attention = first.img_attn.qkv
        hook = attention.register_forward_pre_hook(keep("signal", lambda args: args[0].clone()))
        embed = transformer.img_in
        hooks = [
            hook,
            embed.register_forward_hook(keep("before", lambda _, result: result.clone())),
        ]
    hooks.append(last.register_forward_pre_hook(keep("after", lambda args: args[0].clone())))
    clone = model.clone()
    clone.add_wrapper(WrappersMP.OUTER_SAMPLE, outer)
    clone.add_wrapper(WrappersMP.PREDICT_NOISE, guided)
    clone.add_wrapper(WrappersMP.APPLY_MODEL, call)
    try:
        yield clone, runs
    finally:
        for hook in hooks:
            hook.remove()


def change(new, old):
    """mean|new - old| / mean|old|"""
    return (new - old).abs().mean().item() / old.abs().mean().item()


def array(tensor):
    return tensor.double().numpy()


def quantile(rows, share):
    """Linear between the two nearest of sorted rows, column by column."""
    rows = np.sort(np.array(rows), axis=0)
    place = share * (len(rows) - 1)
    low = int(place)
    high = min(low + 1, len(rows) - 1)
    return rows[low] + (place - low) * (rows[high] - rows[low])
