"""Branch keys: which part of a model call belongs to which conditioning."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any

import torch

from ...gph_core.run.variants import Marks, Variants, mark
from . import controlnet

TILES = "caching stopped because the image is sampled in tiles, which may move between steps"
_ELSEWHERE = frozenset(  # in other parts of a key, or the same throughout a run
    ("callbacks", "cond_or_uncond", "context_window", "sample_sigmas", "sigmas", "uuids",
     "wrappers")
)  # fmt: skip
_PATCHES = ("patches", "patches_replace")  # nested by name; each entry has its own mark
TWICE = (
    "caching stopped because the model is asked for the same prompt more than once in a step, and "
    "nothing tells these calls apart"
)


class Branches:
    """Branches of one run; equal keys mean the same tokens under the same conditions.

    A uuid alone is not enough: positive and negative area prompts can share one, and some guidance
    methods call the model again with other patches or options. A control, a weight hook or an
    option that changes makes another branch, which is computed in full first.
    """

    def __init__(self, stop: Callable[[str], None]) -> None:
        self._stop = stop
        self._seen: Counter[Hashable] = Counter()
        self._variants = Variants()
        self._latents: tuple[int, ...] | None = None  # shape of the sampler's latents
        self._conditions: dict[Hashable, tuple] = {}

    def begin_evaluation(self) -> None:
        """Begin a new evaluation, in which every branch may occur once."""
        self._seen.clear()
        self._variants.begin_evaluation()

    def note_cached(self) -> None:
        """Note that this evaluation is predicted."""
        self._variants.note_cached()

    def note_conditions(self, conds: list, sigma: float, x, options: Mapping[str, Any]) -> None:
        """Remember what the conditionings of this evaluation depend on besides their uuid.

        Args:
            x: the sampler's latents.
            options: the transformer options.
        """
        self._latents = tuple(x.shape)
        for index, group in enumerate(conds):
            for cond in group or ():
                self._conditions[index, cond.get("uuid")] = acting(cond, sigma, options)

    def keys(
        self, model, x, options: dict, inputs: Iterable[str] = (), sigma: float = math.nan
    ) -> list[Hashable]:
        """One key per slice of the batch; no keys if the call does not say what its batch holds.

        Args:
            model: the called model; guiders with two models call both in one run.
            x: the latents of the call.
            options: its transformer options.
            inputs: names of further inputs; some guidance methods repeat a call without one.
            sigma: noise level of the call.
        """
        uuids = options.get("uuids") or []
        indices = options.get("cond_or_uncond") or []
        if len(uuids) != len(indices) or not uuids or x.shape[0] % len(uuids):
            return []
        batch = x.shape[0] // len(uuids)
        if self._latents and self._latents[0] != batch:  # all tiles in one call
            self._stop(self._reason(x))
            return []
        window = getattr(options.get("context_window"), "index_list", None)
        common = (
            id(model),
            tuple(window) if window is not None else None,
            tuple(x.shape[1:]),
            batch,
            tuple(sorted(inputs)),
        )
        option_marks = marks(options)
        branches: list[Hashable] = []
        for index, uuid in zip(indices, uuids, strict=True):
            place = (*common, index, uuid, self._conditions.get((index, uuid)))
            branches.append((*place, self._variants.number(place, option_marks, sigma)))
        self._seen.update(branches)
        if any(self._seen[branch] > 1 for branch in branches):
            self._stop(self._reason(x))
        return branches

    def _reason(self, x) -> str:
        """Reason why the calls of an evaluation cannot be told apart."""
        is_part = self._latents is not None and tuple(x.shape[2:]) != self._latents[2:]
        return TILES if is_part else TWICE


class SecondPrompt:
    """Velocity of the second prompt in an evaluation, which is the negative one of two.

    It is taken where the guider asks for all prompts at once, for the whole latent. A guider that
    has one prompt, or asks for each on its own, has none.

    Args:
        shape: of the latent.
        sigma: noise level of the evaluation.
    """

    def __init__(self, shape: torch.Size, sigma: float) -> None:
        self.velocity: torch.Tensor | None = None
        self._shape, self._sigma = shape, sigma

    def calc_cond_batch(self, executor, model, conds, x_in, timestep, model_options):
        """The wrapper ``CALC_COND_BATCH``; a later call in the same evaluation changes nothing."""
        denoised = executor(model, conds, x_in, timestep, model_options)
        second = conds[1] if len(conds) > 1 else None
        is_there = any(_acts(cond, self._sigma) for cond in second or ())
        # A context window is a part of the latent.
        if self.velocity is None and is_there and x_in.shape == self._shape:
            self.velocity = (x_in - denoised[1]) / self._sigma
        return denoised


def guided(conds: dict, sigma: float, options: Mapping[str, Any]) -> Hashable:
    """Sources of the guided result at a noise level: the prompts, and what acts on each."""
    return tuple(
        (name, cond.get("uuid"), acting(cond, sigma, options))
        for name, group in sorted(conds.items())
        for cond in group or ()
        if _acts(cond, sigma)
    )


def _acts(cond: Mapping[str, Any], sigma: float) -> bool:
    """Whether a conditioning acts at a noise level."""
    return cond.get("timestep_end", sigma) <= sigma <= cond.get("timestep_start", sigma)


def acting(cond: Mapping[str, Any], sigma: float, options: Mapping[str, Any]) -> tuple:
    """What acts on a conditioning at a noise level: its controls, and its hooks with strengths."""
    control, hooks = cond.get("control"), getattr(cond.get("hooks"), "hooks", ())
    strengths = tuple((id(hook), _strength(hook, sigma, options)) for hook in hooks)
    return control and controlnet.active(control, sigma), strengths


def _strength(hook, sigma: float, options: Mapping[str, Any]) -> float | None:
    """Strength of a hook at a noise level, which ComfyUI sets only when it calls the model."""
    keyframes = getattr(hook, "hook_keyframe", None)
    if keyframes is None or "sample_sigmas" not in options:
        return getattr(hook, "strength", None)
    then = copy.copy(keyframes)  # preparing the original would count a step
    then.prepare_current_keyframe(torch.tensor(sigma), options)
    return then.strength


def marks(options: Mapping[str, Any]) -> Marks:
    """Marks of a call's options, by their names."""
    return {name: mark(value) for name, value in _named(options)}


def _named(options: Mapping[Any, Any]) -> Iterator[tuple[Hashable, Any]]:
    for name, value in options.items():
        if name == "transformer_options":
            yield from _named(value)
        elif name in _PATCHES:
            yield from _flat(value, (name,))
        elif name not in _ELSEWHERE:
            yield name, value


def _flat(values: Any, names: tuple) -> Iterator[tuple[tuple, Any]]:
    """Values of nested dicts, by the names that lead to them."""
    if isinstance(values, dict):
        for name, value in values.items():
            yield from _flat(value, (*names, name))
    else:
        yield names, values
