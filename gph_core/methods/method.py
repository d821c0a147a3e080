"""Caching method: a rule that chooses full steps, and a policy for the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..gates.base import Gate
from ..gates.coefficients import Published
from ..planning.planners import Plan
from ..policies.base import Policy
from ..schedule import Schedule

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Setting:
    """Facts about a run that a method may have to know.

    Args:
        num_steps: N.
        num_full: the wanted number; where few steps are full, some methods leave more of the first
            steps to their rule. None: the threshold alone decides.
        family: as in ``families``; empty if not known.
        architecture: ComfyUI's model configuration.
        fit: what was calibrated for this method and model, see ``calibration``.
        time_changes: gives the relative change, from the step before, of the time embedding that
            the blocks receive; None if the model has none that depends on time alone.
        conditions: those of the calibration, for a policy whose weights belong to them; empty if
            the run has them in any case.
    """

    num_steps: int
    num_full: int | None = None
    family: str = ""
    architecture: Mapping[str, Any] = field(default_factory=dict)
    fit: Any = None
    time_changes: Callable[[], Sequence[float]] | None = None
    conditions: Mapping[str, Any] = field(default_factory=dict)

    @property
    def model(self) -> str:
        """The model in words."""
        return f"this model ({self.family})" if self.family else "this model"

    @property
    def cache_ratio(self) -> float:
        """The wanted cache ratio; 0 if there is none."""
        return 0.0 if self.num_full is None else 1 - self.num_full / self.num_steps

    def of_family(self, table: Mapping[str, T]) -> T:
        """The first entry of a table whose name begins the family's; ``""`` begins every name."""
        return next(entry for name, entry in table.items() if self.family.startswith(name))


@dataclass(frozen=True, slots=True)
class Method:
    """A row: selection rule and approximation policy.

    Args:
        name: the name under which its calibration is kept.
        rule: what it looks at, in words.
        policy: that of the cached steps; a plan brings one of the same kind.
        needs: what has to be calibrated before; empty if nothing.
        published: a published fit for the model of a setting, which serves instead.
        select: of adaptive methods: from a threshold to the gate, or to the schedule where the
            threshold determines it.
        first_full: full steps at the beginning whatever the gate says.
        last_full: whether the last step is full, too.
        plan: of other methods: the schedule and its policy.
        read: from the values of a calibration to the ``fit`` of a setting.
        form: what distinguishes a variant from the row of its name. It uses that row's fit, but has
            thresholds of its own.
    """

    name: str
    source: str
    rule: str
    policy: Policy
    needs: str = ""
    published: Callable[[Setting], Published[Any] | None] = lambda setting: None
    select: Callable[[float, Setting], Gate | Schedule] | None = None
    first_full: Callable[[Setting], int] = lambda setting: 1
    last_full: Callable[[Setting], bool] = lambda setting: True
    plan: Callable[[Setting], Plan] | None = None
    read: Callable[[Mapping[str, Any]], Any] = lambda values: None
    form: str = ""

    @property
    def title(self) -> str:
        """Name of the method, and its form if it has one."""
        return f"{self.name} ({self.form})" if self.form else self.name

    @property
    def is_adaptive(self) -> bool:
        return self.select is not None

    def fitted(self, setting: Setting) -> Any:
        """The calibrated fit, else the one that was published for the model."""
        if setting.fit is not None:
            return setting.fit
        published = self.published(setting)
        if published is None:
            raise ValueError(
                f"{self.name} needs {self.needs} of {setting.model}; run Calibrate for it, and "
                "choose its file in the input calibration"
            )
        return published.fit

    def forced(self, setting: Setting, policy: Policy | None = None) -> Schedule:
        """The schedule whose full steps are those that the gate cannot cache.

        Args:
            policy: the one in place of the method's own; it may need more of the first steps.
        """
        n = setting.num_steps
        first = max(self.first_full(setting), (policy or self.policy).min_anchors)
        last = (n - 1,) if self.last_full(setting) else ()
        return Schedule((*range(min(first, n)), *last), n)


def settings_of(method: Method, setting: Setting, policy: Policy) -> dict[str, Any]:
    """Settings under which a threshold holds, beside the conditions and values of a calibration."""
    forced = str(method.forced(setting, policy))
    form = {"form": method.form} if method.form else {}
    return {"full steps": setting.num_full, "forced": forced, "policy": str(policy), **form}
