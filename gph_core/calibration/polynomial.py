"""TeaCache's polynomial: how far the output moves, given how far the signal moved.

Source: TeaCache, arXiv 2411.19108, fitted as the seed paper does: both changes between steps that
follow each other, on full runs; four of five examples to fit and the fifth to check.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..gates.relative_l1 import relative_change
from .entry import Fitted

DEGREE = 4
HELD_OUT = 5  # one example of so many, at least one

Sample = Mapping[str, Tensor]


class Changes:
    """The changes of one example while it is computed in full."""

    def __init__(self) -> None:
        self._newest: dict[Hashable, tuple[Tensor, Tensor]] = {}
        self._pairs: dict[Hashable, list[tuple[float, float]]] = {}

    def add(self, branch: Hashable, signal: Tensor, output: Tensor) -> None:
        """Take the next step of a branch: the gate's signal and the model's output."""
        pairs = self._pairs.setdefault(branch, [])
        if branch in self._newest:
            before = self._newest[branch]
            pair = relative_change(signal, before[0]), relative_change(output, before[1])
            if not np.isfinite(pair).all():
                raise ValueError(
                    f"the model's values at step {len(pairs) + 1} are not finite; leave this "
                    "example out"
                )
            pairs.append(pair)
        # Copied, because blocks add to their inputs in place.
        self._newest[branch] = signal.detach().clone(), output.detach().clone()

    def sample(self) -> dict[str, Tensor]:
        """Changes ``x`` of the signal and ``y`` of the output, each ``[branches, N - 1]``, float64.

        Entry k - 1 is the change from step k - 1 to step k.
        """
        pairs = torch.tensor(list(self._pairs.values()), dtype=torch.float64)
        return {"x": pairs[..., 0].contiguous(), "y": pairs[..., 1].contiguous()}


def fit(samples: Sequence[Sample], time_only: bool = False) -> Fitted:
    """Least squares in float64 on the first examples, checked on the others.

    A fifth of the examples, rounded down, is held out, at least one. Errors of prediction are those
    on the held-out pairs; R² is against their mean.

    Args:
        samples: one an example, as ``Changes`` makes them.
        time_only: whether the signal depends on time alone, so that all examples have the same
            ``x``. Then ``y`` is averaged per step over branches and examples, on either side of
            the split.

    Returns:
        ``coefficients``, highest power first, and ``x_range``, within which they were fitted.
    """
    num_held_out = max(1, len(samples) // HELD_OUT)
    num_fit = len(samples) - num_held_out
    if num_fit < 1:
        raise ValueError(f"the fit needs at least 2 examples, one to check it, got {len(samples)}")
    points = _averages if time_only else _pairs
    x, y = points(samples[:num_fit])
    held_x, held_y = points(samples[num_fit:])
    coefficients = _least_squares(x, y)
    error = np.polyval(coefficients, held_x) - held_y
    total = float(np.square(held_y - held_y.mean()).sum())
    report = {
        "num_fit": num_fit,
        "num_held_out": num_held_out,
        "num_points": len(x),
        "time_only": time_only,
        "mae": float(np.abs(error).mean()),
        "rmse": float(np.sqrt(np.square(error).mean())),
        # Of held-out changes that are all the same there is no part to explain.
        "r2": 1 - float(np.square(error).sum()) / total if total else None,
    }
    values = {
        "coefficients": torch.from_numpy(coefficients),
        "x_range": [float(x.min()), float(x.max())],
    }
    return Fitted(values, report)


def _pairs(samples: Sequence[Sample]) -> tuple[NDArray, NDArray]:
    """All changes of all examples and branches."""
    return _joined(samples, "x").ravel(), _joined(samples, "y").ravel()


def _averages(samples: Sequence[Sample]) -> tuple[NDArray, NDArray]:
    """Pairs of changes averaged over examples and branches, one a step."""
    x = _joined(samples, "x")
    if not np.allclose(x, x[0], rtol=1e-4, atol=0):
        raise ValueError(
            "the changes of the signal differ between examples or branches, so it does not depend "
            "on time alone; fit it as one that does not"
        )
    return x.mean(0), _joined(samples, "y").mean(0)


def _joined(samples: Sequence[Sample], name: str) -> NDArray:
    """``[examples * branches, N - 1]``"""
    return np.concatenate([sample[name].double().cpu().numpy() for sample in samples])


def _least_squares(x: NDArray, y: NDArray) -> NDArray:
    distinct = len(np.unique(x))
    if distinct <= DEGREE:
        raise ValueError(
            f"a polynomial of degree {DEGREE} needs at least {DEGREE + 1} different changes of "
            f"the signal, got {distinct}; use more steps or examples"
        )
    coefficients, _, rank, _, _ = np.polyfit(x, y, DEGREE, full=True)
    if rank <= DEGREE:
        raise ValueError(
            "the changes of the signal are too close together for a polynomial of degree "
            f"{DEGREE} (from {x.min():g} to {x.max():g}); use other steps or another signal"
        )
    return coefficients
