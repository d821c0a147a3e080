"""What cannot be learned is said before an image is spent, and a fit that fails loses nothing."""

import logging
import re

import comfy.model_management
import comfy.samplers
import pytest
import torch
from golden_path_pack.gph_core.learning.lesson import Learned
from golden_path_pack.gph_core.policies.fitted import Fitted
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.learn import fitting, remembered, settings
from golden_path_pack.nodes.learn.learner import CANCELLED, NOTHING, OTHER_SCALE
from golden_path_pack.nodes.learn.replay import OTHER_RESULT, Replay
from golden_path_pack.nodes.learn.settings import learning_folder
from golden_path_pack.nodes.library import user_paths
from golden_path_pack.nodes.library.library import SaveGoldenPath

from ...support.comfy.learning import CACHED, guider_of, learned, record

pytestmark = pytest.mark.usefixtures("in_a_run", "user")


def obstacle_of(told):
    """Why a run taught nothing; it was cached, so no image was spent."""
    assert told.cached_steps
    assert not learning_folder().exists()
    (note,) = (note for note in told.notes if note.startswith(NOTHING))
    return note.removeprefix(f"{NOTHING}: ")


@pytest.mark.parametrize(
    ("sampler", "reason"),
    [
        ("heun", r"evaluates the model 23 times in 12 steps; choose one that"),
        ("lcm", r"adds noise during sampling, .*; choose one that"),
        ("euler_cfg_pp", r"needs both prompts at every step, .*; choose a residual policy"),
    ],
)
def test_a_sampler_that_cannot_be_fitted_is_named_with_what_to_do_instead(sampler, reason):
    assert re.search(reason, obstacle_of(record(0, sampler=sampler)))


class OtherScale(comfy.samplers.CFGGuider):
    """Has less guidance below a noise level."""

    def predict_noise(self, x, timestep, *args, **kwargs):
        self.cfg = 5.0 if float(timestep[0]) > 0.5 else 2.0
        return super().predict_noise(x, timestep, *args, **kwargs)


def test_a_guider_that_changes_its_scale_is_told_before():
    assert obstacle_of(record(0, guider=guider_of(kind=OtherScale))) == OTHER_SCALE


class Foreign(comfy.samplers.CFGGuider):
    """Another extension's guider, which keeps its scale."""

    def predict_noise(self, x, timestep, *args, **kwargs):
        return 1.01 * super().predict_noise(x, timestep, *args, **kwargs)


@pytest.mark.long
def test_another_extensions_guider_that_keeps_its_scale_is_learned():
    for seed in range(2):
        result, listener = learned(seed, guider=guider_of(kind=Foreign))
        assert listener.records[0].origin.startswith(f"learning: image {seed + 1} of 2")
    assert torch.equal(result, learned(1, wanted=None, guider=guider_of(kind=Foreign))[0])
    assert len(record(2, guider=guider_of(kind=Foreign)).cached_steps) == CACHED


class Remembering(comfy.samplers.CFGGuider):
    """Answers otherwise each time."""

    count = 0

    def predict_noise(self, x, timestep, *args, **kwargs):
        type(self).count += 1
        return (1 + 0.05 * self.count) * super().predict_noise(x, timestep, *args, **kwargs)


@pytest.mark.long
def test_a_model_that_answers_otherwise_the_next_time_teaches_nothing_and_the_image_is_delivered():
    for seed in range(2):
        result, listener = learned(seed, guider=guider_of(kind=Remembering))
    assert result.isfinite().all()
    (note,) = listener.records[0].notes
    assert OTHER_RESULT in note
    assert user_paths.read() == ()
    told = record(2, guider=guider_of(kind=Remembering))  # without a path, and without another try
    assert OTHER_RESULT in " ".join(told.notes)


def failing(monkeypatch, error):
    """The fit raises an error at its tenth evaluation; returns a function that mends it."""
    left = [10]
    original = Replay.velocities

    def velocities(self, step, states):
        left[0] -= len(states)
        if left[0] < 0:
            raise error
        return original(self, step, states)

    monkeypatch.setattr(Replay, "velocities", velocities)
    return lambda: monkeypatch.setattr(Replay, "velocities", original)


