"""What is known of a run before it starts, and what is chosen for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..architecture import is_stated
from ..gates.base import Gate
from ..noise import without_shift
from ..policies.base import Policy
from ..schedule import Schedule
from .golden_path import GoldenPath


class Choice(NamedTuple):
    """A schedule and, in words, where it comes from."""

    schedule: Schedule
    origin: str
    policy: Policy  # with the weights of this schedule
    gate: Gate | None = None  # decides during the run which cached steps to compute in full
    note: str = ""  # for the user, in lines
    method: str = ""  # title of the adaptive method that chose; else empty
    path: GoldenPath | None = None  # that it is of
    is_ruled: bool = False  # whether a rule chose it, as there is no path
    wanted: int = 0  # full steps that were asked for, where the part of a path has others

    @property
    def num_wanted(self) -> int:
        """Number of full steps that were asked for."""
        return self.wanted or self.schedule.num_full


def never(policy: Policy) -> bool:
    """Whether fitted weights hold for a run of unknown conditions."""
    return False


def never_refused(policy: Policy) -> str | None:
    """Reason why a policy cannot cache a run of which nothing is known."""
    return None


@dataclass(frozen=True, slots=True)
class Conditions:
    """What is known of a run before it starts.

    Args:
        family: of the model; None if it is not a listed one.
        architecture: ComfyUI's model configuration.
        holds: whether a fitted policy holds for the run.
        cfg: of the guider, None for one without.
        name: of the model's class, which a path states if the model has no family.
        guidance: scale of CFG, or of what the model was trained to imitate; 1 without.
        halfway: the model's noise level in the middle of its own schedule.
        continues: no noise is added before the first step.
        sigma_max: the model's highest noise level.
        grids: noise levels of as many steps, as each scheduler has them.
        time_changes: see ``Setting``.
        is_multistep: whether the sampler is another one than plain Euler; it is taken to
            extrapolate from earlier steps, as most do.
        is_stochastic: whether the sampler adds noise between steps.
        is_free: whether the policy is ours to choose where no path fits.
        incompatibility: reason why a policy cannot cache the run, None if it can; what comes after
            a semicolon is a remedy.
    """

    family: str | None
    architecture: Mapping[str, Any]
    sigmas: Sequence[float]
    policy: Policy
    holds: Callable[[Policy], bool] = never
    name: str = ""
    guidance: float = 5.0
    halfway: float = 0.5
    cfg: float | None = None
    continues: bool = False
    sigma_max: float = 1.0
    grids: Callable[[int], Iterable[Sequence[float]]] = lambda num_steps: ()
    time_changes: Callable[[], Sequence[float]] | None = None
    is_multistep: bool = False
    is_stochastic: bool = False
    is_free: bool = False
    incompatibility: Callable[[Policy], str | None] = never_refused

    @property
    def num_steps(self) -> int:
        return len(self.sigmas) - 1

    @property
    def whole_steps(self) -> int:
        """Number of steps of this size from pure noise to a clean picture."""
        ends = (self.sigmas[0], self.sigmas[-1], self.sigma_max)
        begin, end, highest = without_shift(ends, self.halfway, self.sigma_max)
        part = (begin - end) / highest
        return round(self.num_steps / part) if 0 < part < 1 else self.num_steps

    def told(self, policy: Policy) -> Policy:
        """The policy, with what it has to know of the run."""
        return policy.of_run(
            guidance=self.guidance, halfway=self.halfway, sigma_max=self.sigma_max,
            begin=self.sigmas[0], is_multistep=self.is_multistep,
        )  # fmt: skip

    def is_model_of(self, path: GoldenPath) -> bool:
        """Whether a path states a model and it is this one."""
        return (
            bool(path.family)
            and path.family == (self.family or self.name)
            and is_stated(path.architecture, self.architecture)
        )
