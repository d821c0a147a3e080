"""Thresholds on toys: a step of a run has one value, and is cached below the threshold."""

import math
from dataclasses import replace

import pytest
import torch

from gph_core.calibration.entry import Calibration
from gph_core.experiments import ratio
from gph_core.experiments.ratio import calibrate_ratio
from gph_core.methods.table import ALL
from gph_core.policies.extrapolation import Reuse
from gph_core.policies.two_anchor import TwoAnchor

from ...support.made_records import record
from ...support.toy_runner import ToyExamples, ToySetup, examples_of, levels

N = 10  # the first step and the last one are full, steps 1 to 8 have values
SEACACHE, MAGCACHE = ALL["SeaCache"], ALL["MagCache"]


def work(*seeds, **changes):
    return ToyExamples(examples_of(*seeds), ToySetup(levels(N), **changes))


class Under:
    """Runs of examples, where step n of the example with seed s has the value n + s / 2.

    Args:
        most: how many runs are made before the user cancels.
        facts: of the records.
    """

    def __init__(self, examples, most=99, **facts):
        self.examples, self.most, self.facts = examples, most, facts
        self.seeds, self.thresholds = [], []

    def __call__(self, number, plan, on_step):
        if len(self.seeds) == self.most:
            raise KeyboardInterrupt
        seed = self.examples.examples[number].seed
        gate = self.examples.setup.choice_of(plan).gate
        self.seeds.append(seed)
        self.thresholds.append(gate.threshold)
        on_step(4)
        values = [step + seed / 2 for step in range(N)]
        full = [n for n in range(N) if n in (0, N - 1) or not values[n] < gate.threshold]
        gate_values = (None, *values[1:-1], None)
        return record(full, N, gate_values=gate_values, **self.facts)


def found(examples, num_full=6, method=SEACACHE, policy=None, under=None, **options):
    """Calibration, outcome, and the runs that were made."""
    under = under or Under(examples)
    policy = policy or method.policy
    entry, threshold = calibrate_ratio(examples, under, method, policy, num_full, **options)
    return entry, threshold, under


def test_the_threshold_lies_in_the_middle_of_those_that_cache_as_many_steps_as_wanted():
    entry, threshold, _ = found(work(0, 1))
    # Four of both below it: 4 and 4.5 are, 5 and 5.5 are not. The middle is that by ratio.
    assert (threshold.low, threshold.high, threshold.counts) == (4.5, 5, (4, 4))
    assert threshold.threshold == pytest.approx(math.sqrt(4.5 * 5))
    (kept,) = entry.thresholds
    assert (kept["target"], kept["num_examples"], kept["counts"]) == (4, 2, {"4": 2})
    assert kept["threshold"] == threshold.threshold
    assert kept["settings"]["full steps"] == 6


def test_each_run_is_kept_as_that_of_its_example():
    entry, *_ = found(work(0, 1))
    edges = {name: set() for name in work(0, 1).names()}
    for run in entry.runs:
        edges[run["example"]] |= {run["low"], run["high"]} - {math.inf, -math.inf}
    zero, one = edges.values()
    assert zero <= set(range(1, 9))
    assert one <= {n + 0.5 for n in range(1, 9)}
    assert {4.0, 5.0} <= zero
    assert {4.5, 5.5} <= one


def test_no_run_is_repeated_whatever_the_order_of_the_examples():
    entry, threshold, under = found(work(0, 1))
    assert len(under.seeds) == len(entry.runs)
    saved = []
    again, same, under = found(work(1, 0), entry=entry, save=lambda *some: saved.append(some))
    assert under.seeds == saved == []
    assert same.threshold == threshold.threshold
    assert again.thresholds == entry.thresholds


def test_of_more_examples_only_the_new_ones_are_run():
    entry, *_ = found(work(0, 1))
    more, threshold, under = found(work(0, 1, 2), num_full=6, entry=entry)
    assert 2 in under.seeds
    assert more.thresholds[0]["num_examples"] == 3
    # Values 4, 4.5, 4 below it, 5, 5.5, 5 not: the counts are 4, 4 and 3, as step 3 has 4 there.
    assert threshold.counts == (4, 4, 3)


def test_what_was_run_is_saved_when_the_user_cancels_and_none_of_it_is_repeated():
    _, whole, all_runs = found(work(0, 1))
    saved = []
    cancelled = Under(work(0, 1), most=5)
    with pytest.raises(KeyboardInterrupt):
        found(work(0, 1), under=cancelled, save=lambda *some: saved.extend(some))
    (entry,) = saved
    assert len(entry.runs) == 5
    _, threshold, rest = found(work(0, 1), entry=entry)
    assert cancelled.seeds + rest.seeds == all_runs.seeds
    assert threshold.threshold == whole.threshold


def test_runs_are_saved_every_few_seconds(monkeypatch):
    clock = iter(range(0, 1000, 2))  # each look at it is two seconds later
    monkeypatch.setattr(ratio.time, "monotonic", lambda: next(clock))
    saved = []
    found(work(0), save=lambda *some: saved.extend(some))
    # It looks before the first run, after each, and after saving: more than 5 s are three runs.
    assert [len(entry.runs) for entry in saved[:2]] == [3, 6]


