"""Error Decomposition: the split beside runs apart, what its file keeps, what it refuses."""

import itertools
import json
from dataclasses import replace

import comfy.samplers
import pytest
from golden_path_pack.gph_core.gates.accumulating import SeaCache
from golden_path_pack.gph_core.paths.conditions import Choice
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.extrapolation import Reuse, Taylor
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.gph_core.search.prefix import State
from golden_path_pack.nodes.analyze.decomposing import identity
from golden_path_pack.nodes.analyze.error_decomposition import ErrorDecomposition
from golden_path_pack.nodes.sample.sampler_variants import reporting_states, starting_from
from golden_path_pack.nodes.sample.sampling import Sampling
from golden_path_pack.nodes.sample.workload import Workload, guider_for

from ...support.comfy.isolations import demo_inputs, inputs
from ...support.comfy.tiny_recordings import adaptive, by_hand, examples, fixed
from ...support.selection import later

pytestmark = pytest.mark.usefixtures("in_a_run")

STEPS = 8


def run(model, number=2, schedule="0-2,5,7/8", **changes):
    """What the node gives for the tiny FLUX."""
    given = inputs(model, number, STEPS) | {"schedule": schedule} | changes
    return ErrorDecomposition.execute(**given)


def runs_of(result, name):
    return json.loads(result[1])["schedules"][name]["runs"]


def states_of(sampling: Sampling, sample):
    """The states of a run, and the velocities between them."""
    states = []
    sample(replace(sampling, sampler=reporting_states(sampling.sampler, states.append)))
    states, levels = [s.double() for s in states], sampling.sigmas.tolist()
    pairs = zip(itertools.pairwise(states), itertools.pairwise(levels), strict=False)
    return states, [(b - a) / (there - here) for (a, b), (here, there) in pairs]


@pytest.mark.parametrize(
    "policy", [None, *later(Taylor(1, site=Site.OUTPUT), Taylor(1, site=Site.GUIDED))], ids=str
)
def test_the_contributions_are_those_of_runs_apart(policy):
    given = demo_inputs(STEPS)
    given["examples"] = given["examples"][:2]
    text = "0-1,4,7/8"
    result = ErrorDecomposition.execute(**given, schedule=text, policy=policy).result
    measured = runs_of(result, text)
    guider = guider_for(given["model"], None, 5.0, given["examples"][0])
    work = Workload(guider, given["examples"], given["latent"], given["sampler"], given["sigmas"])
    found, sampling = measured[1], work.sampling(1)
    full, v_full = states_of(sampling, lambda s: s.full())
    schedule, predicts = Schedule.parse(text), policy or Reuse()
    cached, v_used = states_of(sampling, lambda s, p=predicts, c=schedule: s.cached(c, p))
    # In full from each state of the cached run, of which the first step is of interest.
    there = []
    for step in range(STEPS):
        start = State(step, cached[step].float(), {})
        begun = starting_from(sampling.sampler, start, lambda *_: None)
        states = []
        replace(sampling, sampler=reporting_states(begun, states.append)).full()
        length = (sampling.sigmas[step + 1] - sampling.sigmas[step]).item()
        there.append((states[1].double() - states[0].double()) / length)
    expected = {
        "current": [(v - t).norm().item() for v, t in zip(v_used, there, strict=True)],
        "state": [(t - v).norm().item() for t, v in zip(there, v_full, strict=True)],
        "gaps": [(c - f).norm().item() for c, f in zip(cached, full, strict=True)],
    }
    for name, values in expected.items():
        assert found[name] == pytest.approx(values, rel=1e-3, abs=1e-3)
    assert found["cached_steps"] == [2, 3, 5, 6]
    assert [n for n, a in enumerate(found["current"]) if a] == [2, 3, 5, 6]
    assert found["state"][:3] == [0, 0, 0]
    assert found["chord"] == pytest.approx((full[-1] - full[0]).norm().item())
    assert found["gaps"][-1] > 0.1
    assert 0 < found["rounding"] < 1e-6  # of float32


def test_an_adaptive_cache_of_the_model_is_decomposed_as_it_decides(model):
    cached = adaptive(model)
    result = run(cached, schedule="").result
    for example, found in zip(examples(2), runs_of(result, "the model's cache"), strict=True):
        record, latent = by_hand(cached, example)
        assert found["cached_steps"] == list(record.cached_steps)
        _, full = by_hand(fixed(model, "0-7/8"), example)
        error = (latent - full).norm().item() * model.model.latent_format.scale_factor
        assert found["gaps"][-1] == pytest.approx(error, rel=1e-3)
    schedules = json.loads(result[1])["schedules"]["the model's cache"]
    assert schedules["schedule"] is None
    assert schedules["origin"].startswith("First Block Cache, threshold 0.6")


def test_the_report_sums_up_the_runs_of_each_schedule(model):
    result = run(model, schedule="few: 0-2,5,7/8\n0,4/8")
    figure, text = result.result
    report = json.loads(text)
    assert list(report["schedules"]) == ["few", "0,4/8"]
    assert figure.shape[0] == 1
    assert figure.shape[-1] == 3
    for row in report["schedules"].values():
        sums = [sum(one["state"]) for one in row["runs"]]
        assert row["state_sum"] == pytest.approx(sum(sums) / 2)
        assert row["gap"][-1] == pytest.approx(
            sum(one["gaps"][-1] / one["chord"] for one in row["runs"]) / 2
        )
    assert [row["cached"] for row in report["schedules"].values()] == [3, 6]
    (shown,) = result.ui["gph_summary"]
    assert shown["text"].startswith("2 examples, 2 schedules\nfew: 3 of 8 steps cached, residual")
    assert "\nover schedules: state " in shown["text"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sampler": "dpmpp_2m"}, "Error Decomposition covers .* euler and ddim .* not dpmpp_2m"),
        ({"schedule": ""}, "nothing to analyse: write schedules, one per line, or connect a model"),
        ({"schedule": "0,2/10"}, "covers 10 steps but the sampler runs 8; set the same step count"),
        ({"schedule": "0,2"}, "has no step count"),
    ],
)
def test_what_cannot_be_decomposed_is_an_error_before_anything_runs(model, changes, message, user):
    if "sampler" in changes:
        changes = {"sampler": comfy.samplers.sampler_object(changes["sampler"])}
    with pytest.raises(ValueError, match=message):
        run(model, **changes)
    assert not list(user.rglob("*.jsonl"))


def test_inputs_are_checked_and_other_conditions_need_another_name(model):
    assert "contains '/'" in ErrorDecomposition.validate_inputs(name="a/b")
    assert "has no step count" in ErrorDecomposition.validate_inputs(name="a", schedule="0-3")
    before = ErrorDecomposition.fingerprint_inputs(name="mine", cfg=3.0)
    report = json.loads(run(model, 1).result[1])
    assert report["schedules"]["0-2,5,7/8"]["correlations"] == {"state": None, "current": None}
    assert before != ErrorDecomposition.fingerprint_inputs(name="mine", cfg=3.0)
    with pytest.raises(ValueError, match="was made with the guidance cfg 3"):
        run(model, 1, cfg=2.0)


def test_another_schedule_policy_or_threshold_is_another_run():
    def choice(steps="0,4/8", policy=None, threshold=0.5):
        return Choice(Schedule.parse(steps), "", policy or Reuse(), SeaCache(threshold))

    others = [choice(), choice("0,5/8"), choice(policy=Taylor(1)), choice(threshold=0.50001)]
    assert len({identity(one) for one in others}) == 4
    assert identity(choice()) == identity(choice()._replace(origin="another"))
