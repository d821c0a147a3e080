"""Record Trajectory keeps the states of full runs, and Trajectory Profile tells their shape."""

import json

import comfy.model_management
import comfy.sample
import comfy.samplers
import numpy as np
import pytest
import scipy.linalg
import torch
from golden_path_pack.gph_core.files import states_file
from golden_path_pack.gph_core.paths.library import NONE
from golden_path_pack.nodes.analyze.trajectory_profile import TrajectoryProfile
from golden_path_pack.nodes.record import recordings
from golden_path_pack.nodes.record.record_runs import RecordRuns
from golden_path_pack.nodes.record.record_trajectory import RecordTrajectory
from golden_path_pack.nodes.record.recordings import Trajectories
from golden_path_pack.nodes.sample.examples import Example
from golden_path_pack.nodes.sample.sampling import Sampling
from safetensors.torch import load_file

from ...support.comfy import tiny
from ...support.comfy.tiny_recordings import STEPS, fixed
from ...support.selection import later
from ...support.zoo import zoo

pytestmark = pytest.mark.usefixtures("in_a_run")


def example(prompt, seed):
    return Example(f"prompt {prompt}", tiny.conditioning(prompt), tiny.conditioning(99), seed)


EXAMPLES = (example(0, 1), example(1, 1), example(1, 2))


def inputs(model, **changes):
    return {
        "model": model, "examples": EXAMPLES, "latent": {"samples": torch.zeros(1, 16, 8, 8)},
        "sampler": comfy.samplers.sampler_object("euler"), "sigmas": zoo.sigmas(model, STEPS),
        "cfg": 3.0, "recording": "mine",
    } | changes  # fmt: skip


def record(model, **changes):
    return RecordTrajectory.execute(**inputs(model, **changes))


def profile(trajectories=None, recording=NONE, window=2, precision="float32"):
    return TrajectoryProfile.execute(recording, window, precision, trajectories)


def states_file_of(run):
    return recordings.states_path(recordings.FILES.path_of("mine"), run.example)


def states(number):
    run = recordings.read("mine")[number]
    return load_file(states_file_of(run))["states"]


@pytest.fixture(scope="module")
def report(model, tmp_path_factory):
    """Report, states, figure and text of three runs."""
    import folder_paths

    with pytest.MonkeyPatch.context() as patch, torch.inference_mode():
        folder = str(tmp_path_factory.mktemp("user"))
        patch.setattr(folder_paths, "get_user_directory", lambda: folder)
        found = record(model).result[0]
        output = profile(found)
        figure, text = output.result
        kept = [states(n).flatten(1).double().numpy() for n in range(3)]
        named = profile(recording="mine").result[1]
    return json.loads(text), kept, figure, output.ui["gph_summary"][0]["text"], json.loads(named)


def test_every_step_is_full_whatever_cache_is_on_the_model(model):
    found, _ = record(fixed(model)).result
    assert [run.seed for run in found.runs] == [1, 1, 2]
    assert {run.record.cached_steps for run in found.runs} == {()}
    noise = comfy.sample.prepare_noise(torch.zeros(1, 16, 8, 8), 2)
    latent = comfy.sample.sample(
        model, noise, STEPS, 3.0, "euler", "simple", EXAMPLES[2].positive, EXAMPLES[2].negative,
        torch.zeros_like(noise), disable_pbar=True, seed=2,
    )  # fmt: skip
    assert states(2).shape == (STEPS + 1, 1, 16, 8, 8)
    torch.testing.assert_close(model.model.process_latent_out(states(2)[-1]), latent)


def test_what_is_recorded_is_not_computed_again_also_by_record_runs(model, monkeypatch):
    record(model, examples=EXAMPLES[:1])
    sampled, under = [], Sampling.under

    def counted(self, *args, **kwargs):
        sampled.append(self.seed)
        return under(self, *args, **kwargs)

    monkeypatch.setattr(Sampling, "under", counted)
    runs, _ = RecordRuns.execute(**inputs(model, examples=EXAMPLES[:2]), keep_latents=True).result
    _, text = record(model).result
    assert sampled == [1, 2]
    assert len(runs) == 2
    assert text == f"3 runs, 1 of them new: {STEPS + 1} states each"


@pytest.mark.parametrize("sampler", ["uni_pc", "dpm_fast", "dpm_adaptive"])
def test_samplers_that_do_not_tell_their_states_are_refused_before_anything_runs(model, sampler):
    with pytest.raises(ValueError, match="does not report the states of its steps; choose another"):
        record(model, sampler=comfy.samplers.sampler_object(sampler))
    assert recordings.FILES.names() == []


def test_the_summary_tells_of_noise_on_the_way(model):
    sampler = comfy.samplers.sampler_object("euler_ancestral")
    _, text = record(model, sampler=sampler, examples=EXAMPLES[:1]).result
    assert "euler_ancestral adds noise between steps" in text


@pytest.mark.parametrize("sampler", ["heun", *later("dpm_2")])
def test_samplers_with_several_calls_a_step_have_states_of_steps(model, sampler):
    chosen = comfy.samplers.sampler_object(sampler)
    found, _ = record(model, sampler=chosen, examples=EXAMPLES[:1]).result
    assert states(0).shape[0] == STEPS + 1
    assert json.loads(profile(found).result[1])["steps"] == STEPS


