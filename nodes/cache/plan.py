"""The plan of *Golden Path Cache*: a speed, or a user's schedule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import comfy.samplers

from ...gph_core.paths import speeds
from ...gph_core.paths.choice import Choice, Conditions
from ...gph_core.paths.custom import OWN, fit
from ...gph_core.paths.library import bundled_paths
from ...gph_core.policies.base import Policy
from ...gph_core.schedule import Schedule
from ..hook.starting import BUDGET_MIB
from ..library import user_paths


@dataclass(frozen=True, slots=True)
class CachePlan:
    """Plan of a speed or of a schedule.

    Args:
        custom: the schedule; None for that of the speed.
        origin: where the schedule comes from.
    """

    speed: str
    custom: Schedule | None
    policy: Policy
    device_budget: float = BUDGET_MIB * 2**20
    for_others: bool = False
    origin: str = OWN

    @property
    def is_chosen(self) -> bool:
        return self.custom is None

    def check(self, guider, sampler, sigmas, latent) -> None:
        """Accept every run that has the plan's number of steps."""

    def resolve(self, patcher, run: Conditions, sigma_max: float, continues: bool) -> Choice:
        if self.custom is None:
            choice = speeds.resolve(self.speed, run, user_paths.read() + bundled_paths())
        else:
            choice = fit(
                self.custom, self.policy, run.sigmas, sigma_max, continues,
                partial(_grids, patcher, run.drops_a_level), self.origin,
            )  # fmt: skip
        risk = choice.policy.risk(self.custom or choice.schedule)  # a run may take a part of it
        return choice._replace(note="; ".join(filter(None, (choice.note, risk))))


def _grids(patcher, drops_a_level: bool, num_steps: int) -> Iterator[list[float]]:
    """Noise levels of a MODEL in as many steps by each scheduler, as *KSampler* takes them.

    Some of the grids have other numbers of steps: ddim_uniform may make one more than is asked for.
    """
    sampling = patcher.get_model_object("model_sampling")
    for scheduler in comfy.samplers.SCHEDULER_NAMES:
        for asked in (num_steps - 1, num_steps, num_steps + 1):
            levels = comfy.samplers.calculate_sigmas(sampling, scheduler, max(asked, 1)).tolist()
            yield levels
            if drops_a_level:
                yield levels[:-2] + levels[-1:]
