"""hook/compatibility: what cannot be cached is computed in full or refused, in words."""

import re

import pytest
import torch
from comfy_extras.nodes_easycache import EasyCacheNode, LazyCacheNode
from golden_path_pack.gph_core.model import families
from golden_path_pack.gph_core.policies.extrapolation import Reuse, Taylor
from golden_path_pack.gph_core.run_plan import by_speed, fixed
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.cache.report import Reporter
from golden_path_pack.nodes.hook import patching
from golden_path_pack.nodes.library import user_paths

from ...support.comfy import gated, tiny
from ...support.selection import later
from ...support.zoo import zoo, zoo_images, zoo_videos


def test_a_schedule_of_another_length_is_an_error_before_any_step(model):
    with pytest.raises(ValueError, match="the schedule covers 50 steps but the sampler runs 8"):
        tiny.sample(tiny.attach(model, "0-9/50"))


def test_the_plan_is_announced_in_words(model):
    listener = tiny.Listener()
    plan = by_speed("Balanced", Reuse(), user_paths.every)
    tiny.sample(patching.attach(model, plan, listener), steps=50, size=4)
    assert listener.plans == [
        f"FLUX: 13 of 50 steps full (spacing by noise level: {listener.records[0].schedule}), "
        "policy residual reuse, at most 3.8x fewer block evaluations"
    ]


def case(name):
    return next(c for c in (*zoo_images.CASES, *zoo_videos.CASES) if c.name == name)


def attach(model, schedule, listener):
    plan = fixed(Schedule.parse(schedule), Reuse())
    return patching.attach(model, plan, listener)


def test_a_class_whose_blocks_are_not_where_they_should_be_is_not_recognised():
    transformer = tiny.flux().model.diffusion_model
    assert families.detect(transformer).name == "FLUX"
    transformer.single_blocks = torch.nn.ModuleList()
    assert families.detect(transformer) is None


def test_blocks_that_cannot_be_observed_are_said():
    # Chroma can be told to leave out blocks, here the first one.
    chroma, listener = case("Chroma"), tiny.Listener()
    model = zoo.build(chroma)
    model.model.diffusion_model.skip_mmdit = [0]
    (plain,) = zoo.sample(chroma, model, steps=3)
    (found,) = zoo.sample(chroma, attach(model, "0/3", listener), steps=3)
    assert torch.equal(found, plain)
    (record,) = listener.records
    assert record.cached_steps == ()
    assert "the blocks could not be observed" in record.notes[0]


def test_a_run_whose_policy_extrapolates_far_says_so(model):
    listener = tiny.Listener()
    plan = fixed(Schedule.parse("0-2,15,27/28"), Taylor(1))
    tiny.sample(patching.attach(model, plan, listener), steps=28, size=4)
    (note,) = listener.records[0].notes
    assert note.startswith("Taylor order 1 extrapolates over 12 steps up to step 14")


def easy(model):
    return EasyCacheNode.execute(model, 0.2, 0.15, 0.95, False).result[0]


def lazy(model):
    return LazyCacheNode.execute(model, 0.2, 0.15, 0.95, False).result[0]


def tea(model):
    """What the TeaCache nodes of other extensions tell their replaced forward, without it."""
    patched = model.clone()
    patched.model_options.setdefault("transformer_options", {})["rel_l1_thresh"] = 0.4
    return patched


BALANCED = by_speed("Balanced", None, user_paths.every)


@pytest.mark.parametrize(
    "plan", [BALANCED, gated.plan("SeaCache", gated.FLUX, 1e9)], ids=["speed", "gate"]
)
@pytest.mark.parametrize(
    ("other", "name"), [(easy, "EasyCache"), *later((lazy, "LazyCache"), (tea, "TeaCache"))]
)
@pytest.mark.parametrize("comes_last", [False, True])
def test_beside_another_cache_all_is_computed_in_full(model, plan, other, name, comes_last):
    # It would take predicted steps for ones that hardly change, and skip the full ones.
    listener = tiny.Listener()
    if comes_last:
        both = other(patching.attach(model, plan, listener))
    else:
        both = patching.attach(other(model), plan, listener)
    assert torch.equal(tiny.sample(both, steps=20), tiny.sample(other(model), steps=20))
    (record,) = listener.records
    assert record.cached_steps == ()
    assert record.notes == (
        f"this node caches nothing: {name} is also active on this model; remove it: two "
        "caches together spoil the image",
    )


@pytest.mark.parametrize("steps", [1, 3])
def test_so_few_steps_that_all_stay_full_are_explained(model, steps):
    listener = tiny.Listener()
    tiny.sample(patching.attach(model, BALANCED, listener), steps=steps, size=4)
    number = {1: "1 step", 3: "3 steps"}[steps]
    assert listener.records[0].notes == (
        f"{number}: too few to cache any, so all are computed in full",
    )


def test_the_log_has_one_line_for_each_run_with_all_that_happened(model, caplog):
    plan = fixed(Schedule.parse("0,1,4/8"), Reuse())
    with caplog.at_level("INFO"):
        tiny.sample(patching.attach(model, plan, Reporter(None)), sampler="euler_ancestral")
    lines = [m for m in caplog.messages if m.startswith("Golden Path Cache: ")]
    before, after = lines
    assert before.startswith(
        "Golden Path Cache: FLUX: 3 of 8 steps full (your schedule: 0-1,4/8), "
        "policy residual reuse, at most 2.7x fewer block evaluations"
    )
    assert re.fullmatch(
        r"Golden Path Cache: FLUX, stack residual: 3 of 8 steps full \([\d.]+ s\), 5 cached "
        r"\([\d.]+ s\), policy residual reuse, about [\d.]+x faster than all steps in full, "
        r"0\.0 MiB cache; the sampler euler_ancestral adds noise at every step, which cached "
        r"steps cannot foresee; expect less quality than with a sampler that does not",
        after,
    )
