"""Adaptive Cache: numbers that do not fit, and which policy a method can do with."""

import json
import math

import comfy.samplers
import pytest
import torch
from golden_path_pack.gph_core import run_plan
from golden_path_pack.gph_core.calibration.entry import Calibration
from golden_path_pack.gph_core.calibration.threshold import FoundThreshold
from golden_path_pack.gph_core.experiments.candidates import LineUp
from golden_path_pack.gph_core.methods.method import settings_of
from golden_path_pack.gph_core.methods.table import ADAPTIVE, ALL
from golden_path_pack.gph_core.model.families import FAMILIES
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor
from golden_path_pack.gph_core.run_plan import setting_of
from golden_path_pack.nodes.cache import adaptive
from golden_path_pack.nodes.hook import patching
from golden_path_pack.nodes.sample.examples import Example
from golden_path_pack.nodes.sample.workload import Workload, guider_for

import dev

from ...support.comfy import tiny
from ...support.zoo import zoo


@pytest.mark.parametrize(("full", "steps"), [(1, 20), (20, 20), (30, 20), (2, 2)])
def test_a_number_of_full_steps_out_of_range_is_an_error_with_the_range(model, full, steps):
    possible = {20: "of 20 steps 2 to 19 can be full", 2: "of 2 steps none can be full"}[steps]
    plan = run_plan.adaptive(ALL["SeaCache"], Reuse(), 0.1, full)
    with pytest.raises(ValueError, match=f"{full} full steps do not fit: {possible}; change full"):
        tiny.sample(patching.attach(model, plan, tiny.Listener()), steps)


@pytest.mark.parametrize("full", [2, 7])
def test_a_number_within_the_range_is_taken(model, full):
    listener = tiny.Listener()
    plan = run_plan.adaptive(ALL["SeaCache"], Reuse(), 0.1, full)
    tiny.sample(patching.attach(model, plan, listener), 8)
    assert listener.records


def texts():
    """Where one chooses a method."""
    help_page = dev.ROOT / "web" / "docs" / "GPH_AdaptiveCache"
    chinese = json.loads((dev.ROOT / "locales" / "zh" / "nodeDefs.json").read_text("utf-8"))
    (method,) = (i for i in adaptive.AdaptiveCache.define_schema().inputs if i.id == "method")
    return (
        method.tooltip, chinese["GPH_AdaptiveCache"]["inputs"]["method"]["tooltip"],
        help_page.with_suffix(".md").read_text("utf-8"), (help_page / "zh.md").read_text("utf-8"),
    )  # fmt: skip


@pytest.mark.parametrize("text", texts(), ids=["tooltip", "its translation", "help", "translated"])
def test_where_one_chooses_a_method_all_are_named_with_the_models_that_some_need(text):
    readable = {family.name.split()[0] for family in FAMILIES if family.signal is not None}
    assert [name for name in (*ADAPTIVE, *readable) if name not in text] == []


def test_a_variant_takes_no_part_in_a_comparison_with_the_threshold_of_its_row(model):
    examples = (Example("", tiny.conditioning(1), tiny.conditioning(2), seed=1),)
    work = Workload(
        guider_for(model, None, 3.0, examples[0]), examples, {"samples": torch.zeros(1, 16, 8, 8)},
        comfy.samplers.sampler_object("euler"), zoo.sigmas(model, 8),
    )  # fmt: skip
    row, run = ALL["DiCache"], work.setup.known(TwoAnchor())
    settings = settings_of(row, setting_of(run, 4), row.policy)
    found = FoundThreshold(4, 0.5, 0.0, math.inf, (4,), 1, "")
    entry = Calibration("DiCache", work.setup.conditions).with_threshold(settings, found)
    taking_part, absent = LineUp(work.setup, 4, {"DiCache": entry}, Reuse(), (), str).candidates(
        ["DiCache", "DiCache (delta minus)"], {}
    )
    assert [candidate.name for candidate in taking_part] == ["full", "DiCache"]
    assert "no threshold for 4 cached steps" in absent["DiCache (delta minus)"]


def test_of_two_cache_nodes_in_a_row_the_last_one_acts(model):
    first, last = tiny.Listener(), tiny.Listener()
    fixed = tiny.attach(model, "0,7/8", listener=first)
    plan = run_plan.adaptive(ALL["SeaCache"], Reuse(), 0.0)
    tiny.sample(patching.attach(fixed, plan, last))
    assert first.records == []
    assert last.records[0].cached_steps == ()
