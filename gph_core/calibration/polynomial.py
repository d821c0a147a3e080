"""TeaCache's polynomial: how far the output moves, given how far the signal moved.

Source: TeaCache, arXiv 2411.19108, fitted as the GPH paper does: both changes between steps that
follow each other, on full runs; four of five examples to fit and the fifth to check.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..gates.coefficients import SignalKind
from ..gates.relative_l1 import relative_change
from ..texts import counted
from .samples import Measured, Observed, RunFacts, Sample, Tensors, whole

DEGREE = 4
HELD_OUT = 5  # one example of so many, at least one


class Changes(Sample):
    """Changes of the signal and of the output from step to step, of every branch.

    Args:
        times: ``[N, ...]`` the signal of each step, where it depends on time alone.
    """

    def __init__(self, num_steps: int, times: Tensor | None = None) -> None:
        self._num_steps, self._times = num_steps, times
        self._newest: dict[int, tuple[Tensor, Tensor]] = {}
        self._pairs: dict[int, list[tuple[float, float]]] = defaultdict(list)

    def branch(self, observed: Observed) -> None:
        at_step, pairs = observed.gate_input, self._pairs[observed.branch]
        signal = at_step.modulated if self._times is None else self._times[at_step.step][None]
        if signal is None:
            return
        # Copied, because blocks add to their inputs in place.
        newest = signal.detach().clone(), observed.velocity.detach().clone()
        if before := self._newest.get(observed.branch):
            x, y = map(relative_change, newest, before)
            if not np.isfinite((x, y)).all():
                raise ValueError(
                    f"the model's values at step {len(pairs) + 1} are not finite; leave this "
                    "example out"
                )
            pairs.append((x, y))
        self._newest[observed.branch] = newest

    def tensors(self, last: Tensor) -> dict[str, Tensor]:
        """Changes ``x`` of the signal and ``y`` of the output, each ``[branches, N - 1]``, float64.

        Entry k - 1 is the change from step k - 1 to step k.
        """
        found = whole(self._pairs, self._num_steps - 1, "TeaCache", "the input of the first block")
        pairs = torch.tensor(found, dtype=torch.float64)
        return {"x": pairs[..., 0].contiguous(), "y": pairs[..., 1].contiguous()}


def values(samples: Sequence[Tensors], facts: RunFacts) -> Measured:
    """The polynomial, and the signal that it belongs to."""
    is_time = facts.times() is not None
    found = fit(samples, time_only=is_time)
    signal = SignalKind.TIME_PROJECTION if is_time else SignalKind.MODULATED
    return found._replace(values={**found.values, "signal": signal.value})


def fit(samples: Sequence[Tensors], time_only: bool = False) -> Measured:
    """Least squares in float64 on the first examples, checked on the others.

    A fifth of the examples, rounded down, is held out, at least one. Errors of prediction are those
    on the held-out pairs; R² compares with predicting their mean.

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
        # Held-out changes that are all the same leave nothing to explain.
        "r2": 1 - float(np.square(error).sum()) / total if total else None,
    }
    values = {
        "coefficients": torch.from_numpy(coefficients),
        "x_range": [float(x.min()), float(x.max())],
    }
    return Measured(values, report)


def described(facts: Mapping[str, Any]) -> str:
    """Line from the report of a fit."""
    r2 = facts["r2"]
    fit = "" if r2 is None else f"R² {r2:.2f}, "
    is_worse = r2 is not None and r2 < 0
    worse = "; worse than always predicting the mean, so use more examples" if is_worse else ""
    return (
        f"polynomial fitted to {counted(facts['num_fit'], 'example')}; on "
        f"{counted(facts['num_held_out'], 'other')} {fit}mean absolute error "
        f"{facts['mae']:.4f}{worse}"
    )


def _pairs(samples: Sequence[Tensors]) -> tuple[NDArray, NDArray]:
    """All changes of all examples and branches."""
    return _joined(samples, "x").ravel(), _joined(samples, "y").ravel()


def _averages(samples: Sequence[Tensors]) -> tuple[NDArray, NDArray]:
    """Pairs of changes averaged over examples and branches, one a step."""
    x = _joined(samples, "x")
    if not np.allclose(x, x[0], rtol=1e-4, atol=0):
        raise ValueError(
            "the changes of the signal differ between examples or branches, so it does not depend "
            "on time alone; fit it as one that does not"
        )
    return x.mean(0), _joined(samples, "y").mean(0)


def _joined(samples: Sequence[Tensors], name: str) -> NDArray:
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
