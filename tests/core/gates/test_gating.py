import math
from dataclasses import dataclass

import pytest
import torch

from gph_core.gates.base import Gate, GateInput, Look
from gph_core.policies.extrapolation import Reuse
from gph_core.run.active_run import ActiveRun
from gph_core.schedule import Schedule

SIGMAS = (1.0, 0.8, 0.6, 0.4, 0.2, 0.0)
# The gate is asked about steps 1 to 3.
PLAN = Schedule.parse("0,4/5")


@dataclass(frozen=True)
class Scripted(Gate):
    """It compares what it sees with its threshold, and counts the steps that it saw."""

    threshold: float = 1.0
    look = Look.LATENT

    def signal(self, gate_input, forced):
        return float(gate_input.latent)

    def value(self, state, signal):
        return math.inf if state is None else signal

    def after(self, state, signal, value, is_cached):
        return (state or 0) + 1

    def __str__(self):
        return "scripted"


class Outputs(Scripted):
    reads_outputs = True

    def computed(self, state, gate_input, output):
        assert state is not None
        return state + float(output)


def active_run(gate=None, **options):
    return ActiveRun(PLAN, Reuse(), SIGMAS, gate=gate or Scripted(), **options)


def call(run, step, branches, value, leading=0):
    """What the run decides on a call in which its gate would see a value."""
    decision = run.begin_call(SIGMAS[step], branches, leading)
    if decision.leader is not None:
        gate_input = GateInput(step, SIGMAS[step], latent=torch.tensor(value))
        decision = run.settle(decision, branches, gate_input)
    if not decision.is_cached:
        features = [(torch.tensor([float(step)]),) for _ in branches]
        run.end_call(decision, branches, features)
    return decision


def kinds(run, values, branches=("p",)):
    """The kinds of all steps, whose values are given; 0: full."""
    return [int(call(run, n, branches, v).is_cached) for n, v in enumerate(values)]


def test_a_gate_decides_on_the_steps_that_the_schedule_leaves_to_it():
    run = active_run()
    assert kinds(run, (0.5, 0.5, 1.0, 0.9, 0.5)) == [0, 1, 0, 1, 0]
    record = run.finish()
    assert record.schedule == "0,2,4/5"
    assert record.cached_steps == (1, 3)
    assert record.refused_steps == ()
    assert record.gate == "scripted"
    assert record.gate_values == (None, 0.5, 1.0, pytest.approx(0.9), 0.5)


@pytest.mark.parametrize(("threshold", "expected"), [(0.0, [0] * 5), (math.inf, [0, 1, 1, 1, 0])])
def test_at_the_extreme_thresholds_all_steps_are_full_or_only_the_forced_ones(threshold, expected):
    assert kinds(active_run(Scripted(threshold)), (0.5,) * 5) == expected


def test_a_signal_that_is_no_number_makes_the_step_full():
    run = active_run()
    assert kinds(run, (0.5, math.nan, 0.5, 0.5, 0.5)) == [0, 0, 1, 1, 0]
    record = run.finish()
    assert record.gate_values[1] is None
    assert record.notes == ("steps were computed in full because a signal was no number",)


def test_all_branches_of_a_step_follow_the_one_that_decides():
    run = active_run()
    found = []
    for step, value in enumerate((0.5, 0.5, 2.0, 0.5, 0.5)):
        # The second call of a step would decide otherwise.
        found.append(call(run, step, ("p",), value).is_cached)
        assert call(run, step, ("n",), 2.5 - value).is_cached == found[-1]
    assert found == [False, True, False, True, False]


def test_the_caller_says_which_branch_of_the_first_call_decides():
    run = active_run()
    assert run.begin_call(1.0, ("n", "p"), leading=1).leader == 1
    run = active_run()
    for step in range(2):
        call(run, step, ("n", "p"), 0.5, leading=1)
    # Wherever it is in later calls.
    assert run.begin_call(SIGMAS[2], ("p", "n"), leading=1).leader == 0


def test_a_prompt_that_ends_hands_over_to_another_whose_first_step_is_full():
    run = active_run()
    assert call(run, 0, ("p",), 0.5).is_cached is False
    assert call(run, 1, ("p",), 0.5).is_cached is True
    assert call(run, 2, ("q",), 0.5).is_cached is False
    assert call(run, 3, ("q",), 0.5).is_cached is True
    note = run.finish().notes[0]
    assert "where another prompt or context window came first" in note


def test_a_call_without_an_anchor_makes_its_step_full_for_all_branches():
    run = active_run()
    call(run, 0, ("p",), 0.5)
    assert not call(run, 1, ("p", "n"), 0.5).is_cached
    assert not call(run, 1, ("p",), 0.5).is_cached
    assert call(run, 2, ("p", "n"), 0.5).is_cached
    assert run.finish().schedule == "0-1,4/5"


def test_the_anchor_has_to_be_that_of_the_last_step_that_the_gate_made_full():
    run = active_run()
    call(run, 0, ("p",), 0.5)
    call(run, 0, ("n",), 0.5)
    assert not call(run, 1, ("p",), 2.0).is_cached  # the other branch is not called here
    assert call(run, 2, ("p",), 0.5).is_cached
    assert not call(run, 2, ("n",), 0.5).is_cached
    assert "steps were computed in full because a branch had no anchor yet" in run.finish().notes


def test_caching_stops_where_nothing_can_be_observed():
    run = active_run()
    call(run, 0, ("p",), 0.5)
    decision = run.begin_call(SIGMAS[1], ("p",))
    assert not run.settle(decision, ("p",), None).is_cached
    assert not call(run, 2, ("p",), 0.5).is_cached
    assert "could not be observed" in run.finish().caching_stopped


def test_a_gate_that_reads_outputs_gets_those_of_the_leader_branch_at_full_steps():
    run = active_run(Outputs())
    for step, value in ((0, 0.5), (1, 0.5), (2, 3.0)):
        decision = run.begin_call(SIGMAS[step], ("n", "p"), leading=1)
        gate_input = GateInput(step, SIGMAS[step], latent=torch.tensor(value))
        decision = run.settle(decision, ("n", "p"), gate_input)
        outputs = [(torch.tensor([100.0]),), (torch.tensor([10.0 + step]),)]
        run.end_call(decision, ("n", "p"), outputs)
    # Three steps seen, of which 0 and 2 gave outputs.
    assert run.gating._state == 3 + 10 + 12


def test_each_step_is_reported_once_and_only_when_it_is_decided():
    reported = []
    run = active_run(on_step=lambda step, kind: reported.append((step, kind)))
    kinds(run, (0.5, 0.5, 2.0, 0.5, 0.5))
    assert reported == [(0, "full"), (1, "cached"), (2, "full"), (3, "cached"), (4, "full")]


def test_the_end_of_a_run_drops_what_the_gate_remembers():
    run = active_run()
    kinds(run, (0.5, 0.5, 0.5, 0.5, 0.5))
    run.finish()
    assert run.gating._state is None
