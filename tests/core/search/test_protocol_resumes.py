"""``search/protocol``: an interrupted search of several policies resumes to the same result."""

import itertools
import random
import types

import pytest

from gph_core.policies.base import Site
from gph_core.policies.extrapolation import Reuse
from gph_core.quality.objective import JOINT, PSNR
from gph_core.schedule import uniform
from gph_core.search import study as study_module
from gph_core.search.budget import Budget
from gph_core.search.judge import Race
from gph_core.search.log import StudyLog
from gph_core.search.protocol import Contestant, Listener, SearchSettings, find_path
from gph_core.search.study import Measurement

from ...support.made_examples import MadeExamples

STEPS, FULL = 14, 6
GAINS = {Reuse(): 0.0, Reuse(Site.OUTPUT): 0.6, Reuse(Site.GUIDED): 0.4}


class Counted(MadeExamples):
    """Rugged PSNR and LPIPS; each run takes its time, and one of them may be cut off."""

    batch = 2

    def __init__(self, gain, clock):
        super().__init__(None)
        self.gain, self.clock = gain, clock

    def measure(self, schedule, examples):
        if self.clock.runs == self.clock.last:
            raise InterruptedError
        self.clock.runs += 1
        self.clock.now += schedule.full_steps[2] / 7
        self.measured.append((schedule, tuple(examples)))
        return Measurement([self._metrics(schedule, e) for e in examples], FULL * len(examples))

    def _metrics(self, schedule, example):
        steps = (*schedule.full_steps, STEPS)
        cost = sum((b - a - 1) ** 2 / (a + 1) for a, b in itertools.pairwise(steps))
        bump = random.Random(str(schedule)).uniform(0, 2)
        return {"psnr": self.gain + example + bump - cost, "lpips": cost / 50 - bump / 10}


class Order(Listener):
    """What was scored, and where the second phase began: before so many runs."""

    def __init__(self, clock, short):
        self.clock, self.short = clock, short  # how many studies the first phase has
        self.scores, self.studies, self.border = [], [], None

    def scored(self, policy, study, schedule, score):
        self.scores.append((policy, schedule, score))
        if study not in self.studies:
            self.studies.append(study)
            if len(self.studies) == self.short + 1:
                self.border = self.clock.runs


class Trial:
    """One study, searched until a run is cut off, and again."""

    def __init__(self, settings, monkeypatch):
        self.settings = settings
        self.clock = types.SimpleNamespace(now=0.0, runs=0, last=None)
        self.clock.perf_counter = lambda: self.clock.now
        monkeypatch.setattr(study_module, "time", self.clock)
        self.logs = [(StudyLog(None, {}), StudyLog(None, {})) for _ in GAINS]

    def search(self, last=None):
        self.clock.last = last
        order = Order(self.clock, len(GAINS) + (self.settings.objective == JOINT))
        works = [
            Contestant(
                policy, Counted(gain, self.clock), scores, {"uniform": uniform(STEPS, FULL)},
                Counted(gain, self.clock), validated,
            )
            for (policy, gain), (scores, validated) in zip(GAINS.items(), self.logs, strict=True)
        ]  # fmt: skip
        delivery = find_path(works, STEPS, self.settings, order)
        return order, (delivery.best, delivery.others, delivery.reason)


@pytest.mark.parametrize(
    ("budget", "race", "objective"),
    [
        (Budget(evaluations=120), None, PSNR.name),
        (Budget(full_steps=2000), Race(), JOINT),
        (Budget(seconds=130), Race(), PSNR.name),
    ],
    ids=["evaluations", "full steps", "seconds"],
)
def test_an_interrupted_search_of_several_policies_is_replayed(
    budget, race, objective, monkeypatch
):
    settings = SearchSettings(FULL, budget, "annealing", objective, race=race)
    whole = Trial(settings, monkeypatch)
    order, delivered = whole.search()
    border, end = order.border, whole.clock.runs
    assert 20 < border < end - 40
    for last in (9, border // 2, border - 1, border, border + 1, (border + end) // 2, end - 1):
        part = Trial(settings, monkeypatch)
        with pytest.raises(InterruptedError):
            part.search(last)
        again, result = part.search()
        assert again.scores == order.scores
        assert result == delivered
        assert part.clock.runs == end  # nothing was run twice


def test_a_search_that_is_made_again_runs_nothing(monkeypatch):
    trial = Trial(SearchSettings(FULL, Budget(seconds=130), "annealing"), monkeypatch)
    order, delivered = trial.search()
    runs = trial.clock.runs
    again, result = trial.search()
    assert (again.scores, result) == (order.scores, delivered)
    assert trial.clock.runs == runs
