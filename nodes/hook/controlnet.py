"""ControlNets on cached steps: their effect is in the residual, so they need not run.

ComfyUI evaluates a control before it calls the model, when it is not yet certain that the call
can be cached. So on steps that the schedule caches, the control is passed on unevaluated; the
model call evaluates it only if it has to be full after all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def active(control, sigma: float) -> tuple[int, ...]:
    """Ids of the controls in a chain that act at a noise level."""
    ids = []
    while control is not None:
        begin, end = getattr(control, "timestep_range", None) or (sigma, sigma)
        if end <= sigma <= begin:
            ids.append(id(control))
        control = getattr(control, "previous_controlnet", None)
    return tuple(ids)


class Pending:
    """Result of a control that has not been evaluated yet."""

    def __init__(self, evaluate: Callable[[], Any]) -> None:
        self.evaluate = evaluate


class Deferred:
    """Stand-in for a control on steps that the schedule caches."""

    def __init__(self, control) -> None:
        self._control = control

    def get_control(self, *args, **kwargs) -> Pending:
        return Pending(lambda: self._control.get_control(*args, **kwargs))


class Deferrals:
    """Stand-ins of one run, one per control, because conditionings are batched by identity."""

    def __init__(self) -> None:
        self._by_control: dict[int, Deferred] = {}

    def defer(self, conds: list, sigma: float) -> list:
        """Conditionings whose active controls are evaluated on demand."""
        return [group and [self._deferred(cond, sigma) for cond in group] for group in conds]

    def _deferred(self, cond: dict, sigma: float) -> dict:
        control = cond.get("control")
        if not active(control, sigma):
            return cond
        stand_in = self._by_control.setdefault(id(control), Deferred(control))
        return cond | {"control": stand_in}
