"""Decompositions ask for the runs that their file lacks, by plan and example, and keep each."""

import pytest

from gph_core.analysis.decomposition import LINES, Decomposition
from gph_core.experiments.decomposing import DecomposedRuns
from gph_core.policies.extrapolation import Hermite, Reuse, Taylor
from gph_core.run_plan import fixed
from gph_core.schedule import Schedule

from ...support.toy_runner import ToyExamples, ToySetup, examples_of

EARLY, LATE = (fixed(Schedule.parse(text), Reuse()) for text in ("0-2,7/8", "0,5-7/8"))


def runs(file, plans, *seeds, **setup):
    def identity(choice):
        return f"{choice.schedule} {choice.policy}"

    return DecomposedRuns(
        ToyExamples(examples_of(*seeds), ToySetup(**setup)), plans, file, identity
    )


class Decompose:
    """Somebody who samples; keeps what was asked for. ``most`` runs, then the user cancels."""

    def __init__(self, most=99, gap=1.0):
        self.most, self.gap, self.asked = most, gap, []

    def __call__(self, number, plan):
        if len(self.asked) == self.most:
            raise KeyboardInterrupt
        self.asked.append((number, plan))
        zeros = (0.0,) * 8
        return Decomposition((3,), zeros, zeros, zeros, (*zeros, self.gap + number), 2.0, 0.0)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "runs.jsonl"


def errors(found):
    return {name: [run.output_error for run in some] for name, some in found.items()}


def test_each_example_is_decomposed_under_each_plan(file):
    decompose = Decompose()
    found = runs(file, {"early": EARLY, "late": LATE}, 4, 5).complete(decompose)
    assert decompose.asked == [(0, EARLY), (1, EARLY), (0, LATE), (1, LATE)]
    assert errors(found) == {"early": [1.0, 2.0], "late": [1.0, 2.0]}
    first = LINES.read(file)[0]
    assert (first.example, first.prompt, first.seed) == ("prompt 4, 4", "prompt 4", 4)
    assert (first.name, first.plan) == ("early", "0-2,7/8 residual reuse")


def test_each_run_is_kept_at_once_and_the_rest_is_made_next_time(file):
    plans = {"early": EARLY, "late": LATE}
    with pytest.raises(KeyboardInterrupt):
        runs(file, plans, 0, 1).complete(Decompose(most=3))
    decompose = Decompose(gap=9.0)
    found = runs(file, plans, 0, 1).complete(decompose)
    assert decompose.asked == [(1, LATE)]
    assert errors(found) == {"early": [1.0, 2.0], "late": [1.0, 10.0]}


def test_a_run_is_known_by_its_choice_and_example_not_by_name_and_number(file):
    runs(file, {"mine": EARLY}, 0, 1).complete(Decompose())
    decompose = Decompose(gap=9.0)
    found = runs(file, {"other": EARLY, "mine": LATE}, 1, 2).complete(decompose)
    assert decompose.asked == [(1, EARLY), (0, LATE), (1, LATE)]
    assert errors(found) == {"other": [2.0, 10.0], "mine": [9.0, 10.0]}
    taylor = fixed(Schedule.parse("0-2,7/8"), Taylor(1))
    assert runs(file, {"mine": taylor}, 0).known() == {}


@pytest.mark.parametrize(
    ("schedule", "policy", "reason"),
    [
        ("0-7/8", Reuse(), "mine: no step is cached, so there is no error"),
        ("0,7/8", Hermite(2), "mine: .* needs 3 full steps before the first cached step"),
        ("0,7/12", Reuse(), "mine: the schedule covers 12 steps"),
        ("0,7/8", Taylor(1), "mine: the blocks are hidden"),
    ],
)
def test_a_plan_that_cannot_cache_is_an_error_that_names_it(file, schedule, policy, reason):
    plans = {"early": EARLY, "mine": fixed(Schedule.parse(schedule), policy)}
    with pytest.raises(ValueError, match=reason):
        runs(file, plans, 0, refusals={Taylor(1): "the blocks are hidden"})


def test_a_run_that_stops_caching_names_its_plan_and_leaves_what_is_kept(file):
    class Stopped(Decompose):
        def __call__(self, number, plan):
            if plan is LATE:
                raise ValueError("the memory is too small")
            return super().__call__(number, plan)

    with pytest.raises(ValueError, match="late: the memory is too small"):
        runs(file, {"early": EARLY, "late": LATE}, 0).complete(Stopped())
    assert [split.name for split in LINES.read(file)] == ["early"]


def test_after_a_crash_only_the_half_line_is_lost(file):
    runs(file, {"early": EARLY}, 0, 1).complete(Decompose())
    whole, decompose = file.read_bytes(), Decompose()
    file.write_bytes(whole[:-20])
    runs(file, {"early": EARLY}, 0, 1).complete(decompose)
    assert decompose.asked == [(1, EARLY)]
    assert file.read_bytes() == whole


def test_other_conditions_are_refused_by_name_before_anything_is_sampled(file):
    runs(file, {"early": EARLY}, 0).complete(Decompose())
    decompose = Decompose()
    with pytest.raises(ValueError, match="with the family Toy, now it is Other; choose another"):
        runs(file, {"early": EARLY}, 0, 1, name="Other").complete(decompose)
    assert decompose.asked == []
