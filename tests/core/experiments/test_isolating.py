"""Single-step ablation asks for the steps that its file lacks, and keeps each at once."""

import math

import pytest

from gph_core.analysis.isolated_steps import LINES, IsolatedStep
from gph_core.experiments.isolating import Isolation

from ...support.toy_runner import ToyExamples, ToySetup, examples_of, levels

N = 5  # steps 1, 2 and 3 are measured


def isolation(file, *seeds, num_steps=N, policy="reuse"):
    examples = ToyExamples(examples_of(*seeds), ToySetup(levels(num_steps)))
    return Isolation(examples, file, {"policy": policy})


class Isolate:
    """Somebody who measures; keeps what was asked for. ``most`` steps, then the user cancels."""

    def __init__(self, most=99, error=0.5):
        self.most, self.error, self.asked = most, error, []

    def __call__(self, number, wanted, keep):
        self.asked.append((number, *wanted))
        for step in wanted:
            if not self.most:
                raise KeyboardInterrupt
            self.most -= 1
            keep(IsolatedStep(step, (0.1,), 0.2, 0.3, self.error + number))


@pytest.fixture
def file(tmp_path):
    return tmp_path / "steps.jsonl"


def test_all_steps_but_the_first_and_the_last_are_measured_of_each_example(file):
    isolate = Isolate()
    found = isolation(file, 0, 1).complete(isolate)
    assert isolate.asked == [(0, 1, 2, 3), (1, 1, 2, 3)]
    assert [[step.step for step in steps] for steps in found] == [[1, 2, 3]] * 2
    assert [steps[0].output_error for steps in found] == [0.5, 1.5]


def test_each_step_is_kept_at_once_and_the_rest_is_measured_next_time(file):
    with pytest.raises(KeyboardInterrupt):
        isolation(file, 0, 1).complete(Isolate(most=4))
    isolate = Isolate()
    found = isolation(file, 0, 1).complete(isolate)
    assert isolate.asked == [(1, 2, 3)]
    assert [[step.step for step in steps] for steps in found] == [[1, 2, 3]] * 2
    last = LINES.read(file)[-1]
    assert (last.example, last.prompt, last.seed, last.step) == (
        "prompt 1, 1", "prompt 1", 1, found[1][-1]
    )  # fmt: skip


def test_more_examples_join_and_those_of_others_are_left_out(file):
    isolation(file, 0, 1).complete(Isolate())
    isolate = Isolate(error=7.0)
    found = isolation(file, 2, 1).complete(isolate)
    assert isolate.asked == [(0, 1, 2, 3)]
    assert [steps[0].output_error for steps in found] == [7.0, 1.5]


def test_the_model_is_evaluated_for_the_full_run_each_step_and_the_steps_behind_it(file):
    study = isolation(file, 0, 1)
    # Full: 5; steps 1, 2, 3 once more each; behind them 3, 2 and 1 steps.
    assert study.num_evaluations([1, 2, 3]) == 5 + 3 + 6
    assert study.num_evaluations([3]) == 5 + 1 + 1
    assert study.num_evaluations([]) == 0


@pytest.mark.parametrize(
    ("seeds", "num_steps", "reason"),
    [((0,), 5, "only one example; use two or more"), ((0, 1), 2, "only 2 steps; use three or m")],
)
def test_too_few_examples_or_steps_are_an_error(file, seeds, num_steps, reason):
    with pytest.raises(ValueError, match=reason):
        isolation(file, *seeds, num_steps=num_steps)


def test_after_a_crash_only_the_half_line_is_lost(file):
    isolation(file, 0, 1).complete(Isolate())
    whole, isolate = file.read_bytes(), Isolate()
    file.write_bytes(whole[:-20])
    isolation(file, 0, 1).complete(isolate)
    assert isolate.asked == [(1, 3)]
    assert file.read_bytes() == whole


def test_other_conditions_are_refused_by_name_before_anything_is_measured(file):
    isolation(file, 0, 1).complete(Isolate())
    isolate = Isolate()
    with pytest.raises(ValueError, match="with the policy reuse, now it is Taylor; choose another"):
        isolation(file, 0, 1, 2, policy="Taylor").complete(isolate)
    assert isolate.asked == []


def test_an_error_that_is_no_number_is_not_kept(file):
    with pytest.raises(ValueError, match="this isolated step cannot be kept"):
        isolation(file, 0, 1).complete(Isolate(error=math.nan))
    assert LINES.read(file) == []
