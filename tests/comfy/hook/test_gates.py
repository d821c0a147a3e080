"""gates/gating: every adaptive method in ComfyUI's sampler, on its real classes."""

import math

import comfy.model_management
import pytest
from golden_path_pack.gph_core.methods.table import ADAPTIVE, ALL
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor

from ...support.comfy import tiny
from ...support.comfy.gated import CASES, FEW, STEPS, both_ways, built, forced, plan, run
from ...support.selection import later
from ...support.zoo import zoo

# Every method on FLUX, and those that read a model in a way of their own on one that differs.
PAIRS = [
    *(("FLUX dev", name) for name in ADAPTIVE),
    ("Qwen-Image", "DiCache"), ("HunyuanVideo", "SeaCache"), ("HunyuanVideo", "SenCache"),
    ("Wan 2.1 1.3B", "TeaCache"), ("Wan 2.1 1.3B", "DiCache (as published for Wan)"),
]  # fmt: skip
BOTH_PROMPTS = {"tokens": (5, 5), "cfg": 3.0}
each = pytest.mark.parametrize(("case", "name"), PAIRS, indirect=["case"])


@pytest.fixture(scope="module")
def case(request):
    return CASES[request.param]


@pytest.fixture(scope="module")
def model(case):
    return built(case.name)


@each
def test_at_threshold_0_every_step_is_that_of_the_model_alone(name, case, model):
    found, record = run(case, model, plan(name, case, 0.0))
    assert zoo.same(found, zoo.sample(case, model, steps=STEPS))
    assert record.cached_steps == ()
    assert record.notes == ((FEW,) if record.gate else ())


@each
def test_at_an_infinite_threshold_only_forced_steps_are_full(name, case, model):
    found, record = run(case, model, plan(name, case, math.inf))
    is_video, is_wan = case.family in ("Wan", "HunyuanVideo"), case.family == "Wan"
    expected = {
        "SeaCache": {0, 7},
        "TeaCache": {0, 1, 2, 3, 4, 7} if is_wan else {0, 7},
        "TeaCache (as published)": {0, 1, 2, 3, 4} if is_wan else {0, 7},
        # Its first steps have a threshold of their own; it caches 2 of 8 (10 of 50) in a row.
        "SenCache": {0, 1, 2, 5, 7} if is_video else {0, 1, 4, 7},
        "DiCache": {0, 1, 7},
        "DiCache (as published for Wan)": {0, 1},
        "DiCache (delta minus)": {0, 1, 7},
        # After two full steps it knows how the output follows the input.
        "EasyCache": {0, 1, 7},
        "MagCache": {0, 6, 7},  # at most 5 in a row
        "First Block Cache": {0, 7},
    }
    assert set(record.full_steps) == expected.get(name, {*forced(name, case, model)})
    assert zoo.same(
        found, zoo.sample(case, tiny.attach(model, record.schedule, ALL[name].policy), STEPS)
    )


@pytest.mark.parametrize(
    ("case", "name", "prompts"),
    [
        *((case, name, "in one call") for case, name in PAIRS),
        ("FLUX dev", "SeaCache", "of different length"),
        ("FLUX dev", "DiCache", "with little memory"),
        *later(
            ("FLUX dev", "EasyCache", "of different length"),
            ("Qwen-Image", "DiCache", "of different length"),
            ("HunyuanVideo", "SenCache", "with little memory"),
        ),
    ],
    indirect=["case"],
)
def test_a_run_is_that_under_the_schedule_that_the_method_chose(
    name, case, model, prompts, monkeypatch
):
    options = BOTH_PROMPTS | ({"tokens": (5, 8)} if prompts == "of different length" else {})
    if prompts == "with little memory":  # ComfyUI asks whether both fit into one call
        monkeypatch.setattr(comfy.model_management, "get_free_memory", lambda *args, **kw: 0)
    _, found, record = both_ways(name, case, **options)
    fixed = tiny.attach(model, record.schedule, ALL[name].policy)
    assert zoo.same(found, zoo.sample(case, fixed, STEPS, **options))
    assert record.refused_steps == ()
    assert record.notes == ((FEW,) if record.gate else ())


@each
def test_looking_at_a_step_runs_the_first_block_at_most(name, case, model):
    each = zoo.counted(model, lambda: zoo.sample(case, model, steps=1, **BOTH_PROMPTS))
    threshold, _, record = both_ways(name, case, **BOTH_PROMPTS)
    the_plan = plan(name, case, threshold)
    blocks = zoo.counted(model, lambda: run(case, model, the_plan, **BOTH_PROMPTS))
    looked_at = STEPS - len(forced(name, case, model))
    looks = looked_at if name.startswith(("DiCache", "First Block Cache")) else 0
    assert blocks == each * len(record.full_steps) + looks


@pytest.mark.parametrize("case", ["FLUX dev"], indirect=True)
@pytest.mark.parametrize("name", ["SeaCache", "DiCache", "SenCache", "MagCache"])
def test_any_method_goes_with_another_policy(name, case, model):
    other = TwoAnchor() if ALL[name].policy != TwoAnchor() else ALL["TeaCache"].policy
    _, found, record = both_ways(name, case, other)
    assert zoo.same(found, zoo.sample(case, tiny.attach(model, record.schedule, other), STEPS))
