"""``bench retarget``: which settings it covers, what it measures, when a bar is missed."""

import comfy.samplers
import numpy as np
import pytest
import torch
from golden_path_pack.gph_core.paths.spacings import damped_spacing
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.nodes.hook.setup import BAKED_IN, SamplingSetup

from benchmarks.lab import student
from benchmarks.lab.subjects import IMAGE, MODELS, STUDENT, VIDEO
from benchmarks.quality import _defaults as defaults
from benchmarks.quality._defaults import CFGS, COUNTS, DEFAULT, FEWER, REUSED, Setting
from demo import comfy_model

BASE = Setting("euler", "simple", 1.0, 1.0, 20, 8)


@pytest.mark.parametrize("subject", MODELS)
def test_every_cfg_meets_every_count_and_every_sampler(subject):
    found = defaults.settings(subject)
    assert len(set(found)) == len(found)
    plain = {(one.cfg, one.steps, one.full) for one in found if one.is_plain}
    assert plain == {(cfg, *count) for cfg in CFGS[subject] for count in COUNTS}
    for cfg in CFGS[subject]:
        some = [one for one in found if one.cfg == cfg]
        assert {one.sampler for one in some} == {"euler", "dpmpp_2m", "res_multistep", "uni_pc"}
        assert {one.scheduler for one in some} == {"simple", "beta", "linear_quadratic"}
        assert len({one.denoise for one in some}) == 4


def test_a_row_compares_the_default_with_both_others():
    (row,) = defaults.measured([BASE._replace(steps=6, full=4)], IMAGE, count=2)
    levels = [2 * t / (1 + t) for t in np.linspace(1, 0, 7)]  # a shift of 2
    assert row["schedule"] == str(damped_spacing(levels, 4, 2 / 3, 1.0))
    assert row["policy"] == "damped velocity"
    assert list(row["ways"]) == [DEFAULT, REUSED, FEWER]
    means = {name: way["psnr"][0] for name, way in row["ways"].items()}
    assert len(set(means.values())) == 3
    for name, (lead, _) in row["ahead"].items():
        assert lead == pytest.approx(means[DEFAULT] - means[name], abs=0.02)


def row(lead=1.0, ahead_of_fewer=(1.0, 0.5), good=(0.5, 0.5), setting=BASE):
    ways = {
        name: {"psnr": (30.0, 1.0), "worst tenth": 20.0, "good": share}
        for name, share in zip((DEFAULT, REUSED, FEWER), (*good, 0.0), strict=True)
    }
    ahead = {REUSED: (lead, 9.9), FEWER: ahead_of_fewer}
    return {**setting._asdict(), "schedule": "", "policy": "", "ways": ways, "ahead": ahead}


def test_a_bar_is_missed_by_mean_share_or_surely_behind_plain_steps():
    missed = [
        row(-0.31), row(good=(0.47, 0.5)), row(ahead_of_fewer=(-0.6, 0.5)),
    ]  # fmt: skip
    kept = [row(-0.3), row(good=(0.48, 0.5)), row(ahead_of_fewer=(-0.4, 0.5))]
    assert [len(defaults.misses([], [one])) for one in missed] == [1, 1, 1]
    assert defaults.misses([], kept) == []


def test_mean_gains_are_over_the_counts_of_the_bar():
    rows = [
        row(9.0), row(6.0, setting=BASE._replace(full=5)),
        row(-3.1, setting=BASE._replace(steps=50, full=13)),
        row(50.0, setting=BASE._replace(steps=28, full=7)),  # not among them
        row(50.0, setting=BASE._replace(sampler="uni_pc")),
    ]  # fmt: skip
    gains = defaults.mean_gains(rows, IMAGE)
    assert gains == [{"cfg": 1.0, "gain": 3.97, "least": 4.0}]
    assert defaults.misses(gains, []) == ["mean gain at CFG 1: +3.97 dB, at least 4 wanted"]
    assert defaults.mean_gains(rows, STUDENT)[0]["least"] is None
    assert defaults.mean_gains(rows, VIDEO)[0]["least"] == 8.0


def test_the_student_counts_as_guided_and_ignores_the_scale():
    (guider_model, _, clip), teacher = MODELS[STUDENT].parts(), comfy_model.load_model()
    setup = SamplingSetup(
        comfy.samplers.CFGGuider(guider_model), comfy.samplers.sampler_object("euler"),
        [1.0, 0.5, 0.0], (1, 48, 8, 8),
    )  # fmt: skip
    assert setup.known(Reuse()).guidance == BAKED_IN
    ((tokens, extra),) = clip.encode_from_tokens_scheduled(clip.tokenize("red circle"))
    noise = torch.randn(1, 48, 8, 8, generator=torch.Generator().manual_seed(0))

    def denoised(model, guidance):
        with torch.inference_mode():
            return model.model.apply_model(
                noise, torch.tensor([0.7]), c_crossattn=tokens, y=extra["pooled_output"],
                guidance=torch.tensor([guidance]), transformer_options={},
            )  # fmt: skip

    assert student.WEIGHTS.exists()
    assert torch.equal(denoised(guider_model, 1.0), denoised(guider_model, 7.0))
    assert (denoised(guider_model, 1.0) - denoised(teacher, 1.0)).abs().max() > 0.1
