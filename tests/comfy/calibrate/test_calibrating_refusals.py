"""What stands in the way of one calibration leaves the others as they are."""

import math
import weakref
from dataclasses import replace

import comfy.model_management
import comfy.samplers
import pytest
from golden_path_pack.gph_core.calibration.sensitivities import Slopes
from golden_path_pack.gph_core.calibration.table import RECIPES
from golden_path_pack.nodes.calibrate import calibration_runs
from golden_path_pack.nodes.hook import compatibility

from ...support.comfy import calibrate_nodes
from ...support.comfy.calibrating_runs import STEPS, calibrate_all, workload

pytestmark = pytest.mark.usefixtures("inference")

runs = calibrate_nodes.runs  # a fixture


def test_what_is_possible_is_said_before_anything_is_sampled(runs):
    ltx = workload("LTX-2", count=2)
    with pytest.raises(ValueError, match=r"the first block of LTX-2 cannot be read\. Possible"):
        calibrate_all(ltx, ["TeaCache"])
    noisy = workload("FLUX dev", sampler="euler_ancestral")
    with pytest.raises(ValueError, match=r"MeanCache: .*adds noise.*Possible here: TeaCache"):
        calibrate_all(noisy, ["MeanCache"])
    assert runs == []


def test_a_model_whose_blocks_are_not_known_has_what_needs_no_blocks(monkeypatch):
    monkeypatch.setattr(compatibility, "identify", lambda _: (None, "UNetModel"))
    done = calibrate_all(workload("FLUX dev", count=2), RECIPES)
    assert set(done.entries) == {"SenCache", "L2P", "MeanCache"}
    assert done.left_out["MagCache"] == (
        "MagCache: UNetModel is not a supported transformer (docs/models.md lists them)"
    )


def test_an_example_whose_values_are_no_numbers_is_named_and_not_kept(monkeypatch):
    whole = Slopes.tensors

    def broken(self, last):
        found = whole(self, last)
        broken.count += 1
        return {n: v * math.nan for n, v in found.items()} if broken.count == 2 else found

    broken.count = 0
    monkeypatch.setattr(Slopes, "tensors", broken)
    saved = []
    done = calibrate_all(
        workload("FLUX dev", count=2), ["SenCache", "MagCache"], save=lambda *e: saved.extend(e)
    )
    assert done.left_out == {
        "SenCache": "SenCache: the values of example 2 are not finite; leave this example out"
    }
    assert [len(e.samples) for e in saved if e.method == "SenCache"] == [1]


def test_a_run_keeps_none_of_its_states_but_the_last(monkeypatch):
    original, states, alive = calibration_runs.reporting_states, [], []

    def watched(sampler, on_state):
        def tell(state):
            on_state(state)
            states.append(weakref.ref(state))
            alive.append(sum(ref() is not None for ref in states))

        return original(sampler, tell)

    monkeypatch.setattr(calibration_runs, "reporting_states", watched)
    calibrate_all(workload("FLUX dev", count=1), ["MagCache"])
    assert len(states) == STEPS + 1
    assert max(alive) <= 2  # the sampler's and the last


def test_too_little_main_memory_leaves_dpcache_out_alone(monkeypatch, runs):
    monkeypatch.setattr(comfy.model_management, "get_free_memory", lambda *_, **__: 10)
    done = calibrate_all(workload("FLUX dev", count=1), ["MagCache", "DPCache"])
    assert list(done.entries) == ["MagCache"]
    assert len(runs) == 1
    assert done.left_out["DPCache"].startswith("DPCache compares the tokens of all steps, 0.0 GiB")


def test_a_sampler_with_two_calls_a_step_leaves_meancache_out_alone():
    done = calibrate_all(workload("FLUX dev", count=2, sampler="heun"), RECIPES)
    reason = "MeanCache: it needs a sampler that calls the model once per step, not heun"
    assert done.left_out == {"MeanCache": reason}


def test_that_a_sampler_of_another_extension_calls_the_model_twice_shows_in_the_run():
    def sample_theirs(*args, **kwargs):
        return comfy.samplers.sampler_object("heun").sampler_function(*args, **kwargs)

    work = workload("FLUX dev", count=1)
    theirs = replace(work, sampler=comfy.samplers.KSAMPLER(sample_theirs))
    done = calibrate_all(theirs, ["MagCache", "MeanCache"])
    assert "this one made 15 calls in 8 steps" in done.left_out["MeanCache"]
    assert list(done.entries) == ["MagCache"]
