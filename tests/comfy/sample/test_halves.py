"""``experiments/examples``: halves are scored under each other's weights."""

from pathlib import Path

import comfy.samplers
import pytest
import torch
from golden_path_pack.demo import comfy_model
from golden_path_pack.gph_core.experiments.examples import UnderFits
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.sample.assessing import Assessor
from golden_path_pack.nodes.sample.runner import LocalRunner
from golden_path_pack.nodes.sample.workload import Workload, guider_for

from ...support.comfy.demo_examples import examples
from ...support.zoo import zoo

pytestmark = pytest.mark.usefixtures("inference", "temporary")
SCHEDULE = Schedule.parse("0-1,4/6")
BOTH = examples()[:2]


def sampled(*chosen):
    model = comfy_model.load_model()
    work = Workload(
        guider_for(model, None, 5.0, chosen[0]), chosen, {"samples": torch.zeros(1, 48, 8, 8)},
        comfy.samplers.sampler_object("euler"), zoo.sigmas(model, SCHEDULE.num_steps),
    )  # fmt: skip
    return LocalRunner(work, Assessor(None, {}))


def fitted(*chosen):
    runner = sampled(*chosen)
    found = UnderFits(runner, runner.steps(), {}, Path("unused"))
    found.begin()
    return found


def error(example, policy):
    """Latent MSE of an example under a policy that is given."""
    (found,) = sampled(example).measure(SCHEDULE, policy, [0]).metrics
    return found["latent_mse"]


def test_each_example_is_scored_under_weights_of_the_other():
    alone = [fitted(example).policy_for(SCHEDULE) for example in BOTH]
    found = [row["latent_mse"] for row in fitted(*BOTH).measure(SCHEDULE, [0, 1]).metrics]
    crossed = [error(*pair) for pair in zip(BOTH, reversed(alone), strict=True)]
    own = [error(*pair) for pair in zip(BOTH, alone, strict=True)]
    assert found == pytest.approx(crossed, rel=1e-3)
    assert sum(own) < 0.9 * sum(crossed)  # a fit looks better than it is on its own example


def test_all_examples_make_the_weights_that_are_delivered():
    together = fitted(*BOTH).policy_for(SCHEDULE)
    alone = [fitted(example).policy_for(SCHEDULE) for example in BOTH]
    assert together.examples == 2
    assert together.weights not in [one.weights for one in alone]
