"""``search/protocol``: a guard of semantic scores decides which schedules can win."""

import itertools
from dataclasses import replace

import pytest

from gph_core.policies.extrapolation import Reuse
from gph_core.quality.objective import JOINT
from gph_core.quality.semantic.guard import Guard
from gph_core.reports import search_report
from gph_core.schedule import Schedule
from gph_core.search.budget import Budget
from gph_core.search.log import StudyLog
from gph_core.search.protocol import Contestant, SearchSettings, find_path
from gph_core.search.selection import Control, PlainSteps
from gph_core.search.study import Measurement

from ...support.made_examples import MadeExamples

STEPS, FULL = 12, 5
BEST = Schedule.parse("0,3,6,8,11/12")
GUARD = Guard({"clip_change": 0.5})


def value(schedule, example):
    """PSNR: highest for BEST, and of equally distant schedules for that of early steps."""
    return 40 + example - schedule.distance(BEST) - sum(schedule.full_steps) / 100


def fall(schedule, example):
    """Change of the CLIP score: 0.6 down in the mean of two examples where step 6 is full."""
    return (-0.2, -1.0)[example % 2] if 6 in schedule.full_steps else -0.1


class JudgedExamples(MadeExamples):
    """Examples with a PSNR, an LPIPS that says the same, and a change of the CLIP score."""

    def __init__(self, change=fall, count=4):
        super().__init__(value, count)
        self.change = change

    def measure(self, schedule, examples):
        found = super().measure(schedule, examples)
        metrics = [
            {**known, "lpips": -known["psnr"], "clip_change": self.change(schedule, example)}
            for known, example in zip(found.metrics, examples, strict=True)
        ]
        return Measurement(metrics, found.full_steps)


def contestant(scoring=fall, validation=fall, **changes):
    work = Contestant(
        Reuse(), JudgedExamples(scoring), StudyLog(None, {}), {},
        JudgedExamples(validation), StudyLog(None, {}),
    )  # fmt: skip
    return replace(work, **changes)


def search(work, **changes):
    given = {"guard": GUARD, "algorithm": "exhaustive"} | changes
    return find_path([work], STEPS, SearchSettings(FULL, Budget(evaluations=1000.0), **given))


def winner(allowed):
    """The best of all schedules that some condition allows, by trying them all."""
    inner = itertools.combinations(range(1, STEPS - 1), FULL - 2)
    schedules = [Schedule((0, *steps, STEPS - 1), STEPS) for steps in inner]
    return max(filter(allowed, schedules), key=lambda schedule: value(schedule, 0))


@pytest.mark.parametrize("algorithm", ["exhaustive", "hill climbing"])
def test_the_guard_changes_the_winner(algorithm):
    free, guarded = winner(lambda s: True), winner(lambda s: 6 not in s.full_steps)
    assert 6 in free.full_steps  # so that the guard matters
    without = search(contestant(), guard=Guard(), algorithm=algorithm)
    assert without.best.schedule == free
    assert without.best.changes == {}
    found = search(contestant(), algorithm=algorithm)
    assert found.best.schedule == guarded
    assert found.best.changes == {"clip_change": pytest.approx(-0.1)}


def test_a_guard_also_holds_for_the_objective_of_two_metrics():
    found = search(contestant(), objective=JOINT)
    assert found.best.schedule == winner(lambda s: 6 not in s.full_steps)


def test_a_guard_that_every_schedule_keeps_changes_nothing():
    loose = search(contestant(), guard=Guard({"clip_change": 0.7}))
    assert loose.best.schedule == winner(lambda s: True)


def test_a_schedule_that_breaks_the_guard_on_validation_is_listed_but_not_delivered():
    # The scoring examples allow all; those of validation do not.
    found = search(contestant(scoring=lambda schedule, example: 0.0))
    broken = [v for v in found.others if not v.keeps_guard]
    assert 6 not in found.best.schedule.full_steps
    assert winner(lambda s: True) in [v.schedule for v in broken]
    text = search_report.table(found, is_validated=True)
    line = next(line for line in text.splitlines() if str(broken[0].schedule) in line)
    assert line.endswith("(searched), Δ CLIP -0.60, breaks the guard")
    assert "Guard: CLIP score falls by at most 0.5, in the mean of the examples" in text


def test_the_table_counts_what_the_guard_ruled_out():
    found = search(contestant())
    # All but steps 0 and 11 are free: step 6 is full in C(9, 2) of the C(10, 3) schedules.
    assert "it ruled out 36 of the schedules scored" in search_report.table(found, True)
    assert "Guard" not in search_report.table(search(contestant(), guard=Guard()), True)


def test_where_no_schedule_keeps_the_guard_nothing_is_delivered():
    falls = {"scoring": lambda s, e: -0.8, "validation": lambda s, e: -0.8}
    start = Schedule.parse("0-3,11/12")
    reason = (
        r"no schedule keeps the guard \(CLIP score falls by at most 0.5\); the closest one has "
    )
    with pytest.raises(ValueError, match=f"{reason}Δ CLIP -0.80: raise the limit"):
        search(contestant(**falls, starts=[start]))


def test_plain_steps_that_break_the_guard_are_still_shown():
    control = Control(
        "5 plain steps", Schedule.parse("0,3,6,9,11/12"), PlainSteps(),
        JudgedExamples(lambda s, e: -3.0), StudyLog(None, {}),
    )  # fmt: skip
    found = search(contestant(controls=[control]))
    plain = next(v for v in found.others if v.name)
    assert (plain.changes, plain.keeps_guard) == ({"clip_change": -3.0}, False)


def test_the_path_says_what_the_guard_was():
    found = search(contestant())
    path = search_report.path_of(found, "mine", {}, [1.0] * STEPS + [0.0], {}, True)
    assert "Guard: CLIP score falls by at most 0.5; Δ CLIP -0.10." in path.notes
