"""Compare Run: each image is what the usual nodes would have given; figures, times, refusals."""

import itertools
import sys
from types import SimpleNamespace

import comfy.cli_args
import comfy.model_management
import comfy.sample
import comfy.samplers
import comfy.utils
import latent_preview
import pytest
import torch
from comfy_execution.graph_utils import ExecutionBlocker
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.causal_linear import CausalLinear
from golden_path_pack.gph_core.policies.extrapolation import Hermite, Reuse
from golden_path_pack.gph_core.policies.mean_velocity import MeanVelocity
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor
from golden_path_pack.nodes.compare import compare_session
from golden_path_pack.nodes.compare.compare_run import CompareRun
from golden_path_pack.nodes.library import user_paths
from golden_path_pack.nodes.sample import lpips_weights

from ...support.comfy import tiny
from ...support.comfy.compared import PATH, UNIFORM, compare, empty, images, report, seen
from ...support.selection import later
from ...support.zoo import zoo
from ...support.zoo.zoo_all import CASES

FOUR = {"steps": 4, "schedule": "0,2/4"}  # for less time

# --- images ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sampler", "cfg"),
    [
        ("euler", 1.0),
        ("uni_pc", 3.0),
        *later(("dpmpp_2m", 3.0), ("euler_ancestral", 1.0), ("heun", 3.0)),
    ],
)
def test_each_image_is_the_one_of_ksampler_with_or_without_the_cache(model, sampler, cfg):
    full, cached, uniform, fewer = images(compare(model, sampler_name=sampler, cfg=cfg))
    settings = {"sampler": sampler, "cfg": cfg}
    assert torch.equal(full, seen(tiny.sample(model, **settings)))
    assert torch.equal(cached, seen(tiny.sample(tiny.attach(model, PATH), **settings)))
    assert torch.equal(uniform, seen(tiny.sample(tiny.attach(model, UNIFORM), **settings)))
    assert torch.equal(fewer, seen(tiny.sample(model, steps=3, **settings)))


@pytest.mark.parametrize(
    ("policy", "path", "uniform"),
    [
        (TwoAnchor(), "0-2,5/8", "0,1,4,7/8"),  # it needs two full steps at first
        *later(
            (Reuse(Site.OUTPUT), "0-2,5/8", "0,2,4,7/8"),
            (Reuse(Site.GUIDED), "0-2,5/8", "0,2,4,7/8"),
            (MeanVelocity(), "0-2,5/8", "0,1,4,7/8"),
            (Hermite(2), "0-2,5/8", "0-2,7/8"),  # this one three
            (Hermite(2), "0-2/8", "0-2/8"),  # which leaves no choice
        ),
    ],
    ids=str,
)
def test_the_policy_is_that_of_both_cached_runs(model, policy, path, uniform):
    _, cached, even, _ = images(compare(model, schedule=path, policy=policy))
    assert torch.equal(cached, seen(tiny.sample(tiny.attach(model, path, policy))))
    assert torch.equal(even, seen(tiny.sample(tiny.attach(model, uniform, policy))))


def test_a_policy_for_one_schedule_leaves_the_uniform_run_out_and_says_why(model):
    matrix = torch.ones(8, 8).tril(-1) / torch.arange(8).clamp(min=1)[:, None]  # of all before
    policy = CausalLinear(matrix, {"family": "FLUX", "schedule": PATH.replace("0,1", "0-1")})
    output = compare(model, policy=policy)
    (batch,) = output.result[0]
    full, cached, fewer = batch
    assert torch.equal(full[None], seen(tiny.sample(model)))
    assert torch.equal(cached[None], seen(tiny.sample(tiny.attach(model, PATH, policy))))
    assert torch.equal(fewer[None], seen(tiny.sample(model, steps=3)))
    reason = (
        "the causal linear weights were fitted for the schedule 0-1,4/8, this run has 0,3,7/8; "
        "take that schedule, or fit weights for this one"
    )
    found = report(output)
    assert [run["name"] for run in found["runs"]] == ["full", "cached", "fewer"]
    assert found["absent"] == {"uniform spacing": reason}
    assert f"left out: uniform spacing: {reason}" in output.result[2].splitlines()


