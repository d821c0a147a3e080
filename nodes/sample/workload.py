"""What is sampled: examples of one model under one setting."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import comfy.sample
import comfy.samplers
import comfy.utils
import torch
from torch import Tensor

from ...gph_core.paths.speeds import full_of
from ...gph_core.policies.extrapolation import Reuse
from ...gph_core.texts import counted
from ..hook import compatibility, fingerprint, patching
from ..hook.setup import SamplingSetup
from .batching import merged
from .examples import Example
from .sampling import Sampling, samples_of


@dataclass(frozen=True)
class Workload:
    """Examples of one model under one setting, checked.

    Args:
        guider: from ``guider_for``; its prompts are replaced by the examples'.
        examples: equal ones are kept once.
        latent: a LATENT of one image.
    """

    guider: Any
    examples: Sequence[Example]
    latent: Mapping[str, Any]
    sampler: Any
    sigmas: Tensor
    num_repeated: int = field(init=False)
    _names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        compatibility.refuse_other_caches(self.guider.model_patcher)
        batch = self.latent["samples"].shape[0]
        if batch != 1:
            raise ValueError(f"the latent holds {batch} images; set its batch size to 1")
        if len(self.sigmas) < 3:
            raise ValueError("there are fewer than two steps to sample; use more sigmas")
        guided = getattr(self.guider, "cfg", 1.0) != 1.0
        bare = [example for example in self.examples if example.negative is None]
        if guided and bare and "negative" not in self.guider.original_conds:
            raise ValueError(
                f"CFG {self.guider.cfg:g} needs a negative conditioning, which {len(bare)} of "
                "the examples lack: set one in Scoring Examples, or set cfg to 1"
            )
        # Computed once: a name is a fingerprint of whole conditionings.
        of = fingerprint.of_conditionings
        different = {f"{e.seed} {of(e.prompt, e.positive, e.negative)}": e for e in self.examples}
        object.__setattr__(self, "num_repeated", len(self.examples) - len(different))
        object.__setattr__(self, "examples", tuple(different.values()))
        object.__setattr__(self, "_names", tuple(different))

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def num_steps(self) -> int:
        return len(self.sigmas) - 1

    def full_of(self, speed: str | int) -> int:
        """Number of full steps at a speed, or the number itself."""
        if isinstance(speed, int):
            return speed
        return full_of(speed, self.num_steps, self.setup.known(Reuse()).whole_steps)

    @property
    def notes(self) -> list[str]:
        """Notes on the examples."""
        repeated = counted(self.num_repeated, "repeated example")
        return [f"{repeated} left out: equal ones count once"] if self.num_repeated else []

    def sampling(self, number: int) -> Sampling:
        """Sampling of one example."""
        alone = self.batch([number])
        assert alone is not None
        return alone

    def batch(self, numbers: Sequence[int]) -> Sampling | None:
        """Sampling of some examples at once; None if they cannot be one batch."""
        chosen, samples = [self.examples[number] for number in numbers], self.samples
        positive = merged([example.positive for example in chosen])
        given = [example.negative for example in chosen if example.negative is not None]
        negative = merged(given) if given else None
        several = len(chosen) > 1
        if positive is None or len(given) not in (0, len(chosen)) or (given and negative is None):
            return None
        if several and (samples.is_nested or "noise_mask" in self.latent):
            return None
        noise = [comfy.sample.prepare_noise(samples, example.seed) for example in chosen]
        return Sampling(
            guider=_with(self.guider, positive, negative),
            noise=torch.cat(cast(list[Tensor], noise)) if several else noise[0],
            latent=samples.repeat(len(chosen), *[1] * (samples.ndim - 1)) if several else samples,
            sampler=self.sampler,
            sigmas=self.sigmas,
            seed=chosen[0].seed,
            name=tuple(numbers),
            mask=self.latent.get("noise_mask"),
            prompts=tuple(example.prompt for example in chosen),
        )

    @cached_property
    def samples(self) -> Any:
        """Latents in the form that the model samples: an empty one may have other channels."""
        return samples_of(self.guider.model_patcher, self.latent)

    def names(self) -> list[str]:
        """Identifiers of the examples, short and the same in every session."""
        return list(self._names)

    @property
    def setup(self) -> SamplingSetup:
        """What all runs have in common."""
        return self._setup

    @cached_property
    def _setup(self) -> SamplingSetup:
        samples = self.samples
        if samples.is_nested:  # sampled as one
            samples, _ = comfy.utils.pack_latents(samples.unbind())
        return SamplingSetup(self.guider, self.sampler, self.sigmas.tolist(), samples.shape)

    @property
    def run_conditions(self) -> dict[str, Any]:
        """Conditions of the latents of full runs, except for the examples themselves."""
        return self._run_conditions

    @cached_property
    def _run_conditions(self) -> dict[str, Any]:
        own = all(example.negative is not None for example in self.examples)
        replaced = {"positive", "negative"} if own else {"positive"}
        return fingerprint.of_sampling(
            self.guider,
            {**self.latent, "samples": self.samples},
            self.sampler,
            self.sigmas,
            replaced,
        )


def _with(guider, positive: list, negative: list | None):
    """Copy of the guider with other conditionings."""
    changed = copy.copy(guider)
    changed.original_conds = dict(guider.original_conds)
    conds = {"positive": positive} | ({} if negative is None else {"negative": negative})
    changed.inner_set_conds(conds)
    return changed


def guider_for(model, guider, cfg: float, example: Example):
    """The given guider, or else a CFG guider for the model without its cache."""
    if guider is None:
        guider = comfy.samplers.CFGGuider(patching.without_cache(model))
        guider.set_cfg(cfg)
        conds = {"positive": example.positive}
        if example.negative is not None or cfg == 1:
            conds["negative"] = example.negative or example.positive  # not evaluated at CFG 1
        guider.inner_set_conds(conds)
    return guider
