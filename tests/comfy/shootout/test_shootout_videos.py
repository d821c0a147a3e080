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

from ...support.comfy.compared import ColorVAE
from ...support.comfy.shootouts import shootout
from ...support.zoo import zoo
from ...support.zoo.zoo_all import CASES

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
    output = shootout(["uniform", "plain steps"], **inputs)
    report = json.loads(output.result[2])
    found = {row["name"]: row for row in report["rows"]}
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
    titles, *rows = output.result[1].splitlines()[1:5]
    assert "PSNR Δt dB" in titles
    mean = f"{row['metrics']['frame_psnr']['mean']:.2f} ±"
    assert any(line.startswith("uniform") and mean in line for line in rows)
    lead = found["plain steps"]["ahead"]["frame_psnr"]["mean"]
    means = [found[name]["metrics"]["frame_psnr"]["mean"] for name in ("plain steps", "uniform")]
    assert lead == pytest.approx(means[0] - means[1])


def test_without_a_vae_the_reason_stands_there():
    inputs = given(vae=None)
    table = shootout(["uniform"], **inputs | {"examples": inputs["examples"][:1]}).result[1]
    assert "no PSNR Δt: it compares images: connect vae" in table.splitlines()


def test_an_image_of_a_video_model_has_no_changes():
    inputs = given(latent={"samples": torch.zeros(1, *WAN.latent)[:, :, :1]})
    output = shootout(["uniform"], **inputs | {"examples": inputs["examples"][:1]})
    _, uniform = json.loads(output.result[2])["rows"]
    assert set(uniform["metrics"]) == OF_VIDEOS - {"frame_psnr"}
    assert "Δt" not in output.result[1]
