"""run/anchors: the memory of the cache: how much, where, and for how long."""

import contextlib
import gc
import math
import weakref
from dataclasses import replace

import comfy.model_management
import comfy.sample
import comfy.samplers
import pytest
import torch
from golden_path_pack.gph_core.model.surgery import Surgery
from golden_path_pack.gph_core.policies.base import Anchor, Site
from golden_path_pack.gph_core.policies.causal_linear import CausalLinear
from golden_path_pack.gph_core.policies.extrapolation import Hermite, Reuse, Taylor, TokenTaylor
from golden_path_pack.gph_core.policies.mean_velocity import MeanVelocity
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor
from golden_path_pack.gph_core.run.active_run import ActiveRun
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.gph_core.search.prefix import PrefixMemory
from golden_path_pack.nodes.cache.cache import GoldenPathCache
from golden_path_pack.nodes.hook import starting
from golden_path_pack.nodes.sample.sampling import Keeper, Sampling

from ...support.comfy import tiny
from ...support.comfy.sampled import LATENT, TOKENS
from ...support.zoo import zoo

SCHEDULE = "0-2,4/8"
LINEAR = CausalLinear(torch.rand(8, 8, generator=torch.Generator().manual_seed(4)).tril(-1))

DEFAULT_BUDGET = 2_147_483_648  # 2048 MiB

# Policy, anchors of a branch at the fullest moment, bytes of all branches' anchors then.
NEEDS = [
    (Reuse(), 1, 2 * TOKENS),
    (Taylor(1), 2, 2 * 2 * TOKENS),
    (Taylor(2), 3, 2 * 3 * TOKENS),
    (Hermite(2), 3, 2 * 3 * TOKENS),
    (TokenTaylor(), 3, 2 * 3 * TOKENS),
    (TwoAnchor(), 2, 2 * 2 * (TOKENS + TOKENS)),  # each with the residual of the first block
    (Reuse(Site.OUTPUT), 1, 2 * LATENT),
    (LINEAR, 7, 2 * 7 * LATENT),  # all steps but the last, which nothing comes after
    (Reuse(Site.GUIDED), 1, LATENT),  # both prompts in one
    (Taylor(2, site=Site.GUIDED), 3, 3 * LATENT),
    (MeanVelocity(4), 4, 4 * (LATENT + LATENT)),  # each with its state
    (MeanVelocity(6), 6, 6 * (LATENT + LATENT)),
]


class Watch:
    """What the runs hold after each call of the model."""

    def __init__(self):
        self.budgets = []  # of each run
        self.most_anchors = 0  # of one branch
        self.most_bytes = 0  # of the memory behind all tensors
        self.tensors = []  # weak references

    def look(self, held):
        self.most_anchors = max(self.most_anchors, *map(len, held.values()), 0)
        tensors = [t for anchors in held.values() for anchor in anchors for t in anchor.tensors]
        self.tensors += map(weakref.ref, tensors)
        memory = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
        self.most_bytes = max(self.most_bytes, sum(memory.values()))

    def alive(self):
        return sum(tensor() is not None for tensor in self.tensors)


@pytest.fixture
def watch(monkeypatch):
    """Looks into all runs of a test."""
    watch = Watch()

    class Watched(ActiveRun):
        def __init__(self, schedule, policy, sigmas, device_budget=math.inf, *args, **kwargs):
            super().__init__(schedule, policy, sigmas, device_budget, *args, **kwargs)
            watch.budgets.append(device_budget)

        def end_call(self, *args, **kwargs):
            super().end_call(*args, **kwargs)
            watch.look(self.anchors.held)

    monkeypatch.setattr(starting, "ActiveRun", Watched)
    return watch


@pytest.fixture(scope="module")
def wide():
    """A tiny FLUX whose tokens take another number of bytes than its latents."""
    return tiny.flux(hidden_size=96, num_heads=3)


