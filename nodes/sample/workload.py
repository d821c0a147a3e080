"""Workload of calibrations and comparisons: examples, sampled one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import comfy.utils
from torch import Tensor

from ...gph_core.paths.choice import Choice, Conditions
from ...gph_core.policies.base import Policy
from ...gph_core.texts import counted
from ..hook import compatibility, conditions, fingerprint, starting
from .examples import Example, sampling_of
from .sampling import Sampling, samples_of


@dataclass(frozen=True)
class Workload:
    """Examples of one model under one setting.

    A method decides for a batch as a whole, so each example is sampled alone.

    Args:
        guider: from ``search_session.guider_for``; its prompts are replaced by the examples'.
        examples: of equal ones the first is kept.
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
        # Once: a name is a fingerprint of whole conditionings.
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

    @property
    def notes(self) -> list[str]:
        """Notes on the examples."""
        repeated = counted(self.num_repeated, "repeated example")
        return [f"{repeated} left out: equal ones count once"] if self.num_repeated else []

    def sampling(self, number: int) -> Sampling:
        """Sampling of one example."""
        prepare = sampling_of(self.examples, self.guider, self.latent, self.sampler, self.sigmas)
        found = prepare([number])
        assert found is not None
        return found

    def names(self) -> list[str]:
        """Identifiers of the examples in a calibration, short and equal in every session."""
        return list(self._names)

    def conditions(self) -> dict[str, Any]:
        """Conditions of a calibration on these examples."""
        return conditions.conditions_of(
            self.guider, self.sampler, self.sigmas.tolist(), self._latent_shape
        )

    def choice_of(self, plan: starting.RunPlan) -> Choice:
        """Schedule that a plan gives each run."""
        levels = self.sigmas.tolist()
        return starting.choice_of(plan, self.guider, self.sampler, levels, holds=self._holds)

    @property
    def _holds(self) -> Callable[[Policy], bool]:
        levels = self.sigmas.tolist()
        return starting.holds_for(self.guider, self.sampler, levels, self._latent_shape)

    @property
    def _latent_shape(self) -> Sequence[int]:
        samples = samples_of(self.guider.model_patcher, self.latent)
        if samples.is_nested:  # sampled as one
            samples, _ = comfy.utils.pack_latents(samples.unbind())
        return samples.shape

    def run_conditions(self, policy: Policy) -> Conditions:
        """Known conditions of each run before it starts."""
        run = starting.conditions_of(self.guider, self.sigmas.tolist(), policy)
        return replace(run, holds=self._holds)
