"""The figures of Method Shootout are those of runs by hand, and say who is ahead."""

import json
import math
from types import SimpleNamespace

import comfy.samplers
import folder_paths
import pytest
import torch
from comfy_api.latest import io
from golden_path_pack.gph_core.methods.table import ALL
from golden_path_pack.gph_core.policies.extrapolation import Reuse, Taylor
from golden_path_pack.gph_core.quality import metrics
from golden_path_pack.gph_core.run_plan import adaptive, fixed
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.sample.examples import Example
from golden_path_pack.nodes.sample.workload import Workload, guider_for

from ...support.comfy import tiny
from ...support.comfy.demo_examples import examples
from ...support.comfy.shootouts import VAE, calibrate, report_of, shootout, workload
from ...support.selection import later
from ...support.zoo import zoo
from ...support.zoo.zoo_all import CASES

pytestmark = pytest.mark.usefixtures("in_a_run")


def images(latent):
    return VAE.decode(latent).movedim(-1, 1).clamp(0, 1)


def by_hand(plans):
    """8-bit PSNR, SSIM and latent MSE of each example under each plan."""
    work, found = workload(), {name: [] for name in plans}
    for number in range(2):
        sampling = work.sampling(number)
        full = sampling.full()
        for name, plan in plans.items():
            test, _ = sampling.under(plan)
            pixels = [(255 * images(latent).double()).round() for latent in (full, test)]
            mse = (pixels[0] - pixels[1]).square().mean()
            found[name].append({
                "psnr": float(20 * math.log10(255) - 10 * mse.log10()),
                "ssim": float(metrics.ssim(images(full), images(test))),
                "latent_mse": float((full - test).double().square().mean()),
            })  # fmt: skip
    return found


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Rows of one report by name."""
    with pytest.MonkeyPatch.context() as patch, torch.inference_mode():
        folder = str(tmp_path_factory.mktemp("user"))
        patch.setattr(folder_paths, "get_user_directory", lambda: folder)
        patch.setattr(io.ComfyNode, "hidden", SimpleNamespace(unique_id="7"))
        # Each line is a schedule of the user's, the empty one between them is none.
        own = "0111011010\n\nmore: 0-3,9/10\neven: 0,3,6,9/10"
        methods = ["uniform", "TaylorSeer", "SeaCache", "plain steps"]
        return report_of(methods, schedule=own, **calibrate({"SeaCache": 0.5}))[0]


def test_figures_are_those_of_runs_by_hand(found):
    expected = by_hand({
        # Four of ten: uniform spacing has one first step, the published rule for images three.
        "uniform": fixed(Schedule.parse("0,3,6,9/10"), Reuse()),
        "TaylorSeer": fixed(Schedule.parse("0-2,9/10"), Taylor(1)),
        "SeaCache": adaptive(ALL["SeaCache"], Reuse(), 0.5),
        "0,4,7,9/10": fixed(Schedule.parse("0,4,7,9/10"), Reuse()),
    })  # fmt: skip
    for name, examples_of in expected.items():
        for metric in ("psnr", "ssim", "latent_mse"):
            values = [example[metric] for example in examples_of]
            assert found[name]["metrics"][metric]["values"] == pytest.approx(values), name
    assert [row for row in found if not found[row]["comparable"]] == ["SeaCache", "more"]


def test_fewer_plain_steps_have_noise_levels_along_the_same_curve(found):
    work = workload()
    levels = work.sigmas[[0, 2, 5, 7, 10]].clone()  # at 0, 2.5, 5, 7.5, 10 of the ten steps
    levels[1] = (work.sigmas[2] + work.sigmas[3]) / 2
    levels[3] = (work.sigmas[7] + work.sigmas[8]) / 2
    row = found["plain steps"]
    for number, value in enumerate(row["metrics"]["latent_mse"]["values"]):
        sampling = work.sampling(number)
        plain, full = sampling.plain(levels), sampling.full()
        assert value == pytest.approx(float((plain - full).double().square().mean()), rel=1e-4)
    assert (row["steps"], row["cached"]["mean"]) == (4, 0)
    assert row["schedules"] == [{"schedule": "0-3/4", "share": 1.0}]


def test_the_same_schedule_gets_the_same_figures_and_no_lead(found):
    assert found["even"]["metrics"] == found["uniform"]["metrics"]
    assert found["even"]["ahead"]["psnr"] == {"mean": 0.0, "low": 0.0, "high": 0.0}


def test_at_a_threshold_of_zero_every_image_is_identical_and_nothing_is_cached():
    output = shootout(["SeaCache", "uniform"], **calibrate({"SeaCache": 0.0}))
    report = json.loads(output.result[2])
    row = report["rows"][-1]  # ten full steps are better, but no four
    assert (row["name"], row["comparable"], row["full"]) == ("SeaCache", False, 10)
    assert row["ahead"] == {}
    assert row["metrics"]["psnr"] == {
        "mean": "identical", "low": None, "high": None, "identical": 2,
        "values": ["identical", "identical"], "worst_tenth": "identical", "hardly_visible": 1.0,
    }  # fmt: skip
    assert row["metrics"]["latent_mse"]["values"] == [0, 0]
    assert row["cached"] == {"mean": 0, "spread": 0}
    lines = output.result[1].splitlines()
    (line,) = (line for line in lines if line.startswith("SeaCache (not comparable) "))
    assert line.split()[8:] == [
        "identical", "identical", "100", "%", "1.0000", "±", "0.0000", "0", "±", "0",
    ]  # fmt: skip
    assert "SeaCache: not comparable: 10 of its steps were full on average, 4 were wanted" in lines


def test_without_a_vae_only_latents_are_compared():
    found, report = report_of(["uniform", "HiCache"], vae=None, examples=examples()[:1])
    assert set(found["uniform"]["metrics"]) == {"latent_mse"}
    assert "connect vae" in report["unavailable"]["psnr"]
    assert report["metric"] == "latent_mse"
    first, second = (row["metrics"]["latent_mse"]["mean"] for row in report["rows"][1:])
    assert first < second


@pytest.mark.long
def test_schedules_of_an_adaptive_method_are_counted():
    # Its values differ from example to example, so some threshold tells two of them apart.
    for exponent in range(1, 30):
        found, _ = report_of(["EasyCache"], **calibrate({"EasyCache": 1.3 ** (exponent - 20)}))
        row = found["EasyCache"]
        if row["different_schedules"] == 2:
            break
    first, second = (Schedule.parse(entry["schedule"]) for entry in row["schedules"])
    assert [entry["share"] for entry in row["schedules"]] == [0.5, 0.5]
    assert row["cached"]["mean"] == (first.num_cached + second.num_cached) / 2
    assert row["cached"]["spread"] == abs(first.num_cached - second.num_cached) / 2


@pytest.mark.parametrize("kind", ["LTX-2", *later("FLUX dev", "Wan 2.1 14B")])
def test_every_kind_of_latent_and_every_policy_without_a_need_runs(kind):
    case = CASES[kind]
    model = zoo.build(case)
    some = (Example("", case.conditioning(1, 5), case.conditioning(9, 5), seed=1),)
    found, _ = report_of(
        ["uniform", "plain steps", "TaylorSeer", "HiCache"], model=model, examples=some, vae=None,
        latent={"samples": zoo.empty_latent(case)}, sigmas=zoo.sigmas(model, 8), cfg=case.cfg,
    )  # fmt: skip
    assert len(found) == 5
    assert found["HiCache"]["metrics"]["latent_mse"]["mean"] > 0


def test_an_adaptive_method_on_a_real_class_is_compared_by_its_realised_schedule():
    model = tiny.flux()
    some = (Example("", tiny.conditioning(1), tiny.conditioning(2), seed=1),)
    given = {
        "model": model, "examples": some, "vae": None, "cfg": 3.0,
        "latent": {"samples": torch.zeros(1, 16, 8, 8)}, "sigmas": zoo.sigmas(model, 8),
    }  # fmt: skip
    work = Workload(
        guider_for(model, None, 3.0, some[0]), some, given["latent"],
        comfy.samplers.sampler_object("euler"), given["sigmas"],
    )  # fmt: skip
    found, _ = report_of(["SeaCache"], **given, **calibrate({"SeaCache": 1e6}, work))
    row = found["SeaCache"]
    # Nothing but what is forced is full: the first step and the last.
    assert row["schedules"] == [{"schedule": "0,7/8", "share": 1.0}]
    forced = fixed(Schedule.parse("0,7/8"), Reuse())
    sampling = work.sampling(0)
    mse = (sampling.under(forced)[0] - sampling.full()).double().square().mean()
    assert row["metrics"]["latent_mse"]["values"] == [pytest.approx(float(mse))]
