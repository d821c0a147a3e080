"""The cache once more, made by hooks on a tiny FLUX: an independent engine to compare with.

All blocks run at every step. On a cached call the final layer is handed something else than what
they made: the tokens of this call plus what the blocks added at earlier full steps. What is full is
stated evaluation by evaluation, and a branch is known by what the model is called with, not by
ComfyUI's labels.
"""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from typing import NamedTuple

import torch
from comfy.patcher_extension import WrappersMP

from . import tiny


class Anchor(NamedTuple):
    """What the blocks of one full call made of one batch item."""

    step: int
    probe: torch.Tensor  # what the first block added
    residual: torch.Tensor  # what all of them added


def reuse(probe, newest, older):
    return newest.residual


def two_anchor(probe, newest, older):
    moved, span = (probe - older.probe).abs().mean(), (newest.probe - older.probe).abs().mean()
    gamma = (moved / span).nan_to_num(1).clamp(1, 1.5)  # 0 / 0: all probes are the same
    return older.residual + gamma * (newest.residual - older.residual)


class _Engine:
    def __init__(self, steps, full, rule):
        self._steps, self._full, self._rule = list(steps), full, rule
        self._anchors = defaultdict(list)
        self._evaluation = -1

    def evaluate(self, executor, *args, **kwargs):
        self._evaluation += 1
        self._seen = Counter()
        return executor(*args, **kwargs)

    def begin(self, transformer, args, kwargs):
        """Name the batch items of a call: size, prompt and patches, and which of the same."""
        patches = kwargs["transformer_options"].get("patches", {}).keys()
        replaced = kwargs["transformer_options"].get("patches_replace", {})
        marks = sorted([*patches, *(str((k, sorted(v, key=str))) for k, v in replaced.items())])
        self._branches = []
        for prompt in kwargs["context"]:
            name = (id(transformer), args[0].shape[1:], prompt.numpy().tobytes(), *marks)
            self._branches.append((*name, self._seen[name]))
            self._seen[name] += 1

    def embedded(self, module, args, tokens):
        self._before = self._after_first = tokens.clone()

    def first_block(self, module, args, output):
        self._after_first = output[0].clone()

    def final_layer(self, module, args):
        """Remember what the blocks made, or hand on what the rule makes of what is remembered."""
        step = self._steps[self._evaluation]
        probes = self._after_first - self._before
        known = [
            [a for a in self._anchors[branch] if step is not None and a.step < step]
            for branch in self._branches
        ]
        if step is None or step in self._full or not all(known):
            if step is not None:
                for i, branch in enumerate(self._branches):
                    anchor = Anchor(step, probes[i], args[0][i] - self._before[i])
                    self._anchors[branch] = [*known[i], anchor]
            return args
        residuals = [
            self._rule(probe, anchors[-1], anchors[-2:][0])
            for probe, anchors in zip(probes, known, strict=True)
        ]
        return (self._before + torch.stack(residuals), *args[1:])


@contextlib.contextmanager
def cached(model, steps, full, rule=reuse, others=()):
    """A clone that samples under a cache of these hooks.

    Args:
        steps: the step of each evaluation of the model, None between two steps.
        full: the steps that are computed in full.
        others: more models that take part.
    """
    engine = _Engine(steps, full, rule)
    clone = model.clone()
    clone.add_wrapper(WrappersMP.PREDICT_NOISE, engine.evaluate)
    hooks = []
    for patcher in (model, *others):
        flux = patcher.model.diffusion_model
        hooks += [
            flux.register_forward_pre_hook(engine.begin, with_kwargs=True),
            flux.img_in.register_forward_hook(engine.embedded),
            flux.double_blocks[0].register_forward_hook(engine.first_block),
            flux.final_layer.register_forward_pre_hook(engine.final_layer),
        ]
    try:
        yield clone
    finally:
        for hook in hooks:
            hook.remove()


def cached_guidance(model, steps, full):
    """A clone that repeats the velocity after guidance of the newest full step."""
    steps, newest = iter(steps), {}

    def evaluate(executor, x, timestep, *args, **kwargs):
        step = next(steps)
        if step is not None and step not in full:
            return x - timestep * newest[max(n for n in newest if n < step)]
        denoised = executor(x, timestep, *args, **kwargs)
        if step is not None:
            newest[step] = (x - denoised) / timestep
        return denoised

    clone = model.clone()
    clone.add_wrapper(WrappersMP.PREDICT_NOISE, evaluate)
    return clone


@contextlib.contextmanager
def counted(model, others=()):
    """A clone, and how many blocks run in each evaluation of the model."""
    counts = []

    def evaluate(executor, *args, **kwargs):
        counts.append(0)
        return executor(*args, **kwargs)

    def count(module, args):
        counts[-1] += 1

    clone = model.clone()
    clone.add_wrapper(WrappersMP.PREDICT_NOISE, evaluate)
    hooks = [
        module.register_forward_pre_hook(count)
        for patcher in (model, *others)
        for module in patcher.model.diffusion_model.modules()
        if isinstance(module, tiny.BLOCKS)
    ]
    try:
        yield clone, counts
    finally:
        for hook in hooks:
            hook.remove()
