"""What is remembered of a run: which anchors, for how long, and in which memory."""

import math

import pytest
import torch

from gph_core.policies.base import Anchor
from gph_core.policies.extrapolation import Reuse, Taylor
from gph_core.policies.mean_velocity import MeanVelocity
from gph_core.policies.two_anchor import TwoAnchor
from gph_core.run.active_run import ActiveRun
from gph_core.run.anchors import Anchors, last_uses
from gph_core.schedule import Schedule, uniform


def anchor(step, tokens=2):
    return Anchor(step, 1 - step / 20, (torch.full((1, tokens), float(step)),))


def steps(anchors):
    return [a.step for a in anchors]


@pytest.mark.parametrize(
    ("step", "newest_full", "enough"),
    [(1, 0, {"a", "b", "c"}), (3, 2, {"b", "c"}), (4, 2, {"b", "c"}), (7, 6, {"c"})],
)
def test_a_branch_needs_the_anchor_of_the_newest_full_step(step, newest_full, enough):
    anchors = Anchors(Taylor(2), Schedule.parse("0,2,5,6/8"))
    for full, branches in ((0, "abc"), (2, "bc"), (6, "c")):
        anchors.insert(branches, [anchor(full)] * len(branches))
    assert {b for b in "abc" if anchors.before(step, b, newest_full)} == enough
    assert (anchors.before(step, "abc", newest_full) is None) == (len(enough) < 3)


def test_older_anchors_of_branches_may_differ():
    anchors = Anchors(Taylor(1), Schedule.parse("0,2/5"))
    anchors.insert("a", [anchor(0)])
    anchors.insert("ab", [anchor(2)] * 2)
    assert [steps(found) for found in anchors.before(3, "ba", 2)] == [[2], [2, 0]]
    assert anchors.before(3, "", 2) is None


def test_an_anchor_of_another_shape_replaces_what_is_of_no_use_with_it():
    anchors = Anchors(Taylor(1), Schedule.parse("0,1,2/5"))
    for new, held in ((anchor(0), [0]), (anchor(1), [1, 0]), (anchor(2, tokens=3), [2])):
        anchors.insert("a", [new])
        assert steps(anchors.held["a"]) == held
    assert anchors.peak_bytes == 2 * 2 * 4  # of two anchors with two float32 values each
    assert anchors.num_bytes == 3 * 4


def test_an_anchor_without_the_second_prompt_leaves_those_that_have_it():
    anchors, one = Anchors(Taylor(1), Schedule.parse("0,1,2/5")), anchor(0)
    both = Anchor(0, one.sigma, one.feature * 2)
    anchors.insert("a", [both])
    anchors.insert("a", [anchor(1)])
    assert [len(a.feature) for a in anchors.held["a"]] == [1, 2]


@pytest.mark.parametrize(
    ("policy", "num_anchors"), [(Reuse(), 1), (Taylor(1), 2), (Taylor(2), 3), (MeanVelocity(3), 3)]
)
def test_last_uses_agree_with_a_direct_statement(policy, num_anchors):
    # An anchor is used at a cached step if it is among the newest num_anchors before it: of the
    # full steps, or of all steps where cached ones leave anchors too.
    for schedule in (uniform(20, 9), Schedule.parse("0-5,9,10,15/20"), Schedule.parse("0/20")):
        for anchor in range(20):
            used = [-1]
            for cached in schedule.cached_steps:
                leaving = range(20) if policy.keeps_predictions else schedule.full_steps
                before = sorted({anchor, *(s for s in leaving if s < cached)})
                if anchor < cached and anchor in before[-num_anchors:]:
                    used.append(cached)
            assert last_uses(policy, schedule)[anchor] == max(used)


@pytest.fixture(params=["meta", *(["cuda"] if torch.cuda.is_available() else [])])
def device(request, monkeypatch):
    """A device that is not the main memory, on every machine one whose tensors hold no data."""
    if request.param == "meta":

        def to(self, device):
            feature = tuple(torch.zeros_like(t, device=device) for t in self.feature)
            return Anchor(self.step, self.sigma, feature)

        monkeypatch.setattr(Anchor, "to", to)
    return torch.device(request.param)


