"""Least squares for the weights of one cached step, held as strongly as the runs themselves say.

Two stages, each pulled towards a simpler answer: weights of the guided velocities, the same for all
channels, towards those of a run without a path; then weights of all velocities, for each channel of
the latent, towards those of the first stage. How strong the pull has to be is chosen by
leave-one-out: the error of each run under weights of the others is a closed form of the products
that are there anyway. So what the runs do not show alike is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ..policies.weights import MOST_CHANNELS


class Products(NamedTuple):
    """Contribution of a run to the normal equations ``A w = b`` of each channel.

    Args:
        a: products of the velocities, ``[C, k, k]`` in double precision; guided ones first.
        b: products of the velocities with what their sum should be, ``[C, k]``.
        error: squared, of the newest guided velocity alone.
    """

    a: Tensor
    b: Tensor
    error: float


class Strength(NamedTuple):
    """How far a fit is held at the weights that it is pulled towards.

    Args:
        pull: in units of the velocities' mean square; it holds what the runs hardly determine.
        share: of the way from there that is gone in the end; it holds all alike.
    """

    pull: float
    share: float


PULLS = tuple(10.0 ** (half / 2) for half in range(-12, 3))  # those that are compared
SHARES = (1.0, 0.75, 0.5, 0.25, 0.0)
# Where a single run leaves none out: the simple weights.
ALONE, NOTHING = Strength(1e-3, 1.0), Strength(1.0, 0.0)
_LEAST_ERROR = 1e-6  # of a run, as a share of the largest


class StepFit(NamedTuple):
    """Fits of the weights of one step to some of its runs.

    Args:
        a, b: products of all runs, ``[runs, C, k, k]`` and ``[runs, C, k]``.
        aim: weights of the guided velocities without a path.
        common, own: strengths of the two stages.
    """

    a: Tensor
    b: Tensor
    aim: Tensor
    common: Strength
    own: Strength

    @classmethod
    def of(cls, products: Sequence[Products], aim: Sequence[float]) -> StepFit:
        """Fits to the products of runs, in their order.

        Args:
            aim: of as many guided velocities as there are.
        """
        errors = torch.tensor([run.error for run in products], dtype=torch.float64)
        # Between squared errors, which runs that go wrong would rule, and decibels, which all
        # runs share alike.
        scales = errors.clamp_min(_LEAST_ERROR * float(errors.max()) or 1.0).rsqrt()
        a = torch.stack([run.a for run in products]) * scales[:, None, None, None]
        b = torch.stack([run.b for run in products]) * scales[:, None, None]
        goal = torch.tensor(aim, dtype=torch.float64)
        fits = cls(a, b, goal, ALONE, NOTHING)
        if len(products) == 1:
            return fits
        fits = fits._replace(common=best_strength(*fits._common_products, goal))
        if fits._is_simple:
            return fits
        others = a.sum(0) - a, b.sum(0) - b
        simple = fits._widened(fits._common_weights(*others))
        return fits._replace(own=best_strength(a, b, simple))

    def weights(self, some: Iterable[int]) -> Tensor:
        """Weights ``[k, C]`` that are fitted to some of the runs.

        Of guided velocities alone, and ``C = 1``, if the second stage was dropped.
        """
        numbers = list(some)
        a, b = self.a[numbers].sum(0), self.b[numbers].sum(0)
        simple = self._common_weights(a, b)
        if not self.own.share:
            return simple.T
        return _fitted(a, b, self._widened(simple), self.own).T

    @property
    def _is_simple(self) -> bool:
        """Whether the second stage has nothing to add."""
        channels, count = self.b.shape[1:]
        return channels > MOST_CHANNELS or (channels == 1 and count == len(self.aim))

    @property
    def _common_products(self) -> tuple[Tensor, Tensor]:
        """Products of the guided velocities over all channels, ``[runs, 1, ...]``."""
        return self._of_all_channels(self.a, self.b)

    def _of_all_channels(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        guided = len(self.aim)
        return a[..., :guided, :guided].sum(-3, True), b[..., :guided].sum(-2, True)

    def _common_weights(self, a: Tensor, b: Tensor) -> Tensor:
        """Weights ``[..., 1, k]`` of the first stage."""
        return _fitted(*self._of_all_channels(a, b), self.aim, self.common)

    def _widened(self, simple: Tensor) -> Tensor:
        """Weights of the first stage for each channel and all velocities."""
        *runs, _, guided = simple.shape
        wide = simple.new_zeros(*runs, *self.b.shape[1:])
        wide[..., :guided] = simple
        return wide


def best_strength(a: Tensor, b: Tensor, aim: Tensor) -> Strength:
    """The strength under which weights of the other runs leave the smallest errors.

    Args:
        a, b: products of each run, ``[runs, C, k, k]`` and ``[runs, C, k]``.
        aim: of each run that is left out, ``[runs, C, k]``; or the same for all.
    """
    aims = aim.expand_as(b)
    pulls = torch.tensor(PULLS, dtype=a.dtype)[:, None, None, None, None]
    change = _solved(a.sum(0) - a, b.sum(0) - b, aims, pulls) - aims  # [pulls, runs, C, k]
    # The error at a share s of the way is a + 2 b s + c s².
    slope = ((a @ aims[..., None])[..., 0] - b).mul(change).flatten(1).sum(1)
    curve = torch.einsum("prck,rckl,prcl->p", change, a, change)
    shares = torch.tensor(SHARES, dtype=a.dtype)
    errors = 2 * slope[:, None] * shares + curve[:, None] * shares**2
    place = int(torch.where(errors.isfinite(), errors, torch.inf).argmin())
    return Strength(PULLS[place // len(SHARES)], SHARES[place % len(SHARES)])


def _fitted(a: Tensor, b: Tensor, aim: Tensor, strength: Strength) -> Tensor:
    return aim + strength.share * (_solved(a, b, aim, strength.pull) - aim)


def _solved(a: Tensor, b: Tensor, aim: Tensor, pull: float | Tensor) -> Tensor:
    """Weights ``[..., k]``; where the products determine none, those of the aim."""
    size = a.diagonal(dim1=-2, dim2=-1).mean(-1)[..., None, None]
    ridge = pull * size * torch.eye(a.shape[-1], dtype=a.dtype)
    wanted = b[..., None] - a @ aim[..., None]
    change, failed = torch.linalg.solve_ex(a + ridge, wanted)
    is_known = (failed == 0)[..., None] & change.isfinite().all(-2)
    return aim + torch.where(is_known, change[..., 0], 0.0)
