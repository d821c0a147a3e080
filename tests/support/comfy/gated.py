"""Adaptive methods on the zoo's models, at thresholds at which their rule decides both ways."""

from __future__ import annotations

import functools
import math
from dataclasses import replace

import comfy.model_management
import torch
from golden_path_pack.gph_core.calibration.entry import Calibration, fit_of
from golden_path_pack.gph_core.methods.table import ADAPTIVE, ALL, VARIANTS
from golden_path_pack.gph_core.paths.conditions import Conditions
from golden_path_pack.gph_core.run_plan import adaptive, setting_of
from golden_path_pack.nodes.hook import compatibility, patching

from ..zoo import zoo
from ..zoo.zoo_all import CASES
from . import tiny

FLUX = CASES["FLUX dev"]  # as the tiny model of ``tiny``
# A table's schedule is settled before; variants look at what their rows look at.
RULES = [name for name in ADAPTIVE if name != "MagCache" and name not in VARIANTS]
STEPS = 8
FEW = "with 8 steps an adaptive method has little to decide"


def fitted(name, case):
    """What would be calibrated: numbers that let the signal through."""
    ones = torch.ones(2, dtype=torch.float64)
    signal = "time projection" if case.family.startswith("Wan") else "modulated input"
    values = {
        "TeaCache": {
            "coefficients": torch.tensor([1.0, 0.0]),
            "x_range": [0.0, 1e9],
            "signal": signal,
        },
        "SenCache": {"sigmas": torch.tensor([0.0, 1.0]), "jx": ones, "jt": ones},
        "MagCache": {"0": torch.linspace(1.0, 0.8, STEPS)},
    }
    row = ALL[name].name
    return Calibration(row, {}, values[row]) if row in values else None


def plan(name, case, threshold, policy=None):
    method = ALL[name]
    made = adaptive(method, policy or method.policy, threshold, calibration=fitted(name, case))
    return replace(made, calibration=None)  # made-up numbers hold for any run


def run(case, model, the_plan, steps=STEPS, **options):
    """Latents and record of a run under a plan."""
    listener = tiny.Listener()
    found = zoo.sample(case, patching.attach(model, the_plan, listener), steps=steps, **options)
    assert listener.refusals == []
    (record,) = listener.records
    return found, record


def forced(name, case, model, policy=None):
    """The steps that the rule has no say in."""
    family, _ = compatibility.identify(model)
    levels = zoo.sigmas(model, STEPS).tolist()
    config = model.model.model_config.unet_config
    conditions = Conditions(family.name, config, levels, None)
    fit = fit_of(ALL[name], fitted(name, case))
    setting = setting_of(conditions, None, fit)
    return ALL[name].forced(setting, policy).full_steps


def by_rule(record, threshold, forced_steps):
    """How many steps the rule itself made full, and how many it cached."""
    values = record.gate_values or (math.inf,) * STEPS  # of a schedule that is settled before
    full = [
        n
        for n in set(record.full_steps) - {*forced_steps}
        if values[n] is not None and values[n] >= threshold
    ]
    return len(full), len(record.cached_steps)


def _both_ways(run_at, forced_steps):
    """Threshold, latents and record of a run in which a rule makes a step full and caches another.

    ``run_at`` gives the latter two for a threshold.
    """
    _, record = run_at(0.0)
    assert record.cached_steps == ()
    values = sorted(v for v in record.gate_values if v is not None) or [0.1]
    low, high, threshold = 0.0, math.inf, values[len(values) // 2] * 1.1
    for _ in range(20):
        found, record = run_at(threshold)
        full, cached = by_rule(record, threshold, forced_steps)
        if full and cached:
            return threshold, found, record
        low, high = (low, threshold) if cached else (threshold, high)
        if low and high < math.inf:
            threshold = math.sqrt(low * high)
        else:
            threshold *= 0.5 if cached else 2
    raise AssertionError("the rule caches all steps or none")


@functools.lru_cache(maxsize=2)
def built(case_name):
    """The MODEL of a case, shared by tests that leave it as it is."""
    return zoo.build(CASES[case_name])


@functools.cache
def _of_case(name, case_name, policy, options, _has_memory):
    case, model = CASES[case_name], built(case_name)

    def run_at(threshold):
        return run(case, model, plan(name, case, threshold, policy), **dict(options))

    return _both_ways(run_at, forced(name, case, model, policy))


def both_ways(name, case, policy=None, **options):
    """Threshold, latents and record of such a run, which is made once for all tests."""
    # Without memory ComfyUI calls the prompts one by one, and another one decides.
    has_memory = comfy.model_management.get_free_memory() > 0
    return _of_case(name, case.name, policy, tuple(options.items()), has_memory)


def run_both_ways(name, case, model, **options):
    """Record of such a run on a MODEL that watches."""
    threshold, _, _ = both_ways(name, case, **options)
    _, record = run(case, model, plan(name, case, threshold), **options)
    assert min(by_rule(record, threshold, forced(name, case, model))) > 0
    return record


def sampled(name, model, sample, threshold):
    """Latents and record of a run that ``sample`` makes of a MODEL."""
    listener = tiny.Listener()
    found = sample(patching.attach(model, plan(name, FLUX, threshold), listener))
    assert listener.refusals == []
    (record,) = listener.records
    return found, record


def sampled_both_ways(name, model, sample):
    """Threshold, latents and record of one in which a rule decides both ways."""
    return _both_ways(functools.partial(sampled, name, model, sample), forced(name, FLUX, model))


ATTENTION = {  # the module whose first input is the attention's, in the first block
    "FLUX": "img_attn.qkv",
    "HunyuanVideo": "img_attn.qkv",
    "Chroma": "img_attn.qkv",
    "Chroma Radiance": "img_attn.qkv",
    "SD3": "x_block.attn.qkv",
    "Qwen-Image": "attn",
    "Qwen-Image 2.1": "attn",
    "MageFlow": "attn",
    "LTX-Video": "attn1",
    "Lens": "attn",
    "JoyImage": "attn",
}
