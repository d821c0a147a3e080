"""``experiments/search`` on the toy: what is delivered is what brute force finds."""

import hashlib
import itertools
import json
import math
import sqlite3
import statistics
from dataclasses import dataclass, replace

import pytest

from gph_core.experiments import search as search_module
from gph_core.experiments.search import SearchSession, search
from gph_core.experiments.study_logs import StudyLogs
from gph_core.paths.golden_path import SEARCHED, GoldenPath
from gph_core.paths.spacings import even, spacings
from gph_core.policies.base import Site
from gph_core.policies.damped_velocity import DampedVelocity
from gph_core.policies.extrapolation import Hermite, Reuse
from gph_core.policies.fitted import Fitted
from gph_core.run_plan import by_count
from gph_core.schedule import Schedule
from gph_core.search.budget import Budget
from gph_core.search.judge import Race
from gph_core.search.protocol import Listener, SearchSettings
from gph_core.search.selection import PlainSteps

from ...support.toy_runner import (
    ToyExamples,
    ToyRunner,
    ToySetup,
    examples_of,
    levels,
    metrics_of,
    run,
)

STEPS, FULL = 8, 4
SCORING, OTHERS = examples_of(0, 1, 2, 3), examples_of(10, 11, 12)
VELOCITY = Reuse(Site.GUIDED)


@pytest.fixture(autouse=True)
def unsynced(monkeypatch):
    """Logs do not wait for the disk, which takes ten times as long as all else."""
    connect = sqlite3.connect

    def connected(*args, **options):
        database = connect(*args, **options)
        database.execute("PRAGMA synchronous = OFF")
        return database

    monkeypatch.setattr(sqlite3, "connect", connected)


def psnr(example, schedule, policy):
    """PSNR of one example, without a runner."""
    ends = (run(example.start, levels(STEPS), *plan)[-1] for plan in ((schedule, policy), ()))
    return metrics_of(*ends)["psnr"]


def values(examples, schedule, policy):
    return pytest.approx([psnr(example, schedule, policy) for example in examples])


def every(first, *required):
    """All schedules with these full steps and ``FULL`` in all, in a loop of its own."""
    free = [step for step in range(STEPS) if step not in (first, *required)]
    for some in itertools.combinations(free, FULL - 1 - len(required)):
        yield Schedule((first, *required, *some), STEPS)


def digest(*given):
    return hashlib.sha256(json.dumps(given).encode()).hexdigest()


def runners(scoring=SCORING, validation=OTHERS, setup=None, kind=ToyRunner, **options):
    setup = setup or ToySetup()
    return [
        kind(ToyExamples(examples, setup), **options) for examples in (scoring, list(validation))
    ]


def session(folder, scoring, validation, num_full=FULL, **changes):
    setup = scoring.work.setup
    parts = [[[e.prompt, e.seed] for e in part.work.examples] for part in (scoring, validation)]
    counts = f"{num_full} of {setup.num_steps}"
    logs = StudyLogs(folder / "study", setup.conditions, counts, *parts, digest)
    options = {"state_bytes": 0.0, "folder": folder} | changes
    return SearchSession(setup, scoring, validation, logs, num_full, **options)


def searched(folder, policies, pair=None, in_order=False, num_full=FULL, **settings):
    """Delivery and notes."""
    pair, changes = pair or runners(), {}
    if "fixed_ends" in settings:
        changes["fixed_ends"] = settings["fixed_ends"]
    if "state_bytes" in settings:
        changes["state_bytes"] = settings.pop("state_bytes")
    chosen = {"budget": Budget(), "algorithm": "exhaustive"} | settings
    of = session(folder, *pair, num_full, **changes)
    return search(of, policies, SearchSettings(num_full, **chosen), Listener(), in_order)


def rows(delivery):
    return [delivery.best, *delivery.others]