def test_a_path_that_is_evenly_spaced_itself_is_sampled_once(model, monkeypatch):
    with tiny.counted_blocks(monkeypatch) as count:
        output = compare(model, schedule="0,2,4,7/8", cfg=1.0)
    _, cached, uniform, _ = images(output)
    assert torch.equal(cached, uniform)
    # One full step to warm up, 8 of the full run, 4 of the cached one, 4 plain ones; 5 blocks.
    assert count[0] == 5 * (1 + 8 + 4 + 4)


def test_the_work_is_that_of_the_four_runs_and_a_short_warm_up(model, monkeypatch):
    with tiny.counted_blocks(monkeypatch) as count:
        plain = compare(model, cfg=1.0)
    assert count[0] == 5 * (2 + 8 + 3 + 3 + 3)  # two full steps precede the path's first cached one
    # A cache node before it changes nothing.
    assert torch.equal(images(plain), images(compare(tiny.attach(model, "0,2/8"), cfg=1.0)))


def test_an_image_with_a_mask_is_begun_and_kept_as_ksampler_does(model):
    generator = torch.Generator().manual_seed(3)
    latent = torch.randn(1, 16, 8, 8, generator=generator)
    mask = torch.zeros(1, 1, 64, 64)
    mask[..., 32:] = 1
    given = {"samples": latent, "noise_mask": mask}
    # Steps 4 to 7 of 8: KSampler takes the last half of twice as many levels.
    output = compare(model, latent_image=given, denoise=0.5, steps=4, schedule="0,2/4")
    noise = comfy.sample.prepare_noise(latent, seed=1)

    def expected(model, steps):
        with torch.inference_mode():
            return comfy.sample.sample(
                model, noise, steps, 3.0, "euler", "simple", tiny.conditioning(1),
                tiny.conditioning(2), latent, denoise=0.5, noise_mask=mask, disable_pbar=True,
                seed=1,
            )  # fmt: skip

    full, cached, _, fewer = images(output)
    assert torch.equal(full, seen(expected(model, 4)))
    assert torch.equal(cached, seen(expected(tiny.attach(model, "0,2/4"), 4)))
    assert torch.equal(fewer, seen(expected(model, 2)))


def test_a_run_from_an_image_takes_the_last_steps_of_a_longer_schedule(model):
    output = compare(model, denoise=0.5, steps=4, schedule="0-2,5,7/8")
    # Steps 4 to 7: 5 and 7 are full, and the first one has to be.
    assert report(output)["runs"][1]["schedule"] == "0-1,3/4"
    assert "steps 4 to 7 of your schedule" in report(output)["origin"]


def test_a_batch_has_the_noise_of_ksampler_and_figures_for_each_image(model):
    latent = empty(2) | {"batch_index": [0, 3]}
    output = compare(model, latent_image=latent)
    noise = comfy.sample.prepare_noise(torch.zeros(4, 16, 8, 8), seed=1)[[0, 3]]
    full, cached, _, _ = images(output)
    assert torch.equal(full, seen(tiny.sample(model, noise=noise)))
    assert torch.equal(cached, seen(tiny.sample(tiny.attach(model, PATH), noise=noise)))
    found = report(output)
    psnr = found["runs"][1]["metrics"]["psnr"]
    # The textbook formula, peak 1.
    errors = (full - cached).double() ** 2
    expected = (-10 * errors.flatten(1).mean(1).log10()).tolist()
    assert psnr["values"] == pytest.approx(expected)
    assert output.result[4] == pytest.approx(sum(expected) / 2)
    assert psnr["worst_tenth"] == pytest.approx(min(expected))
    assert f"{min(expected):13.2f}" in output.result[2]  # below its heading
    assert (found["images"], found["width"], found["height"]) == (2, 32, 32)


