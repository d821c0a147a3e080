"""What Calibrate says of its fits."""

import pytest

from ...support.comfy.calibrate_nodes import STEPS, calibrated, found, inputs

pytestmark = pytest.mark.usefixtures("in_a_run")


def test_the_report_of_all_methods_has_a_line_each():
    _, text = calibrated(**inputs(count=2))
    lines = text.splitlines()
    assert lines[0] == f"mine: 2 examples, {STEPS} steps"
    assert [line.split(":")[0] for line in lines[2:]] == [
        "TeaCache", "SenCache", "MagCache", "L2P", "DPCache", "MeanCache",
    ]  # fmt: skip


def test_equal_examples_are_reported():
    given = inputs(count=1)
    given["examples"] *= 2
    _, text = calibrated("MagCache", **given)
    assert text.startswith(f"mine: 1 example, {STEPS} steps\n")
    assert text.endswith("1 repeated example left out: equal ones count once")
    _, _, text = found("MagCache", **given)
    assert text.endswith("1 repeated example left out: equal ones count once")