@pytest.mark.parametrize("policy", [Reuse(), VELOCITY], ids=str)
def test_without_validation_the_best_of_all_schedules_is_delivered(tmp_path, policy):
    pair = runners(validation=())
    delivery, _ = searched(tmp_path, [policy], pair)
    baselines = session(tmp_path, *pair).baselines(policy).values()
    best = max(
        (*every(0, STEPS - 1), *baselines),
        key=lambda s: statistics.fmean(psnr(e, s, policy) for e in SCORING),
    )
    assert (delivery.best.schedule, delivery.best.policy) == (best, policy)
    assert delivery.best.score.values == values(SCORING, best, policy)
    assert {s for s, *_ in pair[0].measured} >= set(every(0, STEPS - 1))


def test_validation_chooses_among_the_finalists_on_examples_of_its_own(tmp_path):
    delivery, _ = searched(tmp_path, [Reuse()])
    found = [row for row in rows(delivery) if not isinstance(row.policy, PlainSteps)]
    for row in found:
        assert row.score.values == values(OTHERS, row.schedule, row.policy)
    assert delivery.best.score.mean == max(row.score.mean for row in found)
    scored = {s: statistics.fmean(psnr(e, s, Reuse()) for e in SCORING) for s in every(0, 7)}
    first = max(scored, key=scored.__getitem__)
    assert first in [row.schedule for row in found]
    assert delivery.best.schedule != first  # else validation would not show


def test_beside_the_finalists_there_are_both_baselines(tmp_path):
    names = {row.name for row in rows(searched(tmp_path, [Reuse()])[0])}
    assert names == {"", "spacing by noise level", "uniform spacing"}


def test_a_policy_with_several_first_steps_has_baselines_with_them(tmp_path):
    baselines = session(tmp_path, *runners()).baselines(Hermite(2))
    assert set(baselines) == {"spacing by noise level", "uniform spacing"}
    for schedule in baselines.values():
        assert set(schedule.full_steps) >= {0, 1, 2}
        assert schedule.num_full == FULL


def path_of(text, count=STEPS):
    return GoldenPath(
        "mine", Schedule.parse(text), SEARCHED, Reuse(), family="Toy", model="toy",
        sigmas=tuple(levels(count)), architecture={"is": "a toy"},
    )  # fmt: skip


@dataclass(frozen=True)
class Stated(ToySetup):
    """Setup whose model has an architecture, so that paths of the library fit."""

    def known(self, policy):
        return replace(super().known(policy), architecture={"is": "a toy"})


def test_a_path_of_the_library_is_a_baseline_by_its_name(tmp_path, monkeypatch):
    monkeypatch.setattr(search_module, "bundled_paths", lambda: [path_of("0-2,5/8")])
    baselines = session(tmp_path, *runners(setup=Stated())).baselines(Reuse())
    assert baselines["mine"] == Schedule.parse("0-2,5/8")


def test_a_part_of_a_path_with_another_number_of_full_steps_is_no_baseline(tmp_path, monkeypatch):
    monkeypatch.setattr(search_module, "bundled_paths", lambda: [path_of("0-4,6,8,11/16", 16)])
    # The first 8 of 16 steps, of which 6 are full; with 4 it is one.
    part = Stated(sigmas=levels(16)[:9])
    names = {
        count: set(session(tmp_path, *runners(setup=part), count).baselines(Reuse()))
        for count in (4, 6)
    }
    assert names[4] == {"uniform spacing"}
    assert "uniform spacing" in names[6]


def test_the_first_step_alone_can_be_required(tmp_path):
    for fixed_ends, required in ((None, [STEPS - 1]), (True, [STEPS - 1]), (False, [])):
        pair = runners(validation=())
        searched(tmp_path / str(fixed_ends), [Reuse()], pair, fixed_ends=fixed_ends)
        scored = {s for s, policy, *_ in pair[0].measured if policy == Reuse()}
        outside = set(session(tmp_path, *pair).baselines(Reuse()).values())
        assert scored - outside == set(every(0, *required)) - outside