@pytest.fixture
def no_collector():
    gc.disable()
    yield
    gc.enable()


def sampling(model, steps=8):
    """What a search samples: the tiny FLUX with two prompts."""
    guider = comfy.samplers.CFGGuider(model)
    guider.set_conds(tiny.conditioning(1), tiny.conditioning(2))
    guider.set_cfg(3.0)
    latent = torch.zeros(1, 16, 8, 8)
    noise = comfy.sample.prepare_noise(latent, seed=1)
    euler = comfy.samplers.sampler_object("euler")
    return Sampling(guider, noise, latent, euler, zoo.sigmas(model, steps), seed=1)


# --- how much -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("policy", "anchors", "size"), NEEDS, ids=str)
def test_a_policy_holds_what_it_declares_and_the_record_tells_its_bytes(
    wide, watch, policy, anchors, size
):
    listener = tiny.Listener()
    tiny.sample(tiny.attach(wide, SCHEDULE, policy, listener))
    (record,) = listener.records
    assert record.full_steps == (0, 1, 2, 4)
    risk = policy.risk(record.realized)
    assert record.notes == ((risk,) if risk else ())
    assert watch.most_anchors == anchors <= policy.num_anchors
    assert record.cache_bytes == size
    assert watch.most_bytes == size  # no larger tensor stays behind a view


@pytest.mark.parametrize(
    ("policy", "anchors", "size"),
    [need for need in NEEDS if need[0] in (Taylor(2), TwoAnchor(), MeanVelocity(4))],
    ids=str,
)
def test_longer_runs_hold_no_more(wide, watch, policy, anchors, size):
    listener = tiny.Listener()
    tiny.sample(tiny.attach(wide, "0-4,7-9,12,19/20", policy, listener), steps=20)
    assert watch.most_anchors == anchors
    assert listener.records[0].cache_bytes == watch.most_bytes == size


@pytest.mark.parametrize(
    ("policy", "size"),
    [
        (Reuse(), 2 * TOKENS // 2),  # computed in bfloat16
        (Reuse(Site.OUTPUT), 2 * LATENT),  # samplers compute in float32
    ],
    ids=str,
)
def test_features_are_kept_in_the_dtype_in_which_they_were_computed(watch, policy, size):
    model = tiny.flux(torch.bfloat16, hidden_size=96, num_heads=3)
    listener = tiny.Listener()
    tiny.sample(tiny.attach(model, SCHEDULE, policy, listener))
    assert listener.records[0].cache_bytes == watch.most_bytes == size


def test_a_run_in_full_holds_nothing(wide, watch):
    listener = tiny.Listener()
    tiny.sample(tiny.attach(wide, "0-7/8", Taylor(2), listener))
    assert listener.records[0].cache_bytes == watch.most_bytes == 0


# --- for how long ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("policy", [Hermite(2), TwoAnchor(), LINEAR, MeanVelocity(4)], ids=str)
def test_anchors_are_freed_when_the_run_ends(model, watch, policy):
    alive = []
    patched = tiny.attach(model, SCHEDULE, policy)
    tiny.sample(patched, callback=lambda *args: alive.append(watch.alive()))
    assert alive[-1] > 0  # the last step is cached
    assert watch.alive() == 0


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize(
    ("policy", "error", "step"),  # steps 3 and 4 are cached and full
    [
        (Reuse(), comfy.model_management.InterruptProcessingException, 3),
        (TwoAnchor(), comfy.model_management.OOM_EXCEPTION, 4),
        (Reuse(Site.OUTPUT), comfy.model_management.OOM_EXCEPTION, 3),
        (MeanVelocity(), comfy.model_management.InterruptProcessingException, 4),
    ],
)
def test_anchors_are_freed_when_a_run_is_broken_off(model, watch, policy, error, step):
    alive = []

    def fail(current, x0, x, total):
        if current == step:
            alive.append(watch.alive())
            raise error

    try:
        tiny.sample(tiny.attach(model, SCHEDULE, policy), callback=fail)
    except error:
        assert watch.alive() == 0  # even before the error is forgotten
    assert alive[0] > 0


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize(
    ("policy", "module", "call"),
    [
        (Reuse(), "final_layer", 3), (TwoAnchor(), "double_blocks.0", 3),
        (Taylor(2), "single_blocks.2", 3),
    ],
    ids=["cached", "first block", "full"],
)  # fmt: skip
def test_anchors_are_freed_when_the_model_fails(model, watch, monkeypatch, policy, module, call):
    inner = model.model.diffusion_model.get_submodule(module)
    forward, calls = inner.forward, []

    def fail(*args, **kwargs):
        calls.append(1)
        if len(calls) > call:
            raise comfy.model_management.OOM_EXCEPTION
        return forward(*args, **kwargs)

    monkeypatch.setattr(inner, "forward", fail)
    # Its traceback holds what the call was working on.
    with contextlib.suppress(comfy.model_management.OOM_EXCEPTION):
        tiny.sample(tiny.attach(model, SCHEDULE, policy))
    assert len(calls) == call + 1
    assert len(watch.tensors) > 0
    assert watch.alive() == 0


# --- where ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choice", "mib", "budget"),
    [
        ("model device", 3, math.inf),
        ("CPU", 3, 0),
        ("automatic", 3, 3_145_728),
        ("automatic", 0, 0),
    ],
)
def test_the_node_hands_the_budget_to_the_run(model, watch, choice, mib, budget):
    (patched,) = (
        GoldenPathCache.PREPARE_CLASS_CLONE(None)
        .execute(model, "Custom", SCHEDULE, None, choice, mib)
        .result
    )
    assert torch.equal(tiny.sample(patched), tiny.sample(tiny.attach(model, SCHEDULE)))
    assert watch.budgets == [budget, DEFAULT_BUDGET]