@pytest.mark.parametrize("name", ["LTX-2", *later("Wan 2.1 14B")])  # the first with sound
def test_of_videos_a_list_has_the_frames_of_each_run(name, monkeypatch):
    case, method = CASES[name], latent_preview.LatentPreviewMethod.Latent2RGB
    monkeypatch.setattr(comfy.cli_args.args, "preview_method", method)
    model = zoo.build(case)
    output = compare(
        model, cfg=case.cfg, positive=case.conditioning(1, 5), negative=case.conditioning(2, 5),
        latent_image={"samples": zoo.empty_latent(case)},
    )  # fmt: skip
    full, cached, uniform, fewer = output.result[0]
    plans = {s: tiny.attach(model, s) for s in (PATH, UNIFORM)}
    for video, expected in (
        (full, zoo.sample(case, model)),
        (cached, zoo.sample(case, plans[PATH])),
        (uniform, zoo.sample(case, plans[UNIFORM])),
        (fewer, zoo.sample(case, model, steps=3)),
    ):
        assert torch.equal(video, seen(expected[0])[0])
    assert report(output)["images"] == len(full) == 3
    assert "frame_change" in report(output)["unavailable"]  # measured where LPIPS is


def test_connected_levels_sampler_and_guider_stand_for_the_widgets(model):
    levels = torch.tensor([1.0, 0.9, 0.7, 0.4, 0.0])
    guider = comfy.samplers.CFGGuider(model)
    guider.set_conds(tiny.conditioning(4), tiny.conditioning(5))
    guider.set_cfg(2.0)
    sampler = comfy.samplers.sampler_object("dpmpp_2m")
    output = compare(model, schedule="0,2/4", sigmas=levels, sampler=sampler, guider=guider)
    noise = comfy.sample.prepare_noise(torch.zeros(1, 16, 8, 8), seed=1)

    def expected(model, levels):
        with torch.inference_mode():
            return comfy.sample.sample_custom(
                model, noise, 2.0, sampler, levels, tiny.conditioning(4), tiny.conditioning(5),
                torch.zeros_like(noise), disable_pbar=True, seed=1,
            )  # fmt: skip

    full, cached, _, fewer = images(output)
    assert torch.equal(full, seen(expected(model, levels)))
    assert torch.equal(cached, seen(expected(tiny.attach(model, "0,2/4"), levels)))
    assert torch.equal(fewer, seen(expected(model, torch.tensor([1.0, 0.7, 0.0]))))


# --- figures and times ----------------------------------------------------------------------------


def test_the_page_gets_what_the_json_has_with_the_times_of_each_run(model, monkeypatch):
    clock = itertools.chain([0, 10, 10, 14, 14, 19, 19, 21])
    monkeypatch.setattr(compare_session, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    output = compare(model)
    (table,) = output.ui["gph_compare"]
    assert table == report(output) | {"workflow_id": None}
    runs = table["runs"]
    assert [run["name"] for run in runs] == ["full", "cached", "uniform", "fewer"]
    assert [run["full_steps"] for run in runs] == [8, 3, 3, 3]
    assert [run["steps"] for run in runs] == [8, 8, 8, 3]
    assert [run["seconds"] for run in runs] == [10, 4, 5, 2]
    assert [run["speedup"] for run in runs] == [1, 2.5, 2, 5]
    assert output.result[6] == 2.5
    # Figures of videos are not for images.
    assert table["frames"] == 1
    assert not any(run["clips"] or "frame_psnr" in run["metrics"] for run in runs)
    assert "clip" not in output.result[2]


def test_what_happened_against_the_plan_is_reported(model):
    notes = report(compare(model, sampler_name="euler_ancestral", **FOUR))["runs"][1]["notes"]
    assert any("adds noise at every step" in note for note in notes)


def test_images_too_small_for_ssim_keep_the_rest(model):
    output = compare(model, latent_image={"samples": torch.zeros(1, 16, 2, 2)}, **FOUR)
    assert isinstance(output.result[5], ExecutionBlocker)
    assert "Golden Path Compare Run has no SSIM: SSIM needs images" in output.result[5].message
    assert output.result[4] > 0
    assert "no SSIM: SSIM needs images of at least 11 x 11" in output.result[2]


# --- refusals, progress, interruption -------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"schedule": "0-9/50"}, "the schedule covers 50 steps but the sampler runs 8"),
        ({"schedule": "0-7/8"}, "all 8 steps would be full, so there is nothing to compare"),
        ({"speed": "Fast", "steps": 3}, "all 3 steps would be full"),
        ({"policy": Hermite(2)}, "needs 3 full steps before the first cached step"),
        ({"sampler_name": "dpm_adaptive"}, "the sampler dpm_adaptive needs all of its model calls"),
        ({"sigmas": torch.tensor([])}, "there is no step to sample"),
        (
            {"sigmas": torch.tensor([1.0, 0.5, 0.6, 0.0]), "schedule": "0/3"},
            "the noise levels do not fall at step 1",
        ),
    ],
)
def test_what_cannot_work_is_said_before_the_model_runs(model, monkeypatch, changes, words):
    with tiny.counted_blocks(monkeypatch) as count, pytest.raises(ValueError, match=words):
        compare(model, **changes)
    assert count[0] == 0