def test_states_are_shared_by_the_policies_and_not_kept_in_validation(tmp_path):
    pair = runners()
    searched(tmp_path, [Reuse(), VELOCITY], pair, state_bytes=64.0, budget=Budget(evaluations=8))
    scoring, validation = ({bytes_ for *_, bytes_ in runner.measured} for runner in pair)
    assert scoring == {32.0}
    assert validation == {0}


def test_full_runs_are_forgotten_where_no_search_needs_them(tmp_path):
    pair = runners()
    searched(tmp_path, [Reuse(), VELOCITY, Fitted()], pair, budget=Budget(evaluations=12))
    assert pair[0].users == set()
    assert set(pair[0].full_runs) == {0, 1, 2, 3}


def test_of_several_policies_two_go_on_and_the_best_pair_is_delivered(tmp_path):
    policies = [Reuse(), VELOCITY, Reuse(Site.OUTPUT)]
    delivery, _ = searched(tmp_path, policies, budget=Budget(evaluations=90))
    assert len(delivery.studies) == 2
    assert {row.policy for row in rows(delivery)} == set(policies)
    assert delivery.best.score.mean == max(row.score.mean for row in rows(delivery))


# Policies that cannot take part.


def test_a_policy_that_needs_more_full_steps_is_left_out_with_the_reason(tmp_path):
    delivery, notes = searched(tmp_path, [Hermite(2), Reuse()], num_full=3)
    assert {row.policy for row in rows(delivery)} == {Reuse()}
    assert (
        "Hermite order 2, scale 0.5 was left out: Hermite order 2, scale 0.5 needs 3 full first "
        "steps and one more, but only 3 steps are full; choose another policy or more full steps"
    ) in notes


def test_where_no_policy_is_possible_the_first_ones_reason_is_told(tmp_path):
    refusals = {Reuse(): "the blocks are not known", VELOCITY: "another reason"}
    pair = runners(setup=ToySetup(refusals=refusals))
    with pytest.raises(ValueError, match=r"^nothing can be searched: the blocks are not known$"):
        searched(tmp_path, list(refusals), pair)
    assert not [*pair[0].full_runs, *pair[1].full_runs]


@pytest.mark.parametrize(
    ("refusal", "policy", "notes"),
    [("", Fitted, 0), ("it draws noise", Reuse, 1)],
    ids=["possible", "refused"],
)
def test_in_order_the_first_possible_policy_is_the_only_one(tmp_path, refusal, policy, notes):
    pair = runners(refusal=refusal)
    delivery, told = searched(
        tmp_path, [Fitted(), Reuse(), VELOCITY], pair, in_order=True, budget=Budget(evaluations=3)
    )
    assert type(delivery.best.policy) is policy
    assert len(delivery.studies) == 1
    assert [n for n in told if "left out" in n] == ["fitted was left out: it draws noise"][:notes]


# Going on with what a log knows.


@dataclass
class Interrupted(ToyRunner):
    """Runner whose user cancels after so many measurements."""

    last: float = math.inf

    def measure(self, *args):
        if len(self.measured) == self.last:
            raise InterruptedError
        return super().measure(*args)


@pytest.mark.parametrize("policies", [[Reuse()], [Reuse(), VELOCITY]], ids=["one", "two"])
def test_an_interrupted_search_goes_on_where_it_was(tmp_path, policies):
    settings = {"budget": Budget(evaluations=20), "algorithm": "hill climbing"}
    settings["race"] = Race(2)

    def find(name, pair):
        return searched(tmp_path / name, policies, pair, **settings)[0]

    whole = runners(kind=Interrupted)
    found = find("whole", whole)
    asked = whole[0].measured
    for last in (0, 5, len(asked) - 1):
        pair = runners(kind=Interrupted, last=last)
        with pytest.raises(InterruptedError):
            find(str(last), pair)
        rest = runners(kind=Interrupted)
        again = find(str(last), rest)
        assert rows(again) == rows(found)
        assert [*pair[0].measured, *rest[0].measured] == asked


