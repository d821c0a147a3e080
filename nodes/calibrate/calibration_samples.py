"""Samples for each method's fit: tensors of one example, taken during its full run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from torch import Tensor

from ..hook.observing import Observed


class Sample(ABC):
    """Collector of what one method needs; it gets each step of each branch once, in order."""

    def branch(self, observed: Observed) -> None:  # noqa: B027 - most need one of both alone
        """See ``Watcher``."""

    def step(self, latent: Tensor, velocity: Tensor) -> None:  # noqa: B027
        """Take a guided velocity, at each evaluation of the model."""

    @abstractmethod
    def tensors(self, last: Tensor) -> dict[str, Tensor]:
        """Tensors of the whole run; ``ValueError`` if the method cannot be calibrated on it.

        Args:
            last: the state after the last step.
        """


class Together:
    """Watcher that passes what it sees on to several samples.

    All evaluations of a step but the first are left out, as gates do.
    """

    def __init__(self, samples: Sequence[Sample]) -> None:
        self._samples = samples
        self._reported: set[tuple[int, int]] = set()

    def branch(self, observed: Observed) -> None:
        step = observed.gate_input.step
        if (observed.branch, step) in self._reported:
            return
        self._reported.add((observed.branch, step))
        for sample in self._samples:
            sample.branch(observed)

    def step(self, step: int, latent: Tensor, velocity: Tensor) -> None:
        for sample in self._samples:
            sample.step(latent, velocity)


def unseen(method: str, what: str) -> str:
    """Message for what a method needs and a run did not show at every step."""
    return (
        f"{method} cannot be calibrated in this workflow: {what} could not be observed at every "
        "step; remove what replaces the model's blocks or changes the prompts during sampling, "
        "or calibrate another method"
    )
