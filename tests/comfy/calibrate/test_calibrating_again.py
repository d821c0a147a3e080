"""What counts when a model is calibrated once more: examples, values, methods."""

import math
from dataclasses import replace

import pytest
import torch
from golden_path_pack.gph_core.calibration.table import RECIPES

from ...support.comfy import calibrating_runs
from ...support.comfy.calibrating_runs import CASES, calibrate, calibrate_all, workload
from ...support.zoo import zoo

pytestmark = pytest.mark.usefixtures("inference")

runs = calibrating_runs.runs  # a fixture


@pytest.fixture(scope="module")
def flux_entries():
    work = workload("FLUX dev", count=2)
    with torch.inference_mode():
        return work, calibrate_all(work, RECIPES, {}).entries


def test_more_examples_are_sampled_without_those_before_and_the_same_ones_change_nothing(runs):
    model = zoo.build(CASES["FLUX dev"])
    few = calibrate(workload("FLUX dev", model, count=2), "SenCache")
    assert len(runs) == 2
    saved = []
    same = calibrate(workload("FLUX dev", model, count=2), "SenCache", few, save=saved.append)
    assert same is few
    assert saved == []
    more = calibrate(workload("FLUX dev", model, count=3), "SenCache", few)
    assert len(runs) == 3
    at_once = calibrate(workload("FLUX dev", model, count=3), "SenCache")
    for name, table in at_once.values.items():
        assert table.equal(more.values[name])


def test_fewer_or_other_examples_take_nothing_from_a_fit():
    model = zoo.build(CASES["FLUX dev"])
    whole = calibrate(workload("FLUX dev", model, count=3), "TeaCache")
    assert calibrate(workload("FLUX dev", model, count=1), "TeaCache", whole) is whole
    few, rest = workload("FLUX dev", model), workload("FLUX dev", model)
    few, rest = replace(few, examples=few.examples[:2]), replace(rest, examples=rest.examples[2:])
    done = calibrate_all(rest, ["TeaCache"], {"TeaCache": calibrate(few, "TeaCache")})
    for name, value in whole.values.items():
        same = done.entries["TeaCache"].values[name]
        assert value.equal(same) if isinstance(value, torch.Tensor) else value == same
    assert done.notes == [
        "the values also include 2 examples of former calibrations in this file; choose another "
        "name to use only the new ones"
    ]


@pytest.mark.parametrize("method", ["TeaCache", "SenCache", "MagCache", "L2P", "MeanCache"])
def test_values_that_another_machine_fitted_are_kept_with_their_thresholds(method):
    work = workload("FLUX dev")
    entry = calibrate(work, method)
    values = {n: v * (1 + 1e-7) if torch.is_tensor(v) else v for n, v in entry.values.items()}
    entry = replace(entry, values=values, thresholds=({"target": 4},), runs=({"example": "0"},))
    done = calibrate_all(work, [method], {method: entry})
    assert done.entries[method] is entry
    assert done.notes == []
    done = calibrate_all(workload("FLUX dev", count=4), [method], {method: entry})
    assert done.entries[method].thresholds == ()


def test_equal_examples_count_once(runs):
    work = workload("FLUX dev", count=2)
    twice = replace(work, examples=(*work.examples, work.examples[0], work.examples[0]))
    assert (len(work), work.notes) == (2, [])
    assert len(twice) == 2
    done = calibrate_all(twice, ["MagCache"], {})
    assert len(runs) == 2
    assert done.entries["MagCache"].report["num_examples"] == 2
    assert done.notes == ["2 repeated examples left out: equal ones count once"]


def test_a_method_that_joins_later_samples_for_itself_alone(runs):
    work = workload("FLUX dev", count=2)
    first = calibrate(work, "SenCache")
    done = calibrate_all(work, ["SenCache", "MagCache"], {"SenCache": first})
    assert len(runs) == 4
    assert done.entries["SenCache"] is first


@pytest.mark.parametrize(
    "damage",
    [
        lambda sample: {},
        lambda sample: {"other": torch.zeros(2)},
        lambda sample: {name: tensor[..., :-1] for name, tensor in sample.items()},
        lambda sample: {name: tensor[None] for name, tensor in sample.items()},
        lambda sample: {name: tensor * math.nan for name, tensor in sample.items()},
        lambda sample: {name: tensor.long() for name, tensor in sample.items()},
    ],
)
def test_samples_of_another_form_are_left_out_by_the_name_of_their_file(damage, flux_entries):
    work, entries = flux_entries
    crafted = {
        method: replace(
            entry, report={}, file="mine", samples={n: damage(s) for n, s in entry.samples.items()}
        )
        for method, entry in entries.items()
    }
    done = calibrate_all(work, list(crafted), crafted)
    assert done.entries == {}
    for method, reason in done.left_out.items():
        words = f"{method}: mine is damaged: its samples of {method} cannot be read"
        assert reason.startswith(words)
    assert set(done.left_out) == set(RECIPES)
