"""All policies: those that are plain data, and those that users choose. A new one goes here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from . import causal_linear
from .base import Policy, Site
from .damped_velocity import DampedVelocity
from .extrapolation import Hermite, Reuse, Taylor, TokenTaylor
from .fitted import Fitted
from .mean_velocity import MeanVelocity
from .reuse import OffsetReuse, RestReuse
from .two_anchor import TwoAnchor

# Kept in golden paths and recordings by their class names. Causal linear is not among them: its
# weights are a file of their own.
KINDS: dict[str, type[Policy]] = {kind.__name__: kind for kind in (
    Reuse, Taylor, Hermite, TokenTaylor, TwoAnchor, MeanVelocity, OffsetReuse, RestReuse,
    Fitted, DampedVelocity,
)}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Options:
    """Options that users set beside the name of a policy; each policy takes what it needs.

    Args:
        order: derivatives of an extrapolation.
        scale: contraction of Hermite polynomials.
        span: steps that a mean velocity looks back.
        weights: gives the file of fitted weights; called only for the policy that has some.
        extrapolation: options that every extrapolation has.
        of_path: gives the fitted weights of a golden path; called only for that policy.
    """

    order: int
    scale: float
    span: int
    weights: Callable[[], Path]
    extrapolation: Mapping[str, Any]
    of_path: Callable[[], Policy]


class Selectable(NamedTuple):
    """A policy that users choose: its constructor, and the names of the options that it takes."""

    make: Callable[[Options], Policy]
    options: tuple[str, ...] = ()


CAUSAL_LINEAR = "causal linear (L2P)"
FITTED_POLICY = "fitted (golden path)"

EXTRAPOLATION = ("differences", "max_amplification", "max_distance")

# By the names that workflows keep. OffsetReuse and RestReuse belong to methods with gates.
CHOICES: dict[str, Selectable] = {
    "residual reuse": Selectable(lambda o: Reuse()),
    "Taylor": Selectable(lambda o: Taylor(o.order, **o.extrapolation), ("order", *EXTRAPOLATION)),
    "Hermite": Selectable(
        lambda o: Hermite(o.order, o.scale, **o.extrapolation), ("order", "scale", *EXTRAPOLATION)
    ),
    "two-anchor (DiCache)": Selectable(lambda o: TwoAnchor()),
    "token prediction (DPCache)": Selectable(
        lambda o: TokenTaylor(**o.extrapolation), EXTRAPOLATION
    ),
    CAUSAL_LINEAR: Selectable(lambda o: causal_linear.load(o.weights()), ("weights",)),
    "output reuse": Selectable(lambda o: Reuse(Site.OUTPUT)),
    "output Taylor": Selectable(
        lambda o: Taylor(o.order, site=Site.OUTPUT, **o.extrapolation), ("order", *EXTRAPOLATION)
    ),
    "velocity reuse": Selectable(lambda o: Reuse(Site.GUIDED)),
    "velocity Taylor": Selectable(
        lambda o: Taylor(o.order, site=Site.GUIDED, **o.extrapolation), ("order", *EXTRAPOLATION)
    ),
    "damped velocity": Selectable(lambda o: DampedVelocity()),
    "mean velocity (MeanCache)": Selectable(lambda o: MeanVelocity(o.span), ("span",)),
    FITTED_POLICY: Selectable(lambda o: o.of_path(), ("path",)),
}