def test_a_search_that_is_asked_for_again_runs_nothing(tmp_path):
    policies = [Reuse(), VELOCITY]
    first = searched(tmp_path, policies, budget=Budget(evaluations=9))[0]
    pair = runners()
    again = searched(tmp_path, policies, pair, budget=Budget(evaluations=9))[0]
    assert rows(again) == rows(first)
    assert not [*pair[0].measured, *pair[1].measured]


def test_a_study_under_another_seed_or_algorithm_still_delivers_its_best(tmp_path):
    given = {"budget": Budget(evaluations=9), "algorithm": "hill climbing"}
    first = searched(tmp_path, [Reuse()], **given)[0]
    for other in ({"seed": 1}, {"algorithm": "random"}):
        pair = runners()
        assert searched(tmp_path, [Reuse()], pair, **given | other)[0].best == first.best
        assert not pair[0].measured


def test_validation_examples_can_be_added_and_changed_later(tmp_path):
    given = {"budget": Budget(evaluations=9)}
    searched(tmp_path, [Reuse()], runners(validation=()), **given)
    for others in (OTHERS, examples_of(20, 21)):
        pair = runners(validation=others)
        delivery, _ = searched(tmp_path, [Reuse()], pair, **given)
        assert not pair[0].measured
        best = delivery.best
        assert best.score.values == values(others, best.schedule, best.policy)


def test_without_validation_no_example_is_run_twice_under_a_schedule(tmp_path):
    pair = runners(validation=())
    searched(tmp_path, [Reuse(), VELOCITY], pair, budget=Budget(evaluations=30))
    runs = [(s, p, n) for s, p, numbers, _ in pair[0].measured for n in numbers]
    assert len(set(runs)) == len(runs) > 30


def test_groups_are_halved_where_the_memory_is_too_small(tmp_path):
    whole = searched(tmp_path / "large", [Reuse()], runners(batch=4))[0]
    small = runners(batch=4, fits=1)
    found, notes = searched(tmp_path / "small", [Reuse()], small)
    assert rows(found) == rows(whole)
    assert [n for n in notes if "out of memory" in n] == [
        "out of memory: examples are sampled 2 at a time",
        "out of memory: examples are sampled 1 at a time",
    ]


# Controls, and weights that are fitted to each schedule.


def fitted(folder, pair=None, evaluations=3, **settings):
    return searched(folder, [Fitted()], pair, budget=Budget(evaluations=evaluations), **settings)


def test_fitted_weights_come_with_uniform_reuse_and_plain_steps(tmp_path):
    delivery, _ = fitted(tmp_path)
    controls = {row.name: row for row in rows(delivery) if row.name}
    baselines = session(tmp_path, *runners()).baselines(Reuse())
    assert {name: row.schedule for name, row in controls.items()} == {
        **baselines, "4 plain steps": Schedule.parse("0,2,4,6/8"),
    }  # fmt: skip
    for row in controls.values():
        assert row.policy == (PlainSteps() if "plain" in row.name else Reuse())
        assert row.score.values == values(OTHERS, row.schedule, row.policy)


def test_where_a_run_without_a_path_takes_another_policy_it_is_a_control_too(
    tmp_path, monkeypatch
):  # fmt: skip
    known = ToySetup.known
    monkeypatch.setattr(ToySetup, "known", lambda *of: replace(known(*of), guidance=1.0))
    delivery, _ = fitted(tmp_path)
    (row,) = (row for row in rows(delivery) if row.name == "without a path")
    choice = ToySetup().choice_of(by_count(FULL, None, ()))
    assert (row.schedule, row.policy) == (choice.schedule, choice.policy)
    assert isinstance(row.policy, DampedVelocity)
    assert row.score.values == values(OTHERS, row.schedule, row.policy)


