"""Record Runs: which runs it makes, what its file keeps, and when it goes on."""

import json
import shutil

import comfy.samplers
import pytest
import torch
from golden_path_pack.gph_core.paths.conditions import Conditions
from golden_path_pack.gph_core.paths.library import NONE
from golden_path_pack.nodes.hook import patching
from golden_path_pack.nodes.record import recordings
from golden_path_pack.nodes.record.most_frequent import MostFrequentSchedule
from golden_path_pack.nodes.record.record_runs import RecordRuns
from golden_path_pack.nodes.sample.sampling import Sampling

from ...support.comfy import tiny
from ...support.comfy.tiny_recordings import STEPS, adaptive, by_hand, examples, fixed, run

pytestmark = pytest.mark.usefixtures("in_a_run")


@pytest.fixture
def sampled(monkeypatch):
    """The seeds of the runs that are sampled."""
    seeds, under = [], Sampling.under

    def counted(self, *args, **kwargs):
        seeds.append(self.seed)
        return under(self, *args, **kwargs)

    monkeypatch.setattr(Sampling, "under", counted)
    return seeds


def test_a_model_tells_the_plan_that_it_samples_under(model):
    assert patching.plan_of(model) is None
    cached, run_of_eight = adaptive(model), Conditions("", {}, [1 - n / 8 for n in range(9)], None)
    assert "threshold 0.6" in patching.plan_of(cached).choose(run_of_eight).origin
    assert patching.plan_of(cached.clone()) is patching.plan_of(cached)
    assert patching.plan_of(patching.without_cache(cached)) is None
    assert str(patching.plan_of(fixed(cached)).choose(run_of_eight).schedule) == "0-2,5,7/8"


def test_each_run_is_the_one_that_ksampler_makes_and_the_file_has_them(model):
    cached = adaptive(model)
    runs, _ = run(cached)
    assert recordings.FILES.names() == ["mine"]
    assert recordings.read("mine") == runs
    connected = MostFrequentSchedule.execute(NONE, 0, runs).result
    assert connected[:3] == MostFrequentSchedule.execute("mine", 0).result[:3]
    assert [(r.prompt, r.seed) for r in runs] == [(f"prompt {n}", n) for n in range(3)]
    for found, example in zip(runs, examples(3), strict=True):
        record, _ = by_hand(cached, example)
        assert found.record.full_steps == record.full_steps
        assert found.record.gate_values == record.gate_values
        assert found.record.gate
    assert len({found.record.full_steps for found in runs}) > 1
    assert all(found.record.cached_steps for found in runs)


def test_without_a_cache_full_runs_are_recorded(model):
    (found, *_), summary = run(model)
    assert found.record.cached_steps == ()
    assert summary.startswith("3 runs, 3 of them new: every step full\n")


def test_a_guider_brings_its_own_plan(model):
    guider = comfy.samplers.CFGGuider(fixed(model))
    guider.set_conds(tiny.conditioning(1), tiny.conditioning(2))
    guider.set_cfg(3.0)
    runs, _ = run(model, guider=guider)
    assert {r.record.full_steps for r in runs} == {(0, 1, 2, 5, 7)}


def test_a_finished_recording_is_not_sampled_again_and_takes_more_examples(model, sampled):
    first, _ = run(adaptive(model), 2)
    again, _ = run(adaptive(model), 2)
    assert again == first
    more, summary = run(adaptive(model), 3)
    assert more[:2] == first
    assert sampled == [0, 1, 2]
    assert summary.startswith("3 runs, 1 of them new: First Block Cache, threshold 0.6")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"cfg": 2.0}, "guidance"),
        ({"sampler": "heun"}, "sampler"),
        ({"sigmas": torch.linspace(1, 0, 9)}, "noise levels"),
        ({"latent": {"samples": torch.zeros(1, 16, 8, 16)}}, "latent"),
        ({"threshold": 0.3}, "method"),
        ({"method": "DiCache"}, "method"),
        ({"threshold": 0.60001}, "rule"),  # the method's name has four digits
        ({"keep_signals": False}, "keep_signals"),
        ({"keep_latents": True}, "keep_latents"),
    ],
)
def test_other_conditions_need_another_name(model, changes, field):
    changes = dict(changes)
    run(adaptive(model), 1)
    options = {name: changes.pop(name) for name in ("threshold", "method") if name in changes}
    if "sampler" in changes:
        changes["sampler"] = comfy.samplers.sampler_object(changes["sampler"])
    with pytest.raises(ValueError, match=f"was made with the {field} .*; choose another name"):
        run(adaptive(model, **options), 1, **changes)


def test_another_schedule_needs_another_name(model):
    run(fixed(model), 1)
    with pytest.raises(ValueError, match="with the schedule 0-2,5,7/8, now it is 0-7/8"):
        run(model, 1)


def test_signals_are_in_the_file_if_they_are_kept_and_only_then(model):
    for keeps, name in ((True, "with"), (False, "without")):
        runs, _ = run(adaptive(model), 1, keep_signals=keeps, recording=name)
        assert recordings.read(name) == runs
        _, line = recordings.FILES.path_of(name).read_text("utf-8").splitlines()
        kept = json.loads(line)["record"]["gate_values"]
        assert len(kept) == (STEPS if keeps else 0)


@pytest.mark.parametrize("node", [RecordRuns, MostFrequentSchedule])
def test_a_linked_recording_that_changes_or_goes_is_noticed(model, node):
    run(adaptive(model), 1, recording="other")
    states = [node.fingerprint_inputs(recording=None)]
    for count in (1, 1, 2):
        run(adaptive(model), count)
        states.append(node.fingerprint_inputs(recording=None))
    shutil.rmtree(recordings.FILES.path_of("mine").parent)
    states.append(node.fingerprint_inputs(recording=None))
    before, one, same, two, gone = states
    assert one == same
    assert before == gone
    assert before != one != two != before
    assert node.fingerprint_inputs(recording="other") == before


def test_a_cache_that_cannot_act_is_an_error_before_anything_is_kept(model):
    with pytest.raises(ValueError, match="needs all of its model calls"):
        run(adaptive(model), sampler=comfy.samplers.sampler_object("dpm_fast"))
    assert recordings.read("mine") == ()


def test_names_are_checked_before_anything_runs():
    assert "contains '/'" in RecordRuns.validate_inputs(recording="a/b")
    assert "stands for no file" in RecordRuns.validate_inputs(recording="none")
