"""An evenly spaced schedule with fitted weights is no uniform run."""

import pytest
import torch
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.policies.fitted import Fitted
from golden_path_pack.gph_core.schedule import Schedule

from ...support.comfy import tiny
from .test_compare_run import UNIFORM, compare, images, seen

pytestmark = pytest.mark.usefixtures("user")


def test_the_uniform_run_repeats_residuals_also_where_the_steps_are_the_same(model):
    schedule = Schedule.parse(UNIFORM)
    weights = tuple(
        (step, ((max(f for f in schedule.full_steps if f < step), 0.9),))
        for step in schedule.cached_steps
    )
    policy = Fitted(UNIFORM, weights)
    _, fitted, uniform, _ = images(compare(model, policy=policy, schedule=UNIFORM))
    assert torch.equal(fitted, seen(tiny.sample(tiny.attach(model, UNIFORM, policy))))
    assert torch.equal(uniform, seen(tiny.sample(tiny.attach(model, UNIFORM, Reuse()))))