@pytest.mark.long
def test_a_cancelled_fit_delivers_the_image_and_the_next_run_begins_with_the_fit(monkeypatch):
    mend = failing(monkeypatch, comfy.model_management.InterruptProcessingException())
    learned(0)
    result, listener = learned(1)
    assert listener.records[0].notes == (CANCELLED,)
    assert torch.equal(result, learned(1, wanted=None)[0])
    mend()
    _, listener = learned(2)
    assert listener.fits == ["fitting: 40 evaluations"]
    assert len(listener.records[0].cached_steps) == CACHED
    assert listener.records[0].origin.startswith("learned here from 2 images")


@pytest.mark.long
def test_cancelling_the_fit_before_a_run_cancels_the_prompt(monkeypatch):
    failing(monkeypatch, comfy.model_management.InterruptProcessingException())
    learned(0)
    learned(1)
    with pytest.raises(comfy.model_management.InterruptProcessingException):
        learned(2)


@pytest.mark.parametrize(
    "error",
    [
        comfy.model_management.OOM_EXCEPTION("no memory"),
        pytest.param(RuntimeError("no memory"), marks=pytest.mark.long),
    ],
)
def test_an_error_of_the_fit_is_in_the_report_and_runs_go_on_without_a_path(
    monkeypatch, caplog, error
):
    mend = failing(monkeypatch, error)
    learned(0)
    with caplog.at_level(logging.WARNING):
        result, listener = learned(1)
    assert torch.equal(result, learned(1, wanted=None)[0])
    (note,) = listener.records[0].notes
    assert note.startswith("the weights could not be fitted (no memory), so runs go on without")
    assert "learning failed" in caplog.text
    told = record(2)
    assert told.cached_steps
    assert note in told.notes
    mend()
    settings._FAILURES.clear()  # as after a restart
    assert record(3).origin.startswith("learned here from 2 images")


def test_where_the_default_is_as_good_that_is_remembered_until_it_is_forgotten(monkeypatch):
    def as_good(settings, inputs, images):
        return Learned(Schedule.parse("0,3,6,9,11/12"), Fitted(), [30.0, 34.0], [36.5, 36.5])

    monkeypatch.setattr(fitting, "_learned", as_good)
    learned(0)
    _, listener = learned(1)
    said = (
        "learning from 2 images brought nothing here: about 32 dB when tried on each other, "
        "about 36 dB without a path"
    )
    assert listener.records[0].notes == (said,)
    assert user_paths.read() == ()
    _, listener = learned(2)
    assert said in listener.records[0].notes
    assert listener.records[0].cached_steps
    (name,) = listener.known
    settings.forget(name)
    assert record(3).origin.startswith("learning: image 1 of 2")


@pytest.mark.long
def test_what_was_learned_is_forgotten_with_all_that_is_remembered():
    learned(0)
    learned(1)
    (path,) = user_paths.read()
    settings.forget(path.name)
    assert user_paths.read() == ()
    assert record(2).origin.startswith("learning: image 1 of 2")


def test_a_path_that_was_not_learned_cannot_be_forgotten_so():
    SaveGoldenPath.execute("mine", "0,2/4")
    with pytest.raises(ValueError, match="was not learned here; delete it in the library"):
        settings.forget("mine")
    assert len(user_paths.read()) == 1


class NoFile:
    """An object that no file can hold, such as a ControlNet."""


@pytest.mark.long
def test_what_no_file_can_hold_is_remembered_in_memory_alone():
    positive = [[guider_of().original_conds["positive"][0]["cross_attn"], {"note": NoFile()}]]
    pooled = guider_of().original_conds["positive"][0]["pooled_output"]
    positive[0][1]["pooled_output"] = pooled
    told = record(0, guider=guider_of(positive=positive))
    reason = "ComfyUI ends: its conditioning holds an object of the kind NoFile"
    assert reason in " ".join(told.notes)
    assert not list(learning_folder().rglob("*.safetensors"))
    record(1, guider=guider_of(positive=positive))
    assert len(user_paths.read()) == 1


def test_a_full_disk_costs_no_image(monkeypatch):
    def full(path, content):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(remembered.whole_file, "write", full)
    told = record(0)
    assert "cannot be written: No space left on device" in told.notes[0]
