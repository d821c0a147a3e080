"""SenCache's tables: how fast the velocity changes with the latent, and with time.

At step i of a full run with the neighbor r, two extra evaluations give

    Jx(i) = |f(z_r, t_i) - f(z_i, t_i)| / |z_r - z_i|
    Jt(i) = |f(z_i, t_r) - f(z_i, t_i)| / |t_r - t_i|

with Euclidean norms. Times are noise levels in [0, 1]. Jt grows with the size of the latent, so
``jt`` = Jt / sqrt(numel) is kept: with it the rule predicts the RMS change of the velocity, and
needs no constant of the latent's size.

Source: SenCache, arXiv 2602.24208, aggregated as the GPH paper does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..texts import counted
from .samples import Measured, Observed, Sample, Tensors, whole

QUANTILE = 0.9
TINY = 1e-8  # a displacement below it tells nothing of a slope


class Sensitivity(NamedTuple):
    """The slopes of one example at one step."""

    sigma: float
    jx: float
    jt: float  # per sqrt(numel)


class Slopes(Sample):
    """Slopes between consecutive steps, of the leader branch.

    Both evaluations of a pair of steps are made at the second one, with its prompt. The last step's
    neighbor is the one before, so its slopes take those of that pair.
    """

    def __init__(self, num_steps: int) -> None:
        self._num_steps = num_steps
        self._slopes: list[Sensitivity] = []
        self._before: tuple[Tensor, float, Tensor] | None = None

    def branch(self, observed: Observed) -> None:
        if observed.branch != 0:
            return
        at_step, velocity = observed.gate_input, observed.velocity
        latent, sigma = at_step.latent, at_step.sigma
        assert latent is not None
        if self._before is not None:
            z, level, v = self._before
            there, then = observed.again(latent, level), observed.again(z, sigma)
            pair = sensitivity(v, there, then, (z, latent), (level, sigma))
            turned = sensitivity(velocity, then, there, (latent, z), (sigma, level))
            # The newest is that of the run's last step, unless another follows.
            self._slopes[-1:] = [pair, turned]
        self._before = latent, sigma, velocity

    def tensors(self, last: Tensor) -> dict[str, Tensor]:
        (slopes,) = whole({0: self._slopes}, self._num_steps, "SenCache", "the positive prompt")
        return sample_of(slopes)


def sensitivity(
    velocity: Tensor, moved_latent: Tensor, moved_time: Tensor,
    latents: tuple[Tensor, Tensor], sigmas: tuple[float, float],
) -> Sensitivity:  # fmt: skip
    """The slopes at one step, in float32.

    All tensors belong to one example and its conditional branch, and have one shape; latents come
    without the channels that only condition the model, which do not move.

    Where the neighbor's latent or time is the same (below 1e-8), as with samplers that visit a
    noise level twice, the slope is 0, as in the source: the rule then sees the other term alone.

    Args:
        velocity: f(z_i, t_i).
        moved_latent: f(z_r, t_i).
        moved_time: f(z_i, t_r).
        latents: z_i and z_r.
        sigmas: t_i and t_r.
    """
    shapes = {tuple(t.shape) for t in (velocity, moved_latent, moved_time, *latents)}
    if len(shapes) > 1:
        raise ValueError(f"sensitivities need tensors of one shape, got {sorted(shapes)}")
    here, there = sigmas
    jx = _slope(_distance(moved_latent, velocity), _distance(latents[1], latents[0]))
    jt = _slope(_distance(moved_time, velocity), abs(there - here))
    return Sensitivity(here, jx, jt / math.sqrt(velocity.numel()))


def sample_of(steps: Sequence[Sensitivity]) -> dict[str, Tensor]:
    """One example's slopes: ``sigmas``, ``jx`` and ``jt``, each ``[N]`` in float64."""
    columns = torch.tensor(steps, dtype=torch.float64).T
    return {name: columns[i].clone() for i, name in enumerate(("sigmas", "jx", "jt"))}


def table(samples: Sequence[Tensors]) -> Measured:
    """The tables ``sigmas``, ``jx`` and ``jt``, each ``[N]`` in float64.

    The slope of a step is a quantile over the examples, linear between the two nearest: a high
    one, so that most examples change less than the rule expects. Noise levels are medians.
    """
    if not samples:
        raise ValueError("the sensitivities need at least 1 example, got none")
    jx, jt, sigmas = (_stack(samples, name) for name in ("jx", "jt", "sigmas"))
    if sigmas.min() < 0 or sigmas.max() > 1:
        raise ValueError(
            f"the noise levels must lie between 0 and 1, got {sigmas.min():g} to {sigmas.max():g}; "
            "give times as noise levels of a flow model"
        )
    values = {
        "sigmas": torch.from_numpy(np.median(sigmas, axis=0)),
        "jx": torch.from_numpy(np.quantile(jx, QUANTILE, axis=0, method="linear")),
        "jt": torch.from_numpy(np.quantile(jt, QUANTILE, axis=0, method="linear")),
    }
    # A slope is exactly 0 where nothing moved.
    num_zero = int((jx == 0).sum() + (jt == 0).sum())
    return Measured(values, {"num_examples": len(jx), "quantile": QUANTILE, "num_zero": num_zero})


def described(facts: Mapping[str, Any]) -> str:
    """Line from the report of tables."""
    return f"{facts['quantile']} quantile of {counted(facts['num_examples'], 'example')}"


def _distance(one: Tensor, other: Tensor) -> float:
    return (one.float() - other.float()).norm().item()


def _slope(change: float, displacement: float) -> float:
    return change / displacement if displacement >= TINY else 0.0


def _stack(samples: Sequence[Tensors], name: str) -> NDArray:
    """``[examples, N]``"""
    found = np.stack([sample[name].double().cpu().numpy() for sample in samples])
    if not np.isfinite(found).all():
        number = int(np.argwhere(~np.isfinite(found).all(1))[0, 0]) + 1
        raise ValueError(
            f"the sensitivities of example {number} are not finite; leave this example out"
        )
    return found