@pytest.mark.parametrize(
    ("budget", "where"),
    # Steps 0 and 1 leave an anchor of 8 bytes in each of the branches a and b, in this order.
    [
        (math.inf, ["device"] * 4),
        (32, ["device"] * 4),
        (31, ["device", "device", "device", "cpu"]),
        (16, ["device", "device", "cpu", "cpu"]),
        (7, ["cpu"] * 4),
        (0, ["cpu"] * 4),
    ],
)
def test_what_exceeds_the_budget_goes_to_main_memory(device, budget, where):
    run = ActiveRun(Schedule.parse("0,1/4"), Taylor(1), (1.0, 0.8, 0.6, 0.4, 0.0), budget)
    for sigma in (1.0, 0.8):
        decision = run.begin_call(sigma, ("a", "b"))
        run.end_call(decision, ("a", "b"), [(torch.ones(1, 2, device=device),)] * 2)
    placed = [run.anchors.held[branch][age].feature[0].device for age in (1, 0) for branch in "ab"]
    assert [d.type for d in placed] == [device.type if w == "device" else w for w in where]
    assert run.anchors.num_bytes == 32
    # Where they wait does not matter: the prediction is on the device of the call.
    decision = run.begin_call(0.6, ("b", "a"))
    (feature,) = decision.predicted(run.policy, torch.zeros(2, 2, device=device))
    assert feature.shape == (2, 2)
    assert feature.device.type == device.type


def test_an_anchor_that_is_dropped_makes_room_on_the_device(device):
    run = ActiveRun(Schedule.parse("0,2/4"), Reuse(), (1.0, 0.8, 0.6, 0.4, 0.0), 8)
    for sigma in (1.0, 0.6):
        decision = run.begin_call(sigma, ("a",))
        run.end_call(decision, ("a",), [(torch.ones(1, 2, device=device),)])
        (anchor,) = run.anchors.held["a"]
        assert anchor.feature[0].device.type == device.type


def test_all_tensors_of_an_anchor_move():
    tensor = torch.ones(1)
    anchor = Anchor(0, 1.0, (tensor, tensor), latent=tensor, probe=(tensor, tensor))
    moved = anchor.to(torch.device("meta"))
    assert [t.device.type for t in moved.tensors] == ["meta"] * 5
    assert (moved.step, moved.sigma) == (0, 1.0)


@pytest.mark.parametrize("budget", [0, 3 * 16 * 64 * 4], ids=["none", "some"])
def test_anchors_of_two_prompts_may_wait_in_different_places(budget, monkeypatch):
    # What exceeds the budget is moved; a call needs the anchors of both prompts in one place.
    moved = []
    move = Anchor.to
    monkeypatch.setattr(
        Anchor, "to", lambda self, device: moved.append(device) or move(self, device)
    )
    run = ActiveRun(Schedule.parse("0,1/4"), TwoAnchor(), (1.0, 0.7, 0.4, 0.2, 0.0), budget)
    tokens = torch.ones(1, 16, 64)
    for sigma in (1.0, 0.7):
        decision = run.begin_call(sigma, ("p", "n"))
        run.end_call(decision, ("p", "n"), [(tokens,)] * 2, [(tokens,)] * 2)
    decision = run.begin_call(0.4, ("p", "n"))
    moved.clear()
    newest, before = decision.probe_anchors(tokens.device)
    assert moved == [tokens.device] * 4  # before they are joined
    assert newest.feature[0].shape == before.probe[0].shape == (2, 16, 64)


def test_a_sampler_may_step_back_by_two_and_further_means_a_new_start():
    anchors = Anchors(Reuse(), Schedule.parse("0,6/8"))
    anchors.insert("a", [anchor(0)])
    anchors.forget_up_to(4)
    anchors.forget_up_to(2)
    assert steps(anchors.held["a"]) == [0]
    anchors.forget_up_to(4)
    anchors.forget_up_to(1)
    assert not anchors.held
