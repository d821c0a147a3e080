"""Method Shootout on the demo model, and what it compares."""

from __future__ import annotations

import json
import math

import comfy.samplers
import torch
from golden_path_pack.demo import comfy_model
from golden_path_pack.gph_core.calibration import file
from golden_path_pack.gph_core.calibration.entry import Calibration
from golden_path_pack.gph_core.calibration.threshold import FoundThreshold
from golden_path_pack.gph_core.methods.method import settings_of
from golden_path_pack.gph_core.methods.table import ALL
from golden_path_pack.gph_core.run_plan import setting_of
from golden_path_pack.nodes.library import calibrations
from golden_path_pack.nodes.sample.workload import Workload, guider_for
from golden_path_pack.nodes.schema.types import COUNT
from golden_path_pack.nodes.shootout.method_shootout import MethodShootout

from ..zoo import zoo
from .demo_examples import examples

STEPS, FULL = 10, 4
VAE = comfy_model.DemoVAE()


def shootout(methods, **changes):
    """What the node gives for the demo model."""
    model = comfy_model.load_model()
    inputs = {
        "model": model, "examples": examples()[:2],
        "latent": {"samples": torch.zeros(1, 48, 8, 8)},
        "sampler": comfy.samplers.sampler_object("euler"), "sigmas": zoo.sigmas(model, STEPS),
        "cfg": 5.0, "speed": COUNT, "full_steps": FULL, "calibration": "none",
        "methods": "\n".join(methods), "name": "demo", "vae": VAE,
    } | changes  # fmt: skip
    return MethodShootout.execute(**inputs)


def report_of(*args, **kwargs):
    """The report by row, and all of it."""
    report = json.loads(shootout(*args, **kwargs).result[2])
    return {row["name"]: row for row in report["rows"]}, report


def workload(cfg=5.0, steps=STEPS):
    model = comfy_model.load_model()
    return Workload(
        guider_for(model, None, cfg, examples()[0]), examples()[:2],
        {"samples": torch.zeros(1, 48, 8, 8)}, comfy.samplers.sampler_object("euler"),
        zoo.sigmas(model, steps),
    )  # fmt: skip


def calibrate(thresholds, work=None):
    """A file with a threshold for each method at the wanted number of full steps."""
    work = work or workload()
    for name, threshold in thresholds.items():
        method = ALL[name]
        setting = setting_of(work.setup.known(method.policy), FULL)
        settings = settings_of(method, setting, method.policy)
        cached = work.num_steps - FULL
        found = FoundThreshold(cached, threshold, 0.0, math.inf, (cached,), 1, "")
        entry = Calibration(name, work.setup.conditions).with_threshold(settings, found)
        path = calibrations.FILES.path_of("mine")
        path.parent.mkdir(parents=True, exist_ok=True)
        file.save(path, entry)
    return {"calibration": "mine"}
