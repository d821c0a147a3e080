"""A threshold that is known is found again without a run."""

import pytest

from ...support.comfy import calibrate_nodes
from ...support.comfy.calibrate_nodes import found, inputs

pytestmark = pytest.mark.usefixtures("in_a_run")

runs = calibrate_nodes.runs  # a fixture


def test_runs_of_every_example_are_kept_as_its_own(runs):
    given = inputs(count=2)
    threshold, *_ = found("EasyCache", **given)
    assert len(runs) > 2
    runs.clear()
    assert found("EasyCache", **given)[0] == threshold
    assert runs == []
