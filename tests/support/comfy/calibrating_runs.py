"""Workloads of the zoo's models to calibrate on, and a count of their runs."""

from __future__ import annotations

import comfy.samplers
import pytest
from golden_path_pack.gph_core.experiments import calibrating
from golden_path_pack.nodes.calibrate.calibration_runs import CalibrationRuns
from golden_path_pack.nodes.sample.examples import Example
from golden_path_pack.nodes.sample.sampling import Sampling
from golden_path_pack.nodes.sample.workload import Workload, guider_for
from golden_path_pack.nodes.workers.jobs import here

from ..zoo import zoo, zoo_images, zoo_videos

CASES = {case.name: case for case in (*zoo_images.CASES, *zoo_videos.CASES)}
STEPS, EXAMPLES, CFG = 8, 3, 3.0


def workload(name, model=None, steps=STEPS, count=EXAMPLES, sampler="euler", cfg=CFG):
    case = CASES[name]
    model = model or zoo.build(case)
    examples = tuple(
        Example("", case.conditioning(n, 5), case.conditioning(9, 5), seed=n) for n in range(count)
    )
    return Workload(
        guider_for(model, None, cfg, examples[0]), examples,
        {"samples": zoo.empty_latent(case)}, comfy.samplers.sampler_object(sampler),
        zoo.sigmas(model, steps),
    )  # fmt: skip


def calibrate_all(work, methods, entries, save=lambda *entries: None):
    """Several methods' calibrations, sampled in this process."""
    runs = CalibrationRuns(work)
    return calibrating.calibrate_all(work, runs.facts, methods, entries, here(runs), save)


def calibrate(work, method, entry=None, **options):
    """One method's calibration."""
    return calibrate_all(work, [method], {method: entry} if entry else {}, **options).entries[
        method
    ]


@pytest.fixture
def runs(monkeypatch):
    """Counts the runs that are watched."""
    count = []
    watched = Sampling.watched
    monkeypatch.setattr(
        Sampling, "watched", lambda *args, **kw: count.append(1) or watched(*args, **kw)
    )
    return count
