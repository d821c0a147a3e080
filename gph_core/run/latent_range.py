"""Whether the latents of a run stay finite, and in the range that its full steps give them.

The root mean square (RMS) of the latents at each evaluation stays on their device: that before it
in the scale of the model's input, in which noise and images are about as large, and that of the
denoised latents after it. All are read after the run, as reading waits for the device.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

# In units of the largest RMS of the full steps so far. Good images stay below 2.4, fitted weights
# times 3 begin at 4.7; see docs/decisions/hook.md.
MOST = 4.0
ALREADY_BEFORE = (
    "the latents were not finite before the first step, so the cache did not cause it; look at "
    "where the sampler's latent comes from"
)
_SLOWER = "let more steps be full, or choose another path or policy"

# Step of an evaluation, if it is known, and whether it was cached.
Kind = tuple[int | None, bool]


class _Seen(NamedTuple):
    """RMS at one evaluation, ``[B, P]`` each: items of the batch, parts of the latents."""

    evaluation: int | None
    before: Tensor
    after: Tensor


class LatentRange:
    """Latents of one run, evaluation by evaluation.

    Args:
        sizes: coordinates of each part of packed latents, such as video and sound; none: there is
            one part.
    """

    def __init__(self, sizes: Sequence[int] = ()) -> None:
        self._sizes = [size for size in sizes if size]  # a video may have no sound
        self._seen: list[_Seen] = []

    def rms(self, latents: Tensor) -> Tensor:
        """RMS ``[B, P]`` of the items of a batch and the parts of each, on their device."""
        whole = latents.detach()
        is_packed = len(self._sizes) > 1 and whole.shape[-1] == sum(self._sizes)
        parts = whole.split(self._sizes, -1) if is_packed else (whole,)
        dtype = torch.promote_types(whole.dtype, torch.float32)
        return torch.stack([
            torch.linalg.vector_norm(part, dim=tuple(range(1, part.ndim)), dtype=dtype)
            / math.sqrt(part[0].numel())
            for part in parts
        ], dim=1)  # fmt: skip

    def evaluated(self, evaluation: int | None, before: Tensor, after: Tensor) -> None:
        """Note the ``rms`` before an evaluation, in the model input's scale, and after it."""
        self._seen.append(_Seen(evaluation, before, after))

    def fault(self, kinds: dict[int | None, Kind], result: Tensor) -> str:
        """What is wrong with the latents, where it began, and what to do; empty if nothing is.

        Args:
            kinds: those of the evaluations, by number.
            result: the latents at the end.
        """
        largest: list[float] = []  # RMS at the full steps so far, of each item and part
        kind: Kind = None, False
        has_cached = False
        for number, (evaluation, before, after) in enumerate(self._read()):
            if not _are_finite(before):  # which the sampler made of the evaluation before
                return _not_finite(kind, has_cached) if number else ALREADY_BEFORE
            kind = kinds.get(evaluation, (None, False))
            has_cached |= kind[1]
            if not _are_finite(after):
                return _not_finite(kind, has_cached)
            now = [max(pair) for pair in zip(before, after, strict=True)]
            if has_cached and (ratio := _largest_ratio(now, largest)) > MOST:
                return _too_large(kind, ratio)
            if not kind[1]:
                largest = [max(pair) for pair in zip(now, largest or now, strict=True)]
        if result.isfinite().all():
            return ""
        if not self._seen:  # the sampler does not ask the guider
            kind = next(reversed(kinds.values()), kind)
            has_cached = any(is_cached for _, is_cached in kinds.values())
        return _not_finite(kind, has_cached)

    def _read(self) -> Iterator[tuple[int | None, list[float], list[float]]]:
        """Evaluations with the numbers of all items and parts, in order."""
        if not self._seen:
            return
        sizes = {seen.after.numel() for seen in self._seen}
        if len(sizes) > 1:  # the sampler changes the batch on the way: the largest of it
            self._seen = [
                _Seen(number, before.amax().view(1), after.amax().view(1))
                for number, before, after in self._seen
            ]
        numbers = torch.stack([
            torch.stack((seen.before, seen.after)).flatten(1) for seen in self._seen
        ]).tolist()  # fmt: skip
        for seen, (before, after) in zip(self._seen, numbers, strict=True):
            yield seen.evaluation, before, after


def _are_finite(numbers: Sequence[float]) -> bool:
    return all(map(math.isfinite, numbers))


def _largest_ratio(now: Sequence[float], largest: Sequence[float]) -> float:
    pairs = zip(now, largest, strict=True) if largest else ()
    return max((a / b for a, b in pairs if b > 0), default=0.0)


def _not_finite(kind: Kind, has_cached: bool) -> str:
    found = f"the latents are not finite from {_place(kind, has_cached)} on"
    if not has_cached:
        return (
            f"{found}, so the cache did not cause it; let the model compute in another precision, "
            "such as bf16 or fp32"
        )
    if kind[1]:
        return f"{found}; {_SLOWER}"
    return f"{found}; sample without the cache: if the result is finite then, {_SLOWER}"


def _too_large(kind: Kind, ratio: float) -> str:
    return (
        f"the latents left their range at {_place(kind, True)}: they were {ratio:.0f} times as "
        f"large as at any full step before, so the result is likely broken; {_SLOWER}"
    )


def _place(kind: Kind, has_cached: bool) -> str:
    step, is_cached = kind
    how = "cached" if is_cached else "full after cached ones" if has_cached else "full"
    return f"a {how} evaluation" if step is None else f"step {step} ({how})"