def test_the_report_has_the_numbers_of_the_states(report):
    found, kept, *_ = report
    assert found["latent_coordinates"] == 16 * 8 * 8
    assert [run["seed"] for run in found["runs"]] == [1, 1, 2]
    for run, z in zip(found["runs"], kept, strict=True):
        chord = z[-1] - z[0]
        length = np.linalg.norm(chord)
        assert run["chord_length"] == pytest.approx(length)
        moved = np.linalg.norm(np.diff(z, axis=0), axis=1) / length
        assert run["displacement"] == pytest.approx(moved)
        along = np.outer((z - z[0]) @ chord / length**2, chord)
        off = np.linalg.norm(z - z[0] - along, axis=1) / length
        assert run["off_chord"] == pytest.approx(off, abs=1e-9)
        assert run["norm"] == pytest.approx(np.sqrt((z**2).mean(axis=1)))
        before, after = z[4] - z[2], z[6] - z[4]
        cosine = before @ after / np.linalg.norm(before) / np.linalg.norm(after)
        assert run["turning"][2] == pytest.approx(np.degrees(np.arccos(cosine)))
    lengths = [run["chord_length"] for run in found["runs"]]
    assert found["summary"]["chord_length"]["cv"] == [
        pytest.approx(100 * np.std(lengths) / np.mean(lengths))
    ]
    assert found["summary"]["off_chord"]["cv"][0] is None
    assert all(ratio > 100 for ratio in found["signal_to_floor"])


def test_planes_are_compared_by_what_runs_share(report):
    found, kept, *_ = report
    planes = []
    for z in kept:
        chord = (z[-1] - z[0]) / np.linalg.norm(z[-1] - z[0])
        off = (z - z[0]) - np.outer((z - z[0]) @ chord, chord)
        planes.append(np.linalg.svd(off - off.mean(axis=0))[2][:2].T)
    pairs = {"same noise": (0, 1), "same prompt": (1, 2), "neither": (0, 2)}
    for name, (one, other) in pairs.items():
        expected = np.degrees(scipy.linalg.subspace_angles(planes[one], planes[other]).min())
        assert found["plane_angles"][name]["pairs"] == 1
        assert found["plane_angles"][name]["median"] == pytest.approx(expected)
    assert found["plane_angles"]["random planes"]["pairs"] == 500
    assert 85 < found["plane_angles"]["random planes"]["median"] < 90


def test_a_recording_by_name_gives_the_same(report):
    assert report[0] == report[4]


def test_figure_and_text_tell_the_main_numbers(report):
    found, _, figure, text, _ = report
    assert figure.shape[0] == 1
    assert figure.shape[3] == 3
    assert figure.std() > 0.05
    assert text.startswith("3 runs of 8 steps, 1024 latent coordinates")
    peak = max(found["summary"]["off_chord"]["median"])
    assert f"at most {peak:.4f} of the chord" in text
    assert "times the float32 rounding" in text
    median = found["plane_angles"]["same noise"]["median"]
    assert f"first angle between planes, same noise: {median:.2f}°" in text


def rewrite(number, change):
    """Replace the states of a recorded run."""
    path = states_file_of(recordings.read("mine")[number])
    changed = change(load_file(path)["states"].clone())
    with states_file.writing(path, len(changed)) as add:
        for state in changed:
            add(state)


def straight(kept):
    """States along one line, without any rounding."""
    step = kept[-1].bfloat16().float()
    return torch.stack([number * step for number in range(len(kept))])


@pytest.mark.long
def test_a_run_without_a_plane_is_left_out_of_the_angles_and_shifts_no_other(model):
    found, _ = record(model, sigmas=zoo.sigmas(model, 5)).result
    whole = json.loads(profile(found).result[1])["plane_angles"]
    rewrite(0, straight)
    rest = json.loads(profile(found).result[1])["plane_angles"]
    assert rest["same prompt"] == whole["same prompt"]  # runs 1 and 2
    assert "same noise" in whole
    assert "same noise" not in rest  # runs 0 and 1


def broken(kept):
    kept[3, 0, 0, 0, 0] = torch.nan
    return kept


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda kept: kept[:-1], "runs of 7 and 8 steps cannot be compared"),
        (broken, "the run of 'prompt 1' with seed 1: state 3 of 9 has values that are not"),
    ],
)
def test_runs_that_cannot_be_profiled_are_errors(model, change, message):
    found, _ = record(model, examples=EXAMPLES[:2]).result
    rewrite(1, change)
    with pytest.raises(ValueError, match=message):
        profile(found)


def test_where_the_runs_come_from_has_to_be_clear(model):
    found, _ = record(model, examples=EXAMPLES[:1]).result
    for given in ((None, NONE), (found, "mine")):
        with pytest.raises(ValueError, match="must be one source of runs"):
            profile(*given)
    assert recordings.names_with_states() == ["mine"]
    assert TrajectoryProfile.validate_inputs(recording="mine") is True
    assert "no recording 'gone'" in TrajectoryProfile.validate_inputs(recording="gone")
    with pytest.raises(ValueError, match="the recording 'mine' has no runs yet"):
        profile(Trajectories("mine", ()))


def test_a_recording_without_states_is_an_error(model):
    RecordRuns.execute(**inputs(model))
    assert recordings.names_with_states() == []
    with pytest.raises(ValueError, match="'mine' has no states for the run with seed 1; choose a"):
        profile(recording="mine")


def test_a_profile_can_be_cancelled(model, monkeypatch):
    found, _ = record(model, examples=EXAMPLES[:1]).result

    def cancel():
        raise comfy.model_management.InterruptProcessingException

    name = "throw_exception_if_processing_interrupted"
    monkeypatch.setattr(comfy.model_management, name, cancel)
    with pytest.raises(comfy.model_management.InterruptProcessingException):
        profile(found)
