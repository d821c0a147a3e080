"""What experiments ask for: where examples are sampled, and what is known of their runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from torch import Tensor

from ..fitting.steps import Steps
from ..paths.conditions import Choice, Conditions
from ..policies.base import Policy
from ..quality.objective import Metrics
from ..run_plan import RunPlan
from ..schedule import Schedule
from ..search.study import Measurement

Result = TypeVar("Result")


class Setup(Protocol):
    """What all runs of a workflow have in common."""

    @property
    def num_steps(self) -> int: ...

    @property
    def sigmas(self) -> list[float]:
        """N + 1 noise levels."""
        ...

    @property
    def name(self) -> str:
        """Name of the model's family, or of its class."""
        ...

    @property
    def conditions(self) -> dict[str, Any]:
        """Conditions of a calibration or of fitted weights."""
        ...

    def known(self, policy: Policy) -> Conditions:
        """Known conditions of a run under a policy."""
        ...

    def incompatibility(self, policy: Policy) -> str | None:
        """Reason why no run can be cached under a policy, with a remedy; None if one can."""
        ...

    def refusal(self, choice: Choice) -> str | None:
        """Reason why a run cannot be cached under a choice: the policy's, else the gate's."""
        ...

    def choice_of(self, plan: RunPlan) -> Choice:
        """Choice that a plan makes for a run."""
        ...

    def check(self, choice: Choice) -> None:
        """Raise ``ValueError`` unless runs can be cached under a choice."""
        ...


class Example(Protocol):
    """What people know of an example."""

    @property
    def prompt(self) -> str: ...

    @property
    def seed(self) -> int: ...


class Examples(Protocol):
    """Examples of one model under one setting, known by number."""

    def __len__(self) -> int: ...

    @property
    def examples(self) -> Sequence[Example]: ...

    @property
    def setup(self) -> Setup: ...

    @property
    def num_steps(self) -> int: ...

    @property
    def notes(self) -> list[str]:
        """Notes for the user, in sentences."""
        ...

    @property
    def run_conditions(self) -> dict[str, Any]:
        """Conditions of the latents of full runs, except for the examples themselves."""
        ...

    def names(self) -> list[str]:
        """Identifiers of the examples, equal in every session."""
        ...


class Runner(Protocol):
    """Samples the examples of a workload, which are known by number; tensors in main memory.

    There is one in this process and one that asks workers.
    """

    def __len__(self) -> int: ...

    @property
    def batch(self) -> int:
        """Maximal number of examples that are sampled at once."""
        ...

    @property
    def grouping(self) -> Hashable:
        """Which examples are sampled at once: in other groups, results are rounded otherwise."""
        ...

    @property
    def notes(self) -> list[str]:
        """Notes for the user, in sentences, each once."""
        ...

    def steps(self) -> Steps:
        """Steps of the sampler; ``ValueError`` says why they are not known."""
        ...

    def full(self, policy: Policy) -> None:
        """Compute the full runs of all examples, unless they are there.

        Args:
            policy: keeps them until it is forgotten.
        """
        ...

    def watched(self, keep: Callable[[int, int, Tensor], None], present: Collection[int]) -> None:
        """Compute the full runs for ``Fitted``, and keep the states where the model is evaluated.

        Args:
            keep: takes the number of an example, a step and the state ``[1, ...]`` before it, or
                after the last one.
            present: examples whose states are kept already.
        """
        ...

    def measure(
        self, schedule: Schedule, policy: Policy, examples: Sequence[int], state_bytes: float = 0
    ) -> Measurement:
        """Metrics of some examples under a schedule.

        ``ValueError`` says why a schedule has no effect in this workflow.

        Args:
            state_bytes: of states from which other runs under this policy may go on.
        """
        ...

    def velocities(self, step: int, states: Mapping[int, Tensor]) -> dict[int, Tensor]:
        """Velocities of all examples at a step, ``[1 or 2, ...]`` each, by number.

        Guided ones and, if the guider has one, those of the second prompt.
        """
        ...

    def measure_ends(self, ends: Mapping[int, Tensor], level: float) -> list[Metrics]:
        """Metrics of all examples, from the states in which their runs have ended.

        Args:
            level: noise level at which they have ended.
        """
        ...

    def repeated(self, work: Callable[[], Result]) -> Result:
        """Result of some work, done again in other groups where the memory was too small."""
        ...

    def forget(self, policy: Policy) -> None:
        """Free what runs under a policy have left, and the full runs if no other needs them."""
        ...
