"""Pictures of a lab's unseen prompts, compared with their full runs; measurements are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from comfy.samplers import sampler_object

from benchmarks.lab import demo
from benchmarks.lab.lab import Lab
from benchmarks.lab.memory import Memory


class Shot(NamedTuple):
    """One picture against that of the full run, dB of 8-bit values, and how it was made."""

    psnr: float
    ssim: float
    latent_mse: float
    schedule: str  # as it happened


@dataclass(frozen=True)
class Way:
    """A way of sampling.

    Args:
        name: of the row.
        key: tells ways apart; all that the result depends on besides lab and prompt.
        plan: what the pack's ``Sampling.under`` takes; None: plain steps.
        num_full: full steps, or plain ones.
        alone: it decides for a batch as a whole, so prompts are sampled one by one.
        sampler: another than the lab's; empty: that.
        schedule: where it is fixed.
    """

    name: str
    key: str
    plan: Any
    num_full: int
    alone: bool = False
    sampler: str = ""
    schedule: Any = None


class Shots:
    """The pictures of one lab."""

    def __init__(self, lab: Lab) -> None:
        self.lab, self._references, self._assessor = lab, {}, lab.assessor
        self._known = Memory(lab.memory / "shots.jsonl")

    def of(self, way: Way, numbers: Sequence[int]) -> list[Shot]:
        """Pictures of some prompts, in their order."""
        size = 1 if way.alone else demo.BATCH
        for first in range(0, len(numbers), size):
            some = numbers[first : first + size]
            if any(self._key(way, n) not in self._known for n in some):
                found = self._sampled(way, some).items()
                self._known.keep({self._key(way, number): shot for number, shot in found})
        return [Shot(*self._known[self._key(way, number)]) for number in numbers]

    def _key(self, way: Way, number: int) -> str:
        return f"{self.lab}: {way.key}: {number}"

    def _sampled(self, way: Way, numbers: Sequence[int]) -> dict[int, Shot]:
        sampling = self.lab.unseen.batch(numbers)
        assert sampling is not None
        if way.sampler:
            sampling = replace(sampling, sampler=sampler_object(way.sampler))
        with torch.inference_mode():
            if way.plan is None:
                sigmas = replace(self.lab, steps=way.num_full).sigmas
                latent, schedule = sampling.plain(sigmas), f"{way.num_full} plain"
            else:
                latent, record = sampling.under(way.plan)
                schedule = str(record.realized)
            result = self._assessor.result(latent)
            found = {}
            for place, number in enumerate(numbers):
                one = type(result)([result.latents[place]], [result.images[place]])
                (m,) = self._assessor.metrics(one, self._reference(number, numbers))
                psnr = min(m["psnr"], demo.PSNR_OF_EQUAL)
                values = (round(psnr, 4), round(m["ssim"], 6), round(m["latent_mse"], 8))
                found[number] = Shot(*values, schedule)
        return found

    def _reference(self, number: int, numbers: Sequence[int]):
        """Result of the full run, sampled alone or in a batch, which rounds differently."""
        key = number, len(numbers) > 1
        if key not in self._references:
            sampling = self.lab.unseen.batch(numbers)
            assert sampling is not None
            result = self._assessor.result(sampling.full())
            for place, other in enumerate(numbers):
                one = type(result)([result.latents[place]], [result.images[place]])
                self._references[other, len(numbers) > 1] = one
        return self._references[key]
