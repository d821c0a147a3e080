"""One call of the model, as ComfyUI makes it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ...gph_core.gates.base import GateInput
from ...gph_core.model import signals
from ...gph_core.model.family import Family
from ...gph_core.model.replacements import Looked
from ...gph_core.model.surgery import Surgery
from .controlnet import Pending


@dataclass(frozen=True)
class ModelCall:
    """A batch of one or several branches.

    Args:
        execute: ComfyUI's function, whose arguments follow.
        x: ``[B, C, ...]`` latents of all branches.
        t: ``[B]`` their noise level.
        given: other positional arguments: ``c_concat`` and ``c_crossattn``.
        control: evaluated or pending.
        options: the transformer options.
        inputs: further conditions by name.
    """

    base_model: Any
    execute: Callable
    x: Tensor
    t: Tensor
    given: tuple[Any, Any]
    control: Any
    options: dict
    inputs: dict
    branches: Sequence[Hashable]

    @property
    def transformer(self) -> Any:
        return uncompiled(self.base_model.diffusion_model)

    @property
    def positive(self) -> int:
        """Index of the first positive prompt; 0 if there is none."""
        kinds = self.options.get("cond_or_uncond") or []
        return kinds.index(0) if 0 in kinds else 0

    def denoised(
        self, options: dict | None = None, *, is_cached: bool = False,
        x: Tensor | None = None, sigma: float | None = None,
    ) -> Tensor:  # fmt: skip
        """Denoised latents, with other options, latents or noise level if given.

        Args:
            is_cached: the control's effect is in the prediction, so it need not run.
        """
        control = None if is_cached else self.control
        if isinstance(control, Pending):
            control = control.evaluate()
        return self.execute(
            self.x if x is None else x,
            self.t if sigma is None else torch.full_like(self.t, sigma),
            *self.given, control, options or self.options, **self.inputs,
        )  # fmt: skip

    def part(self, batch: Tensor, place: int) -> Tensor:
        """Part of a tensor that belongs to one branch."""
        return batch.chunk(len(self.branches))[place]

    def gate_input(
        self, step: int, sigma: float, place: int, looked: Looked, family: Family | None
    ) -> GateInput:
        """Gate input of a branch."""
        whole = [self._of_branch(tokens, place) for tokens in looked]
        latent = self.part(self.x, place).clone()
        if family is None or whole[0] is None:
            return GateInput(step, sigma, latent)
        grid = signals.token_grid(self.transformer, self.x.shape, family.signal)

        def main(tokens: Tensor | None) -> Tensor | None:
            if tokens is None:
                return None
            return signals.main_tokens(tokens, grid, family, self.transformer, self.inputs)

        is_known = main(whole[0]) is not None  # which tokens are the image's own
        tokens, modulated, probe = map(_alone, map(main, whole) if is_known else whole)
        return GateInput(step, sigma, latent, modulated, tokens, probe, grid if is_known else ())

    def _of_branch(self, tokens: Tensor | None, place: int) -> Tensor | None:
        """Tokens of a branch, ``[B, T, C]``."""
        if tokens is None:
            return None
        if tokens.ndim == 2:  # packed: one sample
            return tokens[None] if len(self.branches) == 1 else None
        return self.part(tokens, place).flatten(1, -2)


def _alone(tokens: Tensor | None) -> Tensor | None:
    """Tokens, copied if they would keep more memory alive: other branches, reference images."""
    if tokens is None:
        return None
    own = tokens.numel() * tokens.element_size()
    return tokens if tokens.untyped_storage().nbytes() == own else tokens.clone()


def observing_first_block(options: dict, surgery: Surgery) -> dict:
    """Options that show us the tokens of another extension's replacement of the first block.

    The replacement may change the tokens before it calls the block, or not call it at all.
    """
    replacements = options.get("patches_replace", {})
    key = surgery.family.first_block_key
    replacement = replacements.get("dit", {}).get(key)
    if replacement is None:
        return options

    def observed(args, extra):
        surgery.note_input(args["img"])
        result = replacement(args, extra)
        surgery.note_output(result["img"])
        return result

    blocks = replacements["dit"] | {key: observed}
    return options | {"patches_replace": replacements | {"dit": blocks}}


def without_patches(options: dict, family: Family) -> dict:
    """Options for a call in which a module of ours stands in for a block.

    Nothing may replace or patch that module; a replacement of the first block stays.
    """
    replacements = options.get("patches_replace", {})
    first = {k: v for k, v in replacements.get("dit", {}).items() if k == family.first_block_key}
    patches = {k: v for k, v in options.get("patches", {}).items() if k != "double_block"}
    return options | {"patches": patches, "patches_replace": replacements | {"dit": first}}


def reset_unfinished(options: dict) -> None:
    """Reset patches that rely on all blocks running.

    ComfyUI's Z-Image control begins in the refiner and ends in the last block, which did not run.
    """
    for group in options.get("patches", {}).values():
        for patch in group:
            if getattr(patch, "temp_data", None) is not None:
                patch.temp_data = None


def uncompiled(module):
    """The module behind a compiled one; any other module itself."""
    return getattr(module, "_orig_mod", module)