def test_a_missing_package_for_the_figure_is_named_before_the_model_runs(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with (
        tiny.counted_blocks(monkeypatch) as count,
        pytest.raises(ImportError, match="pip install matplotlib"),
    ):
        compare(model)
    assert count[0] == 0


def test_wrong_choices_are_refused_when_the_prompt_is_queued():
    def check(speed, schedule):
        return CompareRun.validate_inputs(speed, schedule, "gone.pth")

    assert check("Fast", "") is True
    assert "'0-2' has no step count" in check("Custom", "0-2")
    assert "'Off' is not a speed" in check("Off", PATH)


def test_a_path_that_was_found_since_makes_it_run_again(monkeypatch):
    paths = []
    monkeypatch.setattr(user_paths, "read", lambda: tuple(paths))
    before = CompareRun.fingerprint_inputs(lpips_weights.OFF, seed=1)
    assert CompareRun.fingerprint_inputs(lpips_weights.OFF, seed=1) == before
    paths.append("a path")
    assert CompareRun.fingerprint_inputs(lpips_weights.OFF, seed=1) != before


def test_one_bar_runs_over_all_steps_with_previews(model, monkeypatch):
    events = []
    monkeypatch.setattr(
        comfy.utils, "PROGRESS_BAR_HOOK",
        lambda value, total, preview, **_: events.append((value, total, preview and preview[0])),
    )  # fmt: skip
    method = latent_preview.LatentPreviewMethod.Latent2RGB
    monkeypatch.setattr(comfy.cli_args.args, "preview_method", method)
    compare(model, **FOUR)
    assert events == [(n, 14, "JPEG") for n in range(1, 15)]  # 3 runs of 4 steps, one of 2


# Model calls: 3 to warm up, 8 in full, 8 under each schedule, 3 plain ones. The 14th is cached.
@pytest.mark.parametrize("call", [1, 14, *later(5, 28)])
def test_an_interruption_ends_the_call_and_leaves_the_original_model(
    model, reference, monkeypatch, call
):
    transformer, calls = model.model.diffusion_model, []
    before = list(transformer.named_modules())
    original = transformer.forward

    def forward(*args, **kwargs):
        calls.append(1)
        if len(calls) == call:
            comfy.model_management.interrupt_current_processing()
        return original(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(transformer, "forward", forward)
        with pytest.raises(comfy.model_management.InterruptProcessingException):
            compare(model, cfg=1.0)
    assert len(calls) == call
    after = list(transformer.named_modules())
    assert [name for name, _ in after] == [name for name, _ in before]
    assert all(a is b for (_, a), (_, b) in zip(after, before, strict=True))
    assert torch.equal(tiny.sample(model), reference)
