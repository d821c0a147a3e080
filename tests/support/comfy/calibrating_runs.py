"""Calibrations of the zoo's models, sampled in this process without a node."""

from __future__ import annotations

from golden_path_pack.gph_core.experiments import calibrating
from golden_path_pack.nodes.calibrate.calibration_runs import CalibrationRuns
from golden_path_pack.nodes.workers.jobs import here

from .calibrate_nodes import inputs, work_of

STEPS, EXAMPLES, CFG = 8, 3, 3.0


def workload(name, steps=STEPS, count=EXAMPLES, sampler="euler"):
    return work_of(inputs(name, count, CFG, sampler, steps))


def calibrate_all(work, methods, entries=(), save=lambda *entries: None):
    """Several methods' calibrations."""
    runs = CalibrationRuns(work)
    return calibrating.calibrate_all(work, runs.facts, methods, dict(entries), here(runs), save)
