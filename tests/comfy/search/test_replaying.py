"""A recorded run is replayed with its schedule and its policy."""

import json
import re

import pytest
import torch
from golden_path_pack.gph_core.paths.library import NONE
from golden_path_pack.gph_core.policies.causal_linear import CausalLinear
from golden_path_pack.gph_core.policies.extrapolation import Reuse, Taylor
from golden_path_pack.gph_core.policies.mean_velocity import MeanVelocity
from golden_path_pack.gph_core.policies.reuse import OffsetReuse
from golden_path_pack.nodes.cache.cache import GoldenPathCache
from golden_path_pack.nodes.record import recordings
from golden_path_pack.nodes.record.most_frequent import MostFrequentSchedule

from ...support.comfy import tiny
from ...support.comfy.tiny_recordings import STEPS, adaptive, by_hand, examples, fixed, run
from ...support.selection import later

pytestmark = pytest.mark.usefixtures("in_a_run")


def test_the_schedule_of_a_recording_runs_as_a_fixed_one(model):
    runs, _ = run(adaptive(model))
    schedule = MostFrequentSchedule.execute(NONE, 0, runs).result[0]
    replayed, _ = run(fixed(model, schedule), recording="replayed")
    for found in replayed:
        assert str(found.record.realized) == schedule


@pytest.mark.parametrize(
    "method", ["EasyCache", "DiCache", *later("First Block Cache", "SeaCache")]
)
def test_a_run_is_replayed_bit_for_bit_with_its_schedule_and_policy(model, method):
    def cached(threshold):
        return adaptive(model, threshold, method)

    # A threshold at which the rule decides both ways.
    for threshold in (0.05 * 2**n for n in range(20)):
        runs, _ = run(cached(threshold), 1, recording=f"{threshold}")
        if len(runs[0].record.cached_steps) >= 2:
            break
    assert len(runs[0].record.full_steps) > 2
    schedule, *_, policy = MostFrequentSchedule.execute(f"{threshold}", 0).result
    _, expected = by_hand(cached(threshold), examples(1)[0])
    replayed = GoldenPathCache.execute(model, "Custom", schedule, policy).result[0]
    _, found = by_hand(replayed, examples(1)[0])
    assert torch.equal(found, expected)
    if method != "SeaCache":  # which predicts as Golden Path Cache does by itself
        alone = GoldenPathCache.execute(model, "Custom", schedule).result[0]
        assert not torch.equal(by_hand(alone, examples(1)[0])[1], expected)


def policy_of(runs):
    return MostFrequentSchedule.execute(NONE, 0, runs).result[-1]


def test_the_policy_of_all_runs_is_given_with_its_options(model):
    for policy in (Taylor(2, max_amplification=8.0), MeanVelocity(spans=((2, 1),)), OffsetReuse()):
        runs, _ = run(tiny.attach(model, "0-1,3-7/8", policy), 1, recording=f"{policy}"[:12])
        assert policy_of(runs) == policy


def test_runs_without_one_known_policy_stop_those_who_want_it_and_say_why(model):
    weights = CausalLinear(torch.diag(torch.ones(STEPS - 1), -1))
    reuse, _ = run(fixed(model), 1)
    taylor, _ = run(tiny.attach(model, "0-2,5,7/8", Taylor(1)), 1, recording="Taylor")
    linear, _ = run(tiny.attach(model, "0-2,5,7/8", weights), 1, recording="linear")
    for runs, reason in (
        (
            reuse + taylor,
            r"several policies \(residual reuse, Taylor order 1\); record runs",
        ),
        (linear, r"do not contain their policy \(causal linear\), because it has weights"),
    ):
        schedule, _, table, *_, blocked = MostFrequentSchedule.execute(NONE, 0, runs).result
        assert schedule == "0-2,5,7/8"
        assert re.search(reason, blocked.message)
        assert "policy of the runs: " + ", ".join(r.record.policy for r in runs) in table


def test_a_recording_from_before_policies_were_kept_is_counted_as_ever(model):
    run(fixed(model), 1)
    path = recordings.FILES.path_of("mine")
    header, line = path.read_text("utf-8").splitlines()
    data = json.loads(line)
    assert data["record"].pop("policy_data") == {"kind": "Reuse"}
    path.write_text(f"{header}\n{json.dumps(data)}\n", "utf-8")
    schedule, *_, blocked = MostFrequentSchedule.execute("mine", 0).result
    assert schedule == "0-2,5,7/8"
    assert "or an older version recorded them; connect the policy" in blocked.message
    # Runs that are added say it for all: a recording has one policy.
    run(fixed(model), 2)
    assert MostFrequentSchedule.execute("mine", 0).result[-1] == Reuse()
