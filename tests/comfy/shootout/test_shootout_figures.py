"""The figures of Method Shootout are those of runs by hand, and say who is ahead."""

import json
import math

import comfy.samplers
import pytest
import torch
from golden_path_pack.gph_core.methods.table import ALL
from golden_path_pack.gph_core.policies.extrapolation import Hermite, Reuse, Taylor
from golden_path_pack.gph_core.quality import metrics
from golden_path_pack.gph_core.run_plan import adaptive, fixed
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.sample.examples import Example
from golden_path_pack.nodes.sample.workload import Workload, guider_for

from ...support.comfy import tiny
from ...support.comfy.shootouts import VAE, calibrate, report_of, shootout, workload
from ...support.zoo import zoo
from ...support.zoo.zoo_all import CASES

pytestmark = pytest.mark.usefixtures("in_a_run")


def images(latent):
    return VAE.decode(latent).movedim(-1, 1).clamp(0, 1)


def expected(plan):
    """8-bit PSNR, SSIM and latent MSE of each example, by hand."""
    work, found = workload(), []
    for number in range(2):
        sampling = work.sampling(number)
        full = sampling.full()
        test, _ = sampling.under(plan)
        pixels = [(255 * images(latent).double()).round() for latent in (full, test)]
        mse = (pixels[0] - pixels[1]).square().mean()
        found.append((
            float(20 * math.log10(255) - 10 * mse.log10()),
            float(metrics.ssim(images(full), images(test))),
            float((full - test).double().square().mean()),
        ))  # fmt: skip
    return zip(*found, strict=True)


def test_figures_are_those_of_runs_by_hand():
    found, _ = report_of(["uniform", "TaylorSeer", "SeaCache"], **calibrate({"SeaCache": 0.5}))
    plans = {
        # Four of ten: uniform spacing has one first step, the published rule for images three.
        "uniform": fixed(Schedule.parse("0,3,6,9/10"), Reuse()),
        "TaylorSeer": fixed(Schedule.parse("0-2,9/10"), Taylor(1)),
        "SeaCache": adaptive(ALL["SeaCache"], Reuse(), 0.5),
    }
    for name, plan in plans.items():
        for metric, values in zip(("psnr", "ssim", "latent_mse"), expected(plan), strict=True):
            assert found[name]["metrics"][metric]["values"] == pytest.approx(values), name


def test_fewer_plain_steps_have_noise_levels_along_the_same_curve():
    found, _ = report_of(["plain steps"])
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


def test_the_same_schedule_gets_the_same_figures_and_no_lead():
    found, _ = report_of(["uniform"], schedule="0,3,6,9/10")
    own, uniform = found["0,3,6,9/10"], found["uniform"]
    assert own["metrics"] == uniform["metrics"]
    assert own["ahead"]["psnr"] == {"mean": 0.0, "low": 0.0, "high": 0.0}


def test_a_lead_is_the_mean_of_differences_with_students_interval():
    found, _ = report_of(["uniform"], schedule="mine: 0,1,3,9/10", policy=Hermite(1))
    for metric, sign in (("psnr", 1), ("ssim", 1), ("latent_mse", -1)):
        a, b = (
            sign * (x - y)
            for x, y in zip(
                *(found[row]["metrics"][metric]["values"] for row in ("mine", "uniform")),
                strict=True,
            )
        )
        # Of two values the standard error is half their distance; t(0.975, 1) = 12.7062.
        reach = 12.7062 * abs(a - b) / 2
        lead = found["mine"]["ahead"][metric]
        assert lead["mean"] == pytest.approx((a + b) / 2)
        assert lead["low"] == pytest.approx((a + b) / 2 - reach, rel=1e-4)
        assert lead["high"] == pytest.approx((a + b) / 2 + reach, rel=1e-4)


def test_at_a_threshold_of_zero_every_image_is_identical():
    found, _ = report_of(["SeaCache", "uniform"], **calibrate({"SeaCache": 0.0}))
    row = found["SeaCache"]
    assert row["metrics"]["psnr"] == {
        "mean": "identical", "low": None, "high": None, "identical": 2,
        "values": ["identical", "identical"],
    }  # fmt: skip
    assert row["metrics"]["latent_mse"]["values"] == [0, 0]
    assert row["cached"] == {"mean": 0, "spread": 0}
    text = shootout(["SeaCache", "uniform"], calibration="mine").result[1]
    (line,) = (line for line in text.splitlines() if line.startswith("SeaCache (not comparable) "))
    assert line.split()[8:] == ["identical", "1.0000", "±", "0.0000", "0", "±", "0"]


def test_rows_are_in_the_order_of_their_psnr_behind_the_full_run():
    _, report = report_of(["plain steps", "uniform", "TaylorSeer", "HiCache"])
    full, *others = report["rows"]
    assert full["name"] == "full"
    assert full["speedup"] == 1
    means = [row["metrics"]["psnr"]["mean"] for row in others]
    assert means == sorted(means, reverse=True)


def test_another_number_of_full_steps_is_not_comparable_and_comes_last():
    # At a threshold of 0 all ten steps are full, which is better than any with four of them.
    output = shootout(["SeaCache", "uniform", "plain steps"], **calibrate({"SeaCache": 0.0}))
    report = json.loads(output.result[2])
    assert [row["name"] for row in report["rows"]][-1] == "SeaCache"
    assert [row["comparable"] for row in report["rows"]] == [True, True, True, False]
    assert [row["full"] for row in report["rows"]] == [10, 4, 4, 10]
    assert [bool(row["ahead"]) for row in report["rows"] if row["name"] != "uniform"] == [
        False, True, False,
    ]  # fmt: skip
    assert (
        "SeaCache: not comparable: 10 of its steps were full on average, 4 were wanted"
        in output.result[1].splitlines()
    )


@pytest.mark.parametrize(("full", "comparable"), [(4, True), (5, False)])
def test_a_schedule_of_ones_own_is_comparable_at_the_wanted_number_only(full, comparable):
    found, _ = report_of(["uniform"], schedule={4: "mine: 0-2,9/10", 5: "mine: 0-3,9/10"}[full])
    assert found["mine"]["comparable"] == comparable


def test_each_line_is_a_schedule_that_takes_part_under_its_name():
    found, _ = report_of([], schedule="mine: 0-2,9/10\n\n0111011010\n", vae=None)
    assert set(found) == {"full", "mine", "0,4,7,9/10"}
    assert found["mine"]["schedules"] == [{"schedule": "0-2,9/10", "share": 1.0}]
    work = workload()
    plan = fixed(Schedule.parse("0,4,7,9/10"), Reuse())
    full, test = work.sampling(0).full(), work.sampling(0).under(plan)[0]
    (first, _) = found["0,4,7,9/10"]["metrics"]["latent_mse"]["values"]
    assert first == pytest.approx(float((full - test).double().square().mean()))


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


def test_without_a_vae_only_latents_are_compared():
    found, report = report_of(["uniform", "HiCache"], vae=None)
    assert set(found["uniform"]["metrics"]) == {"latent_mse"}
    assert "connect vae" in report["unavailable"]["psnr"]
    assert report["metric"] == "latent_mse"
    first, second = (row["metrics"]["latent_mse"]["mean"] for row in report["rows"][1:])
    assert first < second


@pytest.mark.parametrize("kind", ["FLUX dev", "Wan 2.1 14B", "LTX-2"])
def test_every_kind_of_latent_and_every_policy_without_a_need_runs(kind):
    case = CASES[kind]
    model = zoo.build(case)
    some = tuple(
        Example("", case.conditioning(n, 5), case.conditioning(9, 5), seed=n) for n in range(2)
    )
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
