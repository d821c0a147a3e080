"""gates/gating: the memory that a gate takes, and what happens where there is none left for it."""

import math

import comfy.model_management
import pytest
import torch
from golden_path_pack.gph_core.gates.gating import Gating
from golden_path_pack.gph_core.methods.table import ALL
from golden_path_pack.gph_core.run.active_run import ActiveRun
from golden_path_pack.nodes.hook import patching, starting

from ...support.comfy import tiny
from ...support.comfy.gated import CASES, FEW, FLUX, RULES, STEPS, plan, run
from ...support.comfy.sampled import LATENT, TOKENS
from ...support.zoo import zoo

OUT_OF_MEMORY = "caching stopped because what it needs did not fit into memory"
OOM = comfy.model_management.OOM_EXCEPTION

# Bytes at the fullest moment: anchors of two prompts, and what the gate keeps of one.
NEEDS = {
    "SeaCache": 2 * TOKENS + TOKENS,
    "TeaCache": 2 * TOKENS + TOKENS,
    "SenCache": 2 * TOKENS + LATENT,
    "DiCache": 2 * 2 * (TOKENS + TOKENS) + TOKENS,  # two anchors with their first block's residual
    # The gate keeps what went into the block, too.
    "DiCache (delta minus)": 2 * 2 * (TOKENS + TOKENS) + 2 * TOKENS,
    # Velocities with their latents; the gate has this step's latent, and latent and output of the
    # full step before, next to which the newest one is stored.
    "EasyCache": 2 * (LATENT + LATENT) + 3 * LATENT,
    "First Block Cache": 2 * (TOKENS + TOKENS) + TOKENS,
}


@pytest.fixture
def runs(monkeypatch):
    """All runs of a test."""
    found = []

    class Noted(ActiveRun):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            found.append(self)

    monkeypatch.setattr(starting, "ActiveRun", Noted)
    return found


def sampled(model, the_plan):
    listener = tiny.Listener()
    found = tiny.sample(patching.attach(model, the_plan, listener))
    (record,) = listener.records
    return found, record


@pytest.mark.parametrize(
    ("name", "threshold"), [*((name, 1e9) for name in NEEDS), ("EasyCache", 0.0), ("DiCache", 0.0)]
)
def test_the_record_tells_anchors_and_what_the_gate_keeps(name, threshold):
    wide = tiny.flux(hidden_size=96, num_heads=3)  # its tokens take other bytes than its latents
    _, record = sampled(wide, plan(name, FLUX, threshold))
    rate = 4 if name == "EasyCache" and len(record.full_steps) > 3 else 0  # one number, from step 2
    # At any threshold the first two steps of these rules leave what the later ones do.
    assert record.cache_bytes == NEEDS[name] + rate


@pytest.mark.parametrize("tokens", [(5, 5), (5, 8)], ids=["in one call", "each in its own"])
@pytest.mark.parametrize("name", ["SeaCache", "DiCache"])
def test_nothing_is_kept_of_references_and_other_prompts(runs, name, tokens):
    case = CASES["FLUX Kontext"]
    kept = []

    def look(*args):
        signal = runs[-1].gating._state.signal
        (signal,) = signal if isinstance(signal, tuple) else (signal,)
        kept.append((signal.shape[1], signal.untyped_storage().nbytes() // signal.shape[2]))

    run(case, zoo.build(case), plan(name, case, 1e9), tokens=tokens, cfg=3.0, callback=look)
    assert kept == [(16, 16 * 4)] * STEPS  # 16 tokens of the image in float32


def assert_goes_on_in_full(name, model, found, record, cached):
    """What was cached before stays, all else is in full, and it is said once."""
    assert record.cached_steps == cached
    assert record.caching_stopped == OUT_OF_MEMORY
    assert record.notes == (FEW, OUT_OF_MEMORY)
    full = ",".join(str(n) for n in range(STEPS) if n not in cached)
    fixed = tiny.attach(model, f"{full}/{STEPS}", ALL[name].policy)
    assert torch.equal(found, tiny.sample(fixed if cached else model))


@pytest.mark.parametrize(
    ("name", "step"),  # forced; the first that all rules may cache; a later one
    [*((name, 3) for name in RULES), ("SeaCache", 0), ("DiCache", 0), ("SenCache", 2)],
)
def test_a_decision_that_runs_out_of_memory_ends_the_caching(model, monkeypatch, name, step):
    decide = Gating.decide

    def fail(self, gate_input, forced):
        if gate_input.step == step:
            raise OOM("no memory")
        return decide(self, gate_input, forced)

    monkeypatch.setattr(Gating, "decide", fail)
    found, record = sampled(model, plan(name, FLUX, math.inf))
    # SenCache's first steps have a threshold of their own.
    first = 1 if name in ("SeaCache", "TeaCache", "First Block Cache") else 2
    assert_goes_on_in_full(name, model, found, record, tuple(range(first, step)))


@pytest.mark.parametrize(
    ("name", "module", "step"),
    [
        ("SeaCache", "img_in", 2), ("TeaCache", "img_in", 3), ("DiCache", "double_blocks.0", 2),
        ("First Block Cache", "double_blocks.0", 3), ("SeaCache", "final_layer", 3),
        ("DiCache", "final_layer", 2),
    ],
)  # fmt: skip
def test_a_look_that_runs_out_of_memory_ends_the_caching(
    model, monkeypatch, runs, name, module, step
):
    inner = model.model.diffusion_model.get_submodule(module)
    forward, done, held = inner.forward, [], []

    def fail(*args, **kwargs):
        if done == [*range(step)]:  # from then on, what is held when the module runs
            held.append(runs[-1].anchors.num_bytes)
            if len(held) == 1:
                raise OOM("no memory")
        return forward(*args, **kwargs)

    listener = tiny.Listener()
    monkeypatch.setattr(inner, "forward", fail)
    patched = patching.attach(model, plan(name, FLUX, math.inf), listener)
    found = tiny.sample(patched, callback=lambda current, *_: done.append(current))
    monkeypatch.undo()
    (record,) = listener.records
    first = 2 if name == "DiCache" else 1
    assert_goes_on_in_full(name, model, found, record, tuple(range(first, step)))
    assert held[0] > 0
    assert held[1:] == [0]  # the full step that follows has all of the memory
