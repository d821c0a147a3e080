"""Published coefficients: TeaCache's polynomials and MagCache's ratios."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from ..architecture import is_stated

Fit = TypeVar("Fit")

BUNDLED = Path(__file__).parents[1] / "data" / "coefficients.json"


class SignalKind(Enum):
    """Signal that TeaCache compares between two steps."""

    MODULATED = "modulated input"  # tokens that the first block's attention receives
    TIME_PROJECTION = "time projection"  # time embedding, as the blocks receive it


@dataclass(frozen=True)
class Polynomial:
    """Change of the output as a function of the signal's change, both relative.

    Args:
        coefficients: highest power first.
        signal: the one whose changes it was fitted to; with another one it means nothing.
        fitted: smallest and largest change that it was fitted to, if known.
    """

    coefficients: tuple[float, ...]
    signal: SignalKind = SignalKind.MODULATED
    fitted: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not self.coefficients or not all(map(math.isfinite, self.coefficients)):
            raise ValueError(f"a polynomial needs finite coefficients, got {self.coefficients}")
        if self.fitted is not None and not 0 <= self.fitted[0] <= self.fitted[1]:
            raise ValueError(f"a range of changes rises from 0 on, got {self.fitted}")

    def __call__(self, x: float) -> float:
        """Value of the polynomial, which may be negative."""
        value = 0.0
        for coefficient in self.coefficients:
            value = value * x + coefficient
        return value

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Polynomial:
        """The polynomial of a calibration, see ``calibration.polynomial``."""
        low, high = values["x_range"]
        coefficients = tuple(values["coefficients"].tolist())
        return cls(coefficients, SignalKind(values["signal"]), fitted=(low, high))

    def guarded(self, x: float) -> float:
        """Value at the nearest change in the fitted range, at least zero."""
        low, high = self.fitted or (x, x)
        return max(self(min(max(x, low), high)), 0.0)


@dataclass(frozen=True)
class Magnitudes:
    """Size of the residual of each step relative to the step before, mean over the tokens.

    Args:
        ratios: one for each step of the run in which they were measured; the first is 1.
        max_cached: most cached steps in a row; None: any number.
        retention: share of the run that is full at its beginning, at least one step.
        inclusive: an error that equals the threshold is cached too.
        always_full: entries that are never cached.
        rounds_retention: the number of first full steps is rounded, not rounded down.
        calls: model calls in a step; first full steps are counted in them.

    Source: MagCache of Zehong-Ma; models that it does not have get its limits for FLUX.
    """

    ratios: tuple[float, ...]
    max_cached: int | None = 5
    retention: float = 0.1
    inclusive: bool = False
    always_full: tuple[int, ...] = ()
    rounds_retention: bool = False
    calls: int = 1

    def __post_init__(self) -> None:
        if not self.ratios or not all(map(math.isfinite, self.ratios)):
            raise ValueError(f"ratios of magnitudes are finite numbers, got {self.ratios}")
        if not 0 <= self.retention <= 1:
            raise ValueError(f"the share of first full steps is 0 to 1, got {self.retention!r}")


@dataclass(frozen=True)
class Published(Generic[Fit]):
    """Fit that was published for one model.

    Args:
        model: its name.
        family: as in ``families``.
        architecture: distinguishes it within its family, see ``is_stated``; models that were
            trained on from it have the same.
        source: the published file.
        fit: what a calibration would give.
    """

    model: str
    family: str
    architecture: Mapping[str, Any]
    source: str
    fit: Fit

    def is_for(self, family: str, config: Mapping[str, Any]) -> bool:
        """Whether it is for a model of that family and configuration."""
        return self.family == family and is_stated(self.architecture, config)


def polynomial_for(
    family: str, config: Mapping[str, Any], of_time: bool
) -> Published[Polynomial] | None:
    """The polynomial of a model, if there is one; ``of_time``: for a signal of time alone."""
    kind = SignalKind.TIME_PROJECTION if of_time else SignalKind.MODULATED
    return _first((row for row in polynomials() if row.fit.signal is kind), family, config)


def magnitudes_for(family: str, config: Mapping[str, Any]) -> Published[Magnitudes] | None:
    """The magnitudes of a model, if there are any."""
    return _first(magnitudes(), family, config)


def _first(
    rows: Iterable[Published[Fit]], family: str, config: Mapping[str, Any]
) -> Published[Fit] | None:
    return next((row for row in rows if row.is_for(family, config)), None)


@cache
def polynomials() -> tuple[Published[Polynomial], ...]:
    """TeaCache's polynomials for models that can be told apart and whose signal can be read."""
    return _bundled(
        "polynomials", lambda fit: Polynomial(**{**fit, "signal": SignalKind(fit["signal"])})
    )


@cache
def magnitudes() -> tuple[Published[Magnitudes], ...]:
    """Magnitudes of MagCache."""
    return _bundled("magnitudes", lambda fit: Magnitudes(**fit))


def _bundled(kind: str, read: Callable[[dict[str, Any]], Fit]) -> tuple[Published[Fit], ...]:
    def row(model: dict[str, Any]) -> Published[Fit]:
        lists = {k: tuple(v) if isinstance(v, list) else v for k, v in model["fit"].items()}
        return Published(**{**model, "fit": read(lists)})

    return tuple(map(row, json.loads(BUNDLED.read_text("utf-8"))[kind]))
