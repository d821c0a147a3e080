"""BudCache's search on toys: the error of each schedule is given."""

import math
from dataclasses import dataclass, field, replace

import pytest

from gph_core.experiments import budcache
from gph_core.policies.extrapolation import Reuse
from gph_core.search.log import StudyLog
from gph_core.search.study import Measurement

from ...support.toy_runner import ToySetup, levels

SETUP = ToySetup(levels(7))
# Steps 0, 1, 2 and 6 are full, and with five full steps one of these; errors of two examples.
ERRORS = {3: (0.3, 0.5), 4: (0.1, 0.3), 5: (0.0, 0.6)}


@dataclass
class MadeRunner:
    """A runner whose error is the mean of what ``ERRORS`` says of the free full steps."""

    count: int = 2
    batch: int = 1
    measured: list = field(default_factory=list)

    def __len__(self):
        return self.count

    def full(self, policy):
        assert policy == Reuse()

    def forget(self, policy):
        """Nothing is kept."""

    def measure(self, schedule, policy, examples, state_bytes):
        self.measured.append((str(schedule), *examples))
        free = set(schedule.full_steps) & ERRORS.keys()
        errors = [sum(ERRORS[step][e] for step in free) / max(len(free), 1) for e in examples]
        return Measurement([{"latent_mse": error} for error in errors], schedule.num_full)


def search(num_full=5, runner=None, setup=SETUP, **options):
    return budcache.search(setup, runner or MadeRunner(), num_full, **options)


def test_it_finds_the_best_of_all_schedules_of_a_small_space():
    entry = search()
    assert entry.values == {"5": "0-2,4,6/7"}
    assert entry.report["5"] == {
        "schedule": "0-2,4,6/7", "scored": 3, "latent_mse": pytest.approx(0.2), "examples": 2,
    }  # fmt: skip


def test_schedules_of_other_numbers_stay_beside_it():
    one = search()
    # Of 3, 4 and 5, two are full: 4 and 5 have the mean of 0.2 and 0.3, the smallest.
    both = search(6, entry=one)
    assert both.values == {"5": "0-2,4,6/7", "6": "0-2,4-6/7"}
    assert both.report["5"] == one.report["5"]
    # With 4 nothing is to be chosen.
    assert search(4, entry=both).values["4"] == "0-2,6/7"


def test_the_same_result_leaves_the_entry_as_it_is():
    entry = search()
    assert search(entry=entry) is entry


def test_a_search_that_was_cancelled_goes_on_from_its_log(tmp_path):
    class Cancelled(MadeRunner):
        def measure(self, *arguments):
            if len(self.measured) == 3:
                raise KeyboardInterrupt
            return super().measure(*arguments)

    whole, first, rest = MadeRunner(), Cancelled(), MadeRunner()
    expected = search(runner=whole)
    with pytest.raises(KeyboardInterrupt):
        search(runner=first, log=StudyLog(tmp_path / "log.sqlite", {}))
    found = search(runner=rest, log=StudyLog(tmp_path / "log.sqlite", {}))
    assert found.values == expected.values
    assert first.measured + rest.measured == whole.measured
    assert len(whole.measured) == 6  # three schedules, two examples


def test_how_many_steps_can_be_full_is_said_before_anything_runs():
    runner = MadeRunner()
    for number in (3, 7):
        with pytest.raises(ValueError, match=f"4 to 6 of 7 steps can be full, not {number}"):
            search(number, runner)
    assert runner.measured == []


def test_a_schedule_from_more_examples_is_kept():
    entry = replace(search(), file="mine.safetensors")
    with pytest.raises(
        ValueError, match=r"mine\.safetensors has a .* of 5 full steps from 2 examples, more than "
        "the 1 of this"
    ):  # fmt: skip
        search(runner=MadeRunner(1), entry=entry)
    assert set(search(6, MadeRunner(1), entry=entry).values) == {"5", "6"}


def test_other_conditions_and_a_workflow_without_a_cache_are_refused():
    with pytest.raises(ValueError, match="calibrated with the family Toy, this run has Other"):
        search(setup=replace(SETUP, name="Other"), entry=search())
    with pytest.raises(ValueError, match="BudCache: the blocks are hidden"):
        search(setup=replace(SETUP, refusals={Reuse(): "the blocks are hidden"}))


def test_without_a_finite_latent_there_is_no_schedule(monkeypatch):
    for step in ERRORS:
        monkeypatch.setitem(ERRORS, step, (math.nan, math.nan))
    with pytest.raises(ValueError, match="BudCache found no schedule with finite latents"):
        search()
