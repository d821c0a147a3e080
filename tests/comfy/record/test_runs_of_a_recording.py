"""Which runs of a recording a node hands out, and what makes it another recording."""

import pytest

from ...support.comfy.tiny_recordings import adaptive, examples, run

pytestmark = pytest.mark.usefixtures("in_a_run")


def test_runs_are_those_of_the_examples_in_their_order(model):
    three, _ = run(adaptive(model), 3)
    some, _ = run(adaptive(model), examples=(examples(3)[2], examples(3)[0]))
    assert some == (three[2], three[0])


def test_a_threshold_that_differs_in_a_late_digit_is_another_rule(model):
    run(adaptive(model, 0.6), 1)
    with pytest.raises(ValueError, match="was made with the rule"):
        run(adaptive(model, 0.60001), 1)
