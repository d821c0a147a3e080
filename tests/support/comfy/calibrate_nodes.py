"""Calibrate and Calibrate Ratio on the zoo's models, and runs under what they find."""

from __future__ import annotations

import comfy.samplers
import pytest
import torch
from golden_path_pack.gph_core.methods.table import ALL
from golden_path_pack.nodes.cache import adaptive
from golden_path_pack.nodes.calibrate.calibrate import Calibrate
from golden_path_pack.nodes.calibrate.calibrate_ratio import CalibrateRatio
from golden_path_pack.nodes.library import calibrations
from golden_path_pack.nodes.sample.examples import Example
from golden_path_pack.nodes.sample.sampling import Sampling
from golden_path_pack.nodes.sample.workload import Workload, guider_for
from golden_path_pack.nodes.schema.types import COUNT

from ..zoo import zoo, zoo_images, zoo_videos

CASES = {case.name: case for case in (*zoo_images.CASES, *zoo_videos.CASES)}
STEPS, FULL = 12, 7


@pytest.fixture
def runs(monkeypatch):
    """Counts the runs, by the way in which they are made."""
    count = []
    for way in ("watched", "under"):
        original = getattr(Sampling, way)

        def counted(*args, _original=original, _way=way, **kwargs):
            count.append(_way)
            return _original(*args, **kwargs)

        monkeypatch.setattr(Sampling, way, counted)
    return count


def inputs(name="FLUX dev", count=3, cfg=3.0, sampler="euler", steps=STEPS, size=0, model=None):
    case = CASES[name]
    model = model or zoo.build(case)
    latent = zoo.empty_latent(case)
    if size:
        latent = torch.zeros(*latent.shape[:-1], size)
    return {
        "model": model,
        "examples": tuple(
            Example("", case.conditioning(n, 5), case.conditioning(9, 5), n) for n in range(count)
        ),
        "latent": {"samples": latent},
        "sampler": comfy.samplers.sampler_object(sampler),
        "sigmas": zoo.sigmas(model, steps),
        "cfg": cfg,
    }


def work_of(given):
    """Workload of a node's inputs."""
    guider = guider_for(given["model"], None, given["cfg"], given["examples"][0])
    return Workload(guider, given["examples"], given["latent"], given["sampler"], given["sigmas"])


def calibrated(method="all", name="mine", **given):
    return Calibrate.execute(**given, method=method, calibration=name).result


def found(method, full=FULL, name="mine", policy=None, **given):
    """The threshold in the file, and what the node gives."""
    outputs = CalibrateRatio.execute(
        **given, method=method, speed=COUNT, full_steps=full, calibration=name, policy=policy
    ).result
    newest = calibrations.load(name, ALL[method].name).thresholds[-1]
    return newest["threshold"], *outputs


def realised(method, given, speed=COUNT, full=FULL, name="mine"):
    """Cached steps of each example under Adaptive Cache with the file."""
    plan = adaptive.plan_of(method, speed, 0.0, name, full)
    work = work_of(given)
    records = [work.sampling(n).under(plan)[1] for n in range(len(work))]
    return [len(record.cached_steps) for record in records]


def with_lora(model):
    patched = model.clone()
    key = next(k for k in model.model.state_dict() if k.endswith("img_in.weight"))
    weight = model.model.state_dict()[key]
    patched.add_patches({key: ("diff", (torch.full_like(weight, 1e-3),))})
    return patched
