"""Runs of a shootout: which are asked for, which are kept, and which examples count."""

import pytest

from gph_core.experiments.candidates import Candidate
from gph_core.experiments.shootout import Shootout
from gph_core.quality.shootout import CandidateRun, Results
from gph_core.schedule import Schedule

from ...support.toy_runner import ToyExamples, examples_of

ZERO, ONE = ToyExamples(examples_of(0, 1)).names()
FULL = Candidate("full", "", Schedule.all_full(8), "all")
A = Candidate("A", "", Schedule.parse("0,4/8"), "plan of A")
B = Candidate("B", "", Schedule.parse("0-2/3"), "plan of B")  # fewer steps


class Jobs:
    """Somebody who runs candidates; keeps what was asked for.

    Args:
        most: runs that are made before the user cancels.
        unkept: names of candidates whose results are not to be kept.
    """

    def __init__(self, candidates, seeds=(0, 1), most=99, unkept=(), metrics=("psnr",)):
        self.examples = ToyExamples(examples_of(*seeds))
        self.plans = {candidate.name: candidate.plan for candidate in candidates}
        self.most, self.unkept, self.metrics = most, unkept, metrics
        self.asked, self.steps = [], None

    def __call__(self, jobs, steps):
        self.steps = steps
        for number, names in jobs:
            self.asked.append((number, *names))
            yield self.runs(self.examples.names()[number], names)

    def runs(self, example, names):
        for name in names:
            if not self.most:
                raise KeyboardInterrupt
            self.most -= 1
            metrics = {} if name == "full" else dict.fromkeys(self.metrics, 30.0)
            run = CandidateRun(example, name, self.plans[name], metrics, 1.0, 2.0)
            yield run.to_json(), name not in self.unkept


def shootout(file, candidates, conditions="these", on_example=lambda _: None, **options):
    """A shootout and the jobs that it asks."""
    jobs = Jobs(candidates, **options)
    results = Results(file, {"model": conditions})
    return Shootout(jobs.examples, candidates, jobs.metrics, results, jobs, on_example), jobs


def run(file, candidates, **options):
    study, jobs = shootout(file, candidates, **options)
    study.run()
    return study, jobs


@pytest.fixture
def file(tmp_path):
    return tmp_path / "shootout.jsonl"


def test_every_example_runs_in_full_and_with_each_candidate(file):
    study, jobs = run(file, [FULL, A, B])
    assert jobs.asked == [(0, "full", "A", "B"), (1, "full", "A", "B")]
    assert jobs.steps == 2 * (8 + 8 + 3)
    assert {name: [r.example for r in runs] for name, runs in study.found().items()} == {
        "full": [ZERO, ONE], "A": [ZERO, ONE], "B": [ZERO, ONE],
    }  # fmt: skip


def test_nothing_that_is_known_is_asked_for_again(file):
    run(file, [FULL, A])
    _, jobs = run(file, [FULL, A])
    assert (jobs.asked, jobs.steps) == ([], 0)
    _, jobs = run(file, [FULL, A, B], seeds=(0, 1, 2))
    assert jobs.asked == [(0, "B"), (1, "B"), (2, "full", "A", "B")]
    # Beside them the full runs, with which they are compared.
    assert jobs.steps == (8 + 3) + (8 + 3) + (8 + 8 + 3)


def test_a_cancelled_shootout_keeps_each_run_and_goes_on(file):
    stopped, jobs = shootout(file, [FULL, A, B], most=5)
    with pytest.raises(KeyboardInterrupt):
        stopped.run()
    assert [run.example for run in stopped.found()["B"]] == [ZERO]
    study, jobs = run(file, [FULL, A, B])
    assert jobs.asked == [(1, "B")]
    assert len(study.found()["B"]) == 2


def test_an_example_counts_once_all_candidates_have_run_it(file):
    run(file, [FULL, A])
    counts = []
    study, _ = shootout(
        file, [FULL, A, B],
        on_example=lambda now: counts.append({n: len(r) for n, r in now.standing().found.items()}),
    )  # fmt: skip
    assert study.standing().prompts == []
    study.run()
    assert counts == [dict.fromkeys(("full", "A", "B"), number) for number in (1, 2)]


def test_the_standing_names_the_examples_that_count(file):
    study, _ = shootout(file, [FULL, A], most=2, seeds=(7, 8))
    with pytest.raises(KeyboardInterrupt):
        study.run()
    standing = study.standing()
    assert standing.prompts == [{"example": "prompt 7, 7", "prompt": "prompt 7", "seed": 7}]
    assert (standing.num_steps, standing.conditions) == (8, {"model": "these"})
    assert [run.metrics for run in standing.found["A"]] == [{"psnr": 30.0}]


def test_results_are_in_the_order_of_the_examples_not_of_the_file(file):
    run(file, [FULL, A], seeds=(1,))
    study, jobs = run(file, [FULL, A], seeds=(0, 1))
    assert jobs.asked == [(0, "full", "A")]
    assert [run.example for run in study.found()["A"]] == [ZERO, ONE]


def test_another_plan_under_the_same_name_is_another_candidate(file):
    run(file, [FULL, A])
    other = Candidate("A", "", A.schedule, "another threshold")
    study, jobs = run(file, [FULL, other])
    assert jobs.asked == [(0, "A"), (1, "A")]
    assert {run.plan for run in study.found()["A"]} == {"another threshold"}


def test_a_metric_that_can_be_measured_by_now_is_measured_and_one_that_cannot_stays(file):
    run(file, [FULL, A])
    study, jobs = run(file, [FULL, A], metrics=("psnr", "ssim"))
    assert jobs.asked == [(0, "A"), (1, "A")]  # the full run has no metrics
    assert study.found()["A"][0].metrics == {"psnr": 30.0, "ssim": 30.0}
    study, jobs = run(file, [FULL, A], metrics=("psnr",))
    assert jobs.asked == []
    assert study.found()["A"][0].metrics == {"psnr": 30.0, "ssim": 30.0}


def test_a_run_that_is_not_to_be_kept_counts_now_and_runs_again_next_time(file):
    study, _ = run(file, [FULL, A, B], unkept=("A",))
    assert len(study.found()["A"]) == 2
    _, jobs = run(file, [FULL, A, B])
    assert jobs.asked == [(0, "A"), (1, "A")]


def test_after_a_crash_only_the_half_line_is_lost(file):
    run(file, [FULL, A])
    whole = file.read_bytes()
    file.write_bytes(whole[:-20])
    _, jobs = run(file, [FULL, A])
    assert jobs.asked == [(1, "A")]
    assert file.read_bytes() == whole


def test_other_conditions_are_refused_by_name(file):
    run(file, [FULL, A])
    with pytest.raises(ValueError, match="with the model these, now it is others; choose another"):
        run(file, [FULL, A], conditions="others")