def test_what_is_searched_and_compared_has_the_budget_that_the_node_begins_with(model, watch):
    work = sampling(model)
    with torch.inference_mode():
        work.cached(Schedule.parse(SCHEDULE), Reuse())
        work.resumed(Schedule.parse(SCHEDULE), Reuse(), PrefixMemory(1e9))
    assert watch.budgets == [DEFAULT_BUDGET] * 2


def test_a_run_whose_states_are_kept_holds_on_its_device_what_its_policy_needs(model, monkeypatch):
    seen, alive = [], []  # residuals "on the device", and how many are alive after each step

    def to_another_device(anchor, device):
        seen.append(weakref.ref(anchor.feature[0]))
        return replace(anchor, feature=tuple(part.clone() for part in anchor.feature))

    def reached(self, step, latent):
        keep(self, step, latent)
        alive.append(len({id(tensor()) for tensor in seen if tensor() is not None}))

    keep = Keeper.reached
    monkeypatch.setattr(Anchor, "to", to_another_device)
    monkeypatch.setattr(Keeper, "reached", reached)
    with torch.inference_mode():
        sampling(model, 16).resumed(Schedule.parse("0-9,11,13/16"), Reuse(), PrefixMemory(1e9))
    assert len(seen) >= 2 * 12  # one residual of each prompt at each full step
    assert max(alive) == 2


def test_a_residual_that_does_not_fit_stops_caching_but_not_the_run(model, reference, monkeypatch):
    def fail(*args, **kwargs):
        raise comfy.model_management.OOM_EXCEPTION("no memory")

    monkeypatch.setattr(Surgery, "take", fail)
    listener = tiny.Listener()
    assert torch.equal(tiny.sample(tiny.attach(model, "0,1,4/8", listener=listener)), reference)
    (record,) = listener.records
    assert (record.cached_steps, record.cache_bytes) == ((), 0)
    assert "what it needs did not fit into memory" in record.notes[0]
