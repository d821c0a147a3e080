"""Schedule Search by how a video changes from frame to frame, on the demo's video model."""

import math

import comfy.samplers
import pytest
import torch
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.library import user_paths
from golden_path_pack.nodes.sample.demo import VIDEO, DemoModel
from golden_path_pack.nodes.sample.examples import Example
from golden_path_pack.nodes.sample.sampling import Sampling
from golden_path_pack.nodes.sample.workload import Workload, guider_for
from golden_path_pack.nodes.schema.types import COUNT
from golden_path_pack.nodes.search.schedule_search import REUSE, ScheduleSearch

from ...support.comfy.demo_search import demo
from ...support.zoo import zoo

pytestmark = pytest.mark.usefixtures("in_a_run")
CAPTIONS = (
    "red circle moves left on plain blue background",
    "green square grows on white background",
)


def inputs(**changes):
    model, vae, clip = DemoModel.execute(VIDEO).result
    away, *toward = (
        clip.encode_from_tokens_scheduled(clip.tokenize(text)) for text in ("", *CAPTIONS)
    )
    pairs = enumerate(zip(CAPTIONS, toward, strict=True))
    return {
        "model": model, "vae": vae, "latent": {"samples": torch.zeros(1, 32, 4, 8, 8)},
        "examples": tuple(Example(text, positive, away, n) for n, (text, positive) in pairs),
        "sampler": comfy.samplers.sampler_object("euler"), "sigmas": zoo.sigmas(model, 6),
        "cfg": 5.0, "speed": COUNT, "full_steps": 3, "minutes": 1000.0, "study": "video",
        "evaluations": 1, "policies": REUSE, "objective": "PSNR Δt",
    } | changes  # fmt: skip


def test_the_score_is_that_of_runs_by_hand():
    given = inputs()
    schedule, policy, _, table = ScheduleSearch.execute(**given).result
    (path,) = user_paths.read()
    guider = guider_for(given["model"], None, 5.0, given["examples"][0])
    work = Workload(guider, given["examples"], given["latent"], given["sampler"], given["sigmas"])
    expected = []
    for number in range(2):
        sampling = work.sampling(number)
        latents = sampling.full(), sampling.cached(Schedule.parse(schedule), policy)[0]
        full, test = ((255 * given["vae"].decode(x)[0].double()).round() for x in latents)
        errors = (test.diff(dim=0) - full.diff(dim=0)).square().flatten(1).mean(1)
        assert len(errors) == 12
        values = [10 * math.log10(255**2 / float(error)) for error in errors]
        expected.append(sum(values) / 12)
    key = "PSNR Δt, mean of 2 scoring examples"
    assert path.quality[key] == pytest.approx(sum(expected) / 2, rel=1e-4)
    assert path.conditions["objective"] == "PSNR Δt"
    assert f"{path.quality[key]:.2f} dB" in table


@pytest.fixture
def no_runs(monkeypatch):
    """Any run is an error."""
    monkeypatch.setattr(Sampling, "_sample", None)


@pytest.mark.usefixtures("no_runs")
def test_an_image_model_is_refused_before_anything_runs():
    with pytest.raises(ValueError, match="PSNR Δt compares consecutive frames of a"):
        demo(objective="PSNR Δt")


@pytest.mark.usefixtures("no_runs")
def test_a_single_frame_and_a_missing_vae_are_refused_before_anything_runs():
    with pytest.raises(ValueError, match="choose another objective, such as PSNR, or connect"):
        ScheduleSearch.execute(**inputs(latent={"samples": torch.zeros(1, 32, 1, 8, 8)}))
    with pytest.raises(ValueError, match="PSNR Δt compares images: connect vae"):
        ScheduleSearch.execute(**inputs(vae=None))
