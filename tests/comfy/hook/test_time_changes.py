"""How much the time signal changes from step to step, for methods that decide before the run."""

import itertools

import pytest
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.nodes.sample.workload import Workload, guider_for

from ...support.comfy.calibrate_nodes import inputs
from ...support.comfy.recorded_runs import change, recorded

pytestmark = pytest.mark.usefixtures("inference")


def test_a_change_is_a_part_of_the_signal_of_the_step_before():
    given = inputs("Wan 2.1 1.3B", count=1)
    model, levels = given["model"], given["sigmas"]
    with recorded(model, is_wan=True) as (watched, runs):
        guider = guider_for(watched, None, 3.0, given["examples"][0])
        work = Workload(guider, given["examples"], given["latent"], given["sampler"], levels)
        work.sampling(0).full()
    found = work.setup.known(Reuse()).time_changes()
    signals = [signal[:1] for signal in runs[0].signal]
    expected = [change(new, old) for old, new in itertools.pairwise(signals)]
    assert found == pytest.approx([0.0, *expected], rel=1e-4)
    assert max(expected) > 1.05 * min(expected)
