"""What cannot be cached is computed in full or refused, in words."""

import comfy.ldm.flux.model
import pytest
import torch
from golden_path_pack.gph_core.extrapolation import Reuse
from golden_path_pack.nodes import patching

from . import tiny


def test_an_unknown_class_is_computed_in_full_with_one_warning(reference):
    class Foreign(comfy.ldm.flux.model.Flux):
        pass

    model = tiny.flux()
    model.model.diffusion_model.__class__ = Foreign
    listener = tiny.Listener()
    assert torch.equal(tiny.sample(tiny.attach(model, "0,1,4/8", listener=listener)), reference)
    assert listener.refusals == [
        "Foreign is not a supported transformer (docs/models.md lists them); all steps are "
        "computed in full. The policies on outputs and velocities work with any model"
    ]
    assert listener.records[0].cached_steps == ()


def test_a_schedule_of_another_length_is_an_error_before_any_step(model):
    with pytest.raises(ValueError, match="the schedule covers 50 steps but the sampler runs 8"):
        tiny.sample(tiny.attach(model, "0-9/50"))


def test_the_plan_is_announced_in_words(model):
    listener = tiny.Listener()
    plan = patching.CachePlan("Balanced", None, Reuse())
    tiny.sample(patching.attach(model, plan, listener), steps=50, size=4)
    assert listener.plans == [
        "FLUX: 13 of 50 steps full (published for FLUX.1-dev: 0-4,6,8,10,14,19,30,43,49/50), "
        "policy residual reuse, at most 3.8x fewer block evaluations"
    ]
