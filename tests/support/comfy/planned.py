"""Plan Schedule with calibrations that are made up."""

from __future__ import annotations

import comfy.samplers
import torch
from golden_path_pack.gph_core.calibration import file
from golden_path_pack.gph_core.calibration.entry import Calibration
from golden_path_pack.gph_core.planning.dpcache import jump_costs
from golden_path_pack.gph_core.planning.meancache import edge_costs
from golden_path_pack.gph_core.policies.extrapolation import Hermite, Reuse, Taylor
from golden_path_pack.gph_core.policies.linear_fit import gram
from golden_path_pack.nodes.cache.plan_schedule import PlanSchedule
from golden_path_pack.nodes.hook.setup import SamplingSetup
from golden_path_pack.nodes.library import calibrations
from golden_path_pack.nodes.schema.types import COUNT

from ..zoo import zoo

STEPS = 12
NEED_NONE = {
    "TaylorSeer": Taylor(1), "HiCache": Hermite(2), "uniform (images)": Reuse(),
    "uniform (videos)": Reuse(),
}  # fmt: skip
# What Calibrate tells of its fits.
REPORTS = {
    "L2P": {"num_fit": 3, "num_held_out": 1, "error_fit": 0.00879, "error_held_out": 0.0038},
    "BudCache": {
        "5": {"schedule": "0-2,6,11/12", "scored": 16, "latent_mse": 0.00372, "examples": 2}
    },
}


def calibrate(model, steps=STEPS, max_jump=None, name="mine"):
    """What Calibrate would write, from a random walk in the place of full runs."""
    walk = torch.randn(steps + 1, 40, generator=torch.Generator().manual_seed(1)).cumsum(0)
    levels = zoo.sigmas(model, steps)
    guider = comfy.samplers.CFGGuider(model)
    guider.set_cfg(3.0)  # as ``tiny.sample``
    sampler = comfy.samplers.sampler_object("euler")
    shape = (1, 16, 8, 8)
    conditions = SamplingSetup(guider, sampler, levels.tolist(), shape).conditions
    values = {
        "L2P": {"gram": gram(walk[:-1])},
        "DPCache": {"costs": jump_costs(walk[:-1], max_jump)},
        "MeanCache": {"costs": edge_costs(walk, walk[:-1], levels.tolist())},
        "BudCache": {"5": "0-2,6,11/12"},
    }
    for method, value in values.items():
        entry = Calibration(method, conditions, value, REPORTS.get(method, {"num_examples": 3}))
        file.save(calibrations.FILES.path_of(name), entry)
    return levels


def plan(method, steps=STEPS, full=5, calibration="mine", sigmas=None, model=None, **more):
    inputs = (method, steps, COUNT, full, calibration, sigmas, model)
    return PlanSchedule.execute(*inputs, **more).result
