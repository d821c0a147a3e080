"""``gating``: what a gate keeps is memory of the run, beside its anchors."""

from dataclasses import dataclass, replace

import pytest
import torch

from gph_core.gates.base import Gate, GateInput, Look
from gph_core.gates.gating import Gating
from gph_core.policies.extrapolation import Reuse
from gph_core.run.active_run import ActiveRun
from gph_core.schedule import Schedule

from ...support.made_steps import made_steps
from ..run import test_anchors
from .test_gates_contract import GATES

device = test_anchors.device  # a fixture

SIGMAS = (1.0, 0.8, 0.6, 0.4, 0.2, 0.0)
PLAN = Schedule.parse("0,4/5")
# Of the made steps, float32 in bytes: latents of 3 x 8 x 12, tokens of 24 x 5.
LATENT, TOKENS = 3 * 8 * 12 * 4, 24 * 5 * 4
KEPT = {
    "TeaCache": TOKENS,
    "TeaCache, exact": TOKENS,
    "SeaCache": TOKENS,
    "SeaCache, raw": TOKENS,
    "SenCache": LATENT,
    "SenCache, start": LATENT,
    "DiCache": TOKENS,
    "delta minus": 2 * TOKENS,
    # Latent and output of the newest full step; the latent of this one; its rate is one number.
    "EasyCache": 3 * LATENT + 4,
    "first block": TOKENS,
}
# SenCache keeps what it saw as it is: in a run that is the latent alone.
LATENTS_ONLY = dict.fromkeys(("modulated", "tokens", "probe"))


@pytest.mark.parametrize("name", GATES)
def test_all_that_a_gate_keeps_counts_and_what_it_keeps_twice_once(name):
    inputs, outputs = made_steps()
    if name.startswith("SenCache"):
        inputs = [replace(s, **LATENTS_ONLY) for s in inputs]
    gating = Gating(GATES[name](1e9))
    for step, is_forced in enumerate((True, True, False)):
        gating.place(step, ("p",), 0)
        if not gating.decide(inputs[step], is_forced):
            gating.computed(step, ("p",), [outputs[step]])
    assert gating.num_bytes == KEPT[name]
    gating.clear()
    assert gating.num_bytes == 0


@dataclass(frozen=True)
class Keeps(Gate):
    """It caches all that it may, and keeps the latent."""

    threshold: float = 1.0
    look = Look.LATENT

    def signal(self, gate_input, forced):
        return gate_input.latent

    def value(self, state, signal):
        return 0.5

    def after(self, state, signal, value, is_cached):
        return signal


@pytest.mark.parametrize(
    ("budget", "where"),
    # The latent that the gate keeps on the device takes 12 bytes, an anchor 8.
    [(28, ["device", "device"]), (27, ["device", "cpu"]), (19, ["cpu", "cpu"])],
)
def test_anchors_get_what_a_gate_leaves_of_the_budget(device, budget, where):
    run = ActiveRun(PLAN, Reuse(), SIGMAS, budget, gate=Keeps())
    decision = run.begin_call(1.0, ("a", "b"))
    gate_input = GateInput(0, 1.0, latent=torch.ones(1, 3, device=device))
    decision = run.settle(decision, ("a", "b"), gate_input)
    run.end_call(decision, ("a", "b"), [(torch.ones(1, 2, device=device),)] * 2)
    placed = [run.anchors.held[branch][0].feature[0].device.type for branch in "ab"]
    assert placed == [device.type if w == "device" else w for w in where]
    assert run.finish().cache_bytes == 2 * 8 + 12


def test_branches_that_come_only_once_are_forgotten():
    # As windows that move: each step has others, and a gate makes all of them full.
    run = ActiveRun(PLAN, Reuse(), SIGMAS, gate=Keeps())
    held = []
    for step, sigma in enumerate(SIGMAS[:4]):
        branches = (f"window {step}", f"window {step}, later")
        decision = run.begin_call(sigma, branches)
        decision = run.settle(decision, branches, GateInput(step, sigma, latent=torch.ones(1, 3)))
        assert not decision.is_cached
        run.end_call(decision, branches, [(torch.ones(1, 2),)] * 2)
        held.append(run.anchors.num_bytes)
    assert held == [16, 32, 32, 32]