def test_a_search_begins_with_what_was_learned(tmp_path):
    learned = Schedule.parse("0,1,4,7/8")
    found = session(tmp_path, *runners(), learned=[learned])
    settings = SearchSettings(FULL, budget=Budget(evaluations=3), algorithm="exhaustive")
    delivery, _ = search(found, [Fitted()], settings, Listener())
    assert next(iter(delivery.studies[Fitted()].scores)) == learned


def test_where_the_blocks_are_not_known_uniform_reuse_is_of_velocities(tmp_path):
    pair = runners(setup=ToySetup(refusals={Reuse(): "the blocks are not known"}))
    policies = {row.policy for row in rows(fitted(tmp_path, pair)[0]) if row.name}
    assert policies == {VELOCITY, PlainSteps()}


def test_plain_steps_are_never_delivered(tmp_path, monkeypatch):
    def plain_is_best(runner, schedule, policy, *args):
        found = measure(runner, schedule, policy, *args)
        better = 99.0 if isinstance(policy, PlainSteps) else 9.0
        return found._replace(metrics=[{**m, "psnr": better} for m in found.metrics])

    measure = ToyRunner.measure
    monkeypatch.setattr(ToyRunner, "measure", plain_is_best)
    delivery, _ = fitted(tmp_path)
    assert isinstance(delivery.best.policy, Fitted)
    assert max(row.score.mean for row in rows(delivery)) == 99.0


def test_the_delivered_weights_say_what_they_were_fitted_to(tmp_path):
    delivery, notes = fitted(tmp_path)
    best = delivery.best
    assert best.policy.schedule == str(best.schedule)
    assert {step for step, _ in best.policy.weights} == set(best.schedule.cached_steps)
    assert best.policy.conditions == json.loads(json.dumps(ToySetup().conditions))
    assert best.policy.examples == len(SCORING)
    assert "fitted: each cached step has its own weights, fitted to all 4 scoring examples" in notes
    # A run under them on examples that no fit has seen gives the delivered score.
    assert best.score.values == values(OTHERS, best.schedule, best.policy)


def test_a_fitted_path_comes_closer_than_reuse_under_its_schedule(tmp_path):
    best = fitted(tmp_path, evaluations=20)[0].best
    reuse = [psnr(example, best.schedule, VELOCITY) for example in OTHERS]
    assert best.score.mean > statistics.fmean(reuse) + 1


@pytest.mark.parametrize("place", [0, 1, -1])
def test_few_evaluations_give_the_best_of_the_first_spacings(tmp_path, monkeypatch, place):
    """Validation compares all of them, the last one, too, which three evaluations do not reach."""
    starts = spacings(STEPS, FULL)

    def one_is_best(runner, schedule, policy, *args):
        found = measure(runner, schedule, policy, *args)
        return found._replace(
            metrics=[{"psnr": 90.0 if schedule == starts[place] else 9.0} for _ in found.metrics]
        )

    measure = ToyRunner.measure
    monkeypatch.setattr(ToyRunner, "measure", one_is_best)
    delivery, _ = fitted(tmp_path, in_order=True)
    assert len(delivery.studies[Fitted()].scores) == 3
    assert delivery.best.schedule == starts[place]


def test_what_a_run_takes_without_weights_is_scored_first(tmp_path):
    delivery, _ = fitted(tmp_path)
    (taken, *_) = session(tmp_path, *runners()).baselines(VELOCITY).values()
    assert next(iter(delivery.studies[Fitted()].scores)) == taken
    assert even(STEPS, FULL) in [row.schedule for row in rows(delivery)]


def test_the_full_runs_of_the_scoring_examples_are_sampled_once(tmp_path):
    pair = runners()
    fitted(tmp_path, pair)
    assert sorted(pair[0].full_runs) == [0, 1, 2, 3]