def test_the_progress_counts_six_runs_of_each_example():
    parts = []
    found(work(0, 1), progress=parts.append)
    # Of twelve runs: at the beginning, after step 4 of 10, and at the beginning of the second.
    assert parts[:3] == pytest.approx([0, 0.5 / 12, 1 / 12])
    assert parts == sorted(parts)
    assert parts[-1] <= 1


def test_other_conditions_are_refused_by_name_before_anything_runs():
    entry, *_ = found(work(0))
    under = Under(work(0))
    with pytest.raises(ValueError, match="calibrated with the family Toy, this run has Other"):
        found(work(0, name="Other"), entry=entry, under=under)
    assert under.seeds == []


def test_a_threshold_from_more_examples_is_kept():
    entry, *_ = found(work(0, 1))
    entry, under = replace(entry, file="mine.safetensors"), Under(work(0))
    with pytest.raises(
        ValueError,
        match=r"mine\.safetensors has the threshold of SeaCache for 6 full steps from 2 examples, "
        "more than the 1 of this run; use that threshold",
    ):
        found(work(0), entry=entry, under=under)
    assert under.seeds == []
    assert len(found(work(0), num_full=7, entry=entry)[0].thresholds) == 2


def test_a_method_that_lacks_its_fit_or_cannot_cache_here_says_so_before_anything_runs():
    refused = work(0, refusals={Reuse(): "the blocks are hidden; choose another policy"})
    for examples, method, reason in (
        (work(0), ALL["SenCache"], "SenCache needs sensitivities of this model .Toy.; run Calibr"),
        (refused, SEACACHE, "SeaCache has no threshold in this workflow: the blocks are hidden"),
        (work(0), MAGCACHE, "MagCache needs residual ratios"),
    ):
        under = Under(examples)
        with pytest.raises(ValueError, match=reason):
            found(examples, method=method, under=under)
        assert under.seeds == []


def test_a_number_out_of_reach_is_an_error_and_one_beyond_the_rule_a_note():
    with pytest.raises(ValueError, match="9 cached steps are out of reach, at most 8 can be"):
        found(work(0), num_full=1)

    def under(number, plan, on_step):  # steps 5 to 8 are full at any threshold
        is_cached = work(0).setup.choice_of(plan).gate.threshold > 1
        full = (0, 5, 6, 7, 8, 9) if is_cached else range(N)
        return record(full, N, gate_values=(1.0,) * 5 + (math.inf,) * 5)

    _, threshold, _ = found(work(0), num_full=4, under=under)
    assert threshold.counts == (4,)
    assert threshold.note == "even an infinite threshold caches only 4 on average, not 6"


def test_a_run_in_which_caching_stopped_is_an_error_and_earlier_ones_are_saved():
    examples, saved = work(0), []
    good = Under(examples)
    bad = Under(examples, caching_stopped="memory", notes=("memory is too small",))

    def run(*arguments):
        return (bad if len(good.seeds) == 2 else good)(*arguments)

    with pytest.raises(ValueError, match=r"no threshold .* in this workflow: memory is too"):
        found(examples, under=run, save=lambda *some: saved.extend(some))
    assert [len(entry.runs) for entry in saved] == [2]


def test_a_rule_that_decides_before_the_run_needs_no_run():
    examples = work(0, 1)
    values = {"0": torch.tensor([1.0] + [0.9] * (N - 1), dtype=torch.float64)}
    former = Calibration("MagCache", examples.setup.conditions, values)
    entry, threshold, under = found(examples, method=MAGCACHE, entry=former)
    assert under.seeds == []
    # Behind a full step errors add up to 0.1, then 0.1 + 0.19, then 0.29 + 0.271. Between 0.1 and
    # 0.29 every second step is cached: 1, 3, 5 and 7, as 9 has to be full.
    assert threshold.counts == (4,)
    assert threshold.threshold == pytest.approx(math.sqrt(0.1 * 0.29))
    assert entry.runs == ()


def test_another_policy_has_another_threshold_beside_the_first():
    entry, *_ = found(work(0))
    entry, *_ = found(work(0), policy=TwoAnchor(), entry=entry)
    policies = [kept["settings"]["policy"] for kept in entry.thresholds]
    assert policies == ["residual reuse", str(TwoAnchor())]
    # It needs two full steps at first.
    assert [kept["settings"]["forced"] for kept in entry.thresholds] == ["0,9/10", "0-1,9/10"]


def test_a_variant_takes_the_fit_of_its_row_and_has_a_threshold_of_its_own():
    plain, variant = ALL["DiCache"], ALL["DiCache (delta minus)"]
    entry, *_ = found(work(0), method=plain, num_full=7)
    entry, *_ = found(work(0), method=variant, num_full=7, entry=entry)
    assert [kept["settings"].get("form", "") for kept in entry.thresholds] == ["", "delta minus"]
