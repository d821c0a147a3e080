"""What a search derives from its budget and its probe."""

import dataclasses
import itertools
import math
import random
from contextlib import suppress

import pytest

from gph_core.policies.extrapolation import Hermite, Reuse
from gph_core.policies.fitted import Fitted
from gph_core.quality.objective import CAPPED, FOR_SEARCHES, HARDLY
from gph_core.schedule import uniform
from gph_core.search.algorithms.moves import starts
from gph_core.search.algorithms.table import ALGORITHMS
from gph_core.search.budget import Budget
from gph_core.search.log import StudyLog
from gph_core.search.protocol import Contestant, Listener, SearchSettings, find_path
from gph_core.search.setup import prepared, search_space
from gph_core.search.study import Measurement, Study

from ...support.made_examples import MadeExamples


def contestant(scoring, baseline):
    return Contestant(Reuse(), scoring, StudyLog(None, {}), {"uniform": baseline})


class RecordingListener(Listener):
    """Keeps the schedules in the order of their scores."""

    def __init__(self):
        self.schedules = []

    def scored(self, policy, study, schedule, score):
        self.schedules.append(schedule)


class Numbered(MadeExamples):
    """The mean squared error of the n-th schedule is n hundredths, of some it has no value."""

    def __init__(self, step=None):
        self.numbers, self.step = {}, step
        super().__init__(None)

    def measure(self, schedule, examples):
        error = self.numbers.setdefault(schedule, len(self.numbers) / 100)
        error = math.nan if self.step in schedule.full_steps else error
        return Measurement([{"latent_mse": error} for _ in examples], 0.0)


@pytest.mark.parametrize(("step", "t_max"), [(None, 0.1), (4, 0.1), (0, 1e-9)])
def test_temperatures_are_ten_times_the_difference_of_pairs_with_values(monkeypatch, step, t_max):
    # Schedules that are scored one after the other, as those of a pair, differ by 0.01.
    setups = []

    def nothing(*given):
        setups.append(given[-1])
        yield from ()

    spy = dataclasses.replace(ALGORITHMS["annealing"], start=nothing)
    monkeypatch.setitem(ALGORITHMS, "annealing", spy)
    work = contestant(Numbered(step), uniform(12, 5))
    with suppress(ValueError):  # without any value nothing can be delivered
        find_path([work], 12, SearchSettings(5, Budget(evaluations=150), "annealing", "latent MSE"))
    assert setups[0].t_max == pytest.approx(t_max)


def test_capped_psnr_takes_the_temperatures_of_psnr_and_a_share_is_probed():
    def setup(objective):
        # 1 dB lower with each step that is full later.
        examples = MadeExamples(lambda schedule, example: 50.0 - sum(schedule.full_steps), 1)
        study = Study(examples, FOR_SEARCHES[objective])
        return prepared(study, search_space(12, 5, Reuse()), uniform(12, 5), seed=0), study

    capped, study = setup(CAPPED)
    assert (capped.t_max, capped.t_min) == (0.5, 1e-4)
    assert len(study.scores) == 1  # that of the start
    share, study = setup(HARDLY)
    # All have the same share. Ten times what one example of one counts for, 100 %.
    assert share.t_max == pytest.approx(1000)
    assert len(study.scores) > 1


@pytest.mark.parametrize(
    "name",
    [
        "additive cost",
        "pairwise cost",
        pytest.param("Bayesian optimization", marks=pytest.mark.long),
    ],
)
def test_models_begin_with_half_of_a_small_budget_and_learn_with_the_rest(name):
    def value(schedule, example):
        return float(example + sum(schedule.full_steps))

    listener, baseline = RecordingListener(), uniform(20, 8)
    work = contestant(MadeExamples(value), baseline)
    find_path([work], 20, SearchSettings(8, Budget(evaluations=30), name), listener)
    found = listener.schedules
    drawn = starts(search_space(20, 8, Reuse()), random.Random(f"0 {name}"), [baseline])
    at_random = list(itertools.islice(drawn, 30))  # all differ
    assert found[:15] == at_random[:15]
    assert len(found) == 30
    assert not set(found[15:]) & set(at_random[15:])


@pytest.mark.parametrize(
    ("steps", "full", "policy", "fixed_ends", "required"),
    [
        (50, 9, Reuse(), None, (0, 1, 2, 49)),  # the GPH paper's
        (28, 8, Reuse(), None, (0, 1, 27)),  # 3 of 50 are 1.68 of 28
        (20, 7, Hermite(2), None, (0, 1, 2, 19)),  # it needs three anchors
        (20, 3, Reuse(), None, (0, 19)),
        (10, 2, Reuse(), None, (0,)),  # one has to be free
        (50, 13, Fitted(), None, (0,)),
        (50, 13, Fitted(), True, (0, 1, 2, 49)),
        (50, 13, Hermite(2), False, (0, 1, 2)),
    ],
)
def test_required_steps_are_as_published_or_those_of_the_policy(
    steps, full, policy, fixed_ends, required
):
    space = search_space(steps, full, policy, fixed_ends)
    assert (space.required_full, space.num_cached) == (required, steps - full)
