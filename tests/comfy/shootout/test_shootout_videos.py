"""Method Shootout of videos: the change between frames is measured, of images it is not."""

import json
import math

import comfy.samplers
import pytest
import torch
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.run_plan import fixed
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.sample.examples import Example
from golden_path_pack.nodes.sample.workload import Workload, guider_for
from golden_path_pack.nodes.shootout import method_shootout

from ...support.comfy.compared import ColorVAE
from ...support.comfy.shootouts import report_of, shootout
from ...support.zoo import zoo
from ...support.zoo.zoo_all import CASES
from .test_shootout_goes_on import runs

__all__ = ["runs"]  # a fixture
pytestmark = pytest.mark.usefixtures("in_a_run")
WAN = CASES["Wan 2.1 14B"]
OF_VIDEOS = {"psnr", "ssim", "latent_mse", "frame_psnr"}


def given(**changes):
    """Inputs for a tiny Wan."""
    model = zoo.build(WAN)
    some = tuple(
        Example("", WAN.conditioning(n, 5), WAN.conditioning(9, 5), seed=n) for n in range(2)
    )
    return {
        "model": model, "examples": some, "vae": ColorVAE(), "cfg": WAN.cfg,
        "latent": {"samples": zoo.empty_latent(WAN)}, "sigmas": zoo.sigmas(model, 8),
    } | changes  # fmt: skip


def saved(latent):
    """Frames ``[F, H, W, 3]`` as they are saved, 0 to 255."""
    return (255 * ColorVAE().decode(latent)[0].double()).round()


def decibels(errors):
    """Mean PSNR of some errors ``[F, ...]`` of 0 to 255."""
    squares = [float(error.square().mean()) for error in errors]
    return sum(10 * math.log10(255**2 / square) for square in squares) / len(squares)


def test_psnr_of_changes_is_that_of_runs_by_hand():
    inputs = given()
    found, report = report_of(["uniform", "plain steps"], **inputs)
    row = found["uniform"]
    work = Workload(
        guider_for(inputs["model"], None, WAN.cfg, inputs["examples"][0]), inputs["examples"],
        inputs["latent"], comfy.samplers.sampler_object("euler"), inputs["sigmas"],
    )  # fmt: skip
    plan = fixed(Schedule.parse(row["schedules"][0]["schedule"]), Reuse())
    expected = {"psnr": [], "frame_psnr": []}
    for number in range(2):
        sampling = work.sampling(number)
        full, test = saved(sampling.full()), saved(sampling.under(plan)[0])
        assert len(full) == 3
        expected["psnr"].append(decibels(test - full))
        expected["frame_psnr"].append(decibels(test.diff(dim=0) - full.diff(dim=0)))
    for name, values in expected.items():
        assert row["metrics"][name]["values"] == pytest.approx(values), name
    assert set(row["metrics"]) == OF_VIDEOS
    assert report["metric"] == "psnr"
    lead = found["plain steps"]["ahead"]["frame_psnr"]["mean"]
    means = [found[name]["metrics"]["frame_psnr"]["mean"] for name in ("plain steps", "uniform")]
    assert lead == pytest.approx(means[0] - means[1])


def test_the_table_has_a_column_of_it():
    output = shootout(["uniform"], **given())
    titles, *rows = output.result[1].splitlines()[1:4]
    assert "PSNR Δt dB" in titles
    (row,) = (row for row in json.loads(output.result[2])["rows"] if row["name"] == "uniform")
    mean = f"{row['metrics']['frame_psnr']['mean']:.2f} ±"
    assert any(line.startswith("uniform") and mean in line for line in rows)


def test_without_a_vae_the_reason_stands_there_for_videos_alone():
    table = shootout(["uniform"], **given(vae=None)).result[1]
    assert "no PSNR Δt: it compares images: connect vae" in table.splitlines()
    assert "Δt" not in shootout(["uniform"], vae=None, name="images").result[1]


def test_results_of_a_version_that_did_not_measure_it_are_completed_once(runs, monkeypatch):
    inputs = given()
    with monkeypatch.context() as patch:
        patch.setattr(method_shootout, "is_video", lambda *_: False)
        assert set(report_of(["uniform"], **inputs)[0]["uniform"]["metrics"]) < OF_VIDEOS
    runs.clear()
    assert set(report_of(["uniform"], **inputs)[0]["uniform"]["metrics"]) == OF_VIDEOS
    assert runs == 2 * ["full", "under"]
    runs.clear()
    report_of(["uniform"], **inputs)
    assert runs == []


def test_an_image_of_a_video_model_has_no_changes_and_is_not_repeated(runs):
    inputs = given(latent={"samples": torch.zeros(1, *WAN.latent)[:, :, :1]})
    found, report = report_of(["uniform"], **inputs)
    assert set(found["uniform"]["metrics"]) == OF_VIDEOS - {"frame_psnr"}
    assert set(report["unavailable"]) == {"lpips"}
    runs.clear()
    report_of(["uniform"], **inputs)
    assert runs == []
