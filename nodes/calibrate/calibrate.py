"""The *Calibrate* node: parameters of methods for a model, measured on examples."""

from __future__ import annotations

from functools import partial

from comfy_api.latest import io

from ...gph_core.calibration import file
from ...gph_core.calibration.table import RECIPES
from ...gph_core.experiments.budcache import NAME as BUDCACHE
from ...gph_core.experiments.calibrating import Calibrated, calibrate_all
from ...gph_core.paths.library import check_name
from ...gph_core.texts import counted
from ..library import calibrations
from ..sample.examples import Example
from ..sample.workload import Workload, guider_for
from ..schema.inputs import (
    check_known,
    count_input,
    guider_input,
    sampling_inputs,
    speed_input,
    workers_input,
)
from ..schema.node import Node
from ..schema.types import COUNT, METHODS, CalibrationType
from ..workers import capture, jobs
from ..workers.ray_actors import Workers
from . import budcache
from .calibration_runs import Bar, CalibrationRuns

ALL = "all"


class OnFile(Node):
    """Base of nodes that read and write a calibration file, whose name is an input."""

    @classmethod
    def check_inputs(cls, calibration: str | None = None) -> None:
        check_known((check_name, calibration))

    @classmethod
    def fingerprint_inputs(cls, calibration: str | None = None, **inputs) -> dict[str, int]:
        # Another node may have written other values under the same name.
        return calibrations.FILES.changed_at(calibration)


class Calibrate(OnFile):
    """Calibrate methods on examples, and save the result in a file."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="GPH_Calibrate",
            display_name="Calibrate",
            category=METHODS,
            description=(
                "Measures what caching methods need to know about your model and settings, such "
                "as TeaCache's polynomial and SenCache's sensitivities, and saves it in a file. "
                "It samples your examples in full. Use it before Calibrate Ratio. You can cancel "
                "at any time; queue again to continue."
            ),
            search_aliases=[
                "calibrate TeaCache, MagCache", "coefficients", "ratios", "L2P", "fit", "measure",
            ],
            is_output_node=True,
            inputs=[
                *sampling_inputs(),
                io.Combo.Input(
                    "method",
                    options=[ALL, *RECIPES, BUDCACHE],
                    default=ALL,
                    tooltip=(
                        "all: every method that this model allows, from one full run per example "
                        "(SenCache nearly triples the time). BudCache instead searches hundreds "
                        "of schedules on the first two examples."
                    ),
                ),
                name_input(
                    "The name of the file, in the folder golden_path/calibrations of the user "
                    "directory. Another model, sampler, CFG, size or other noise levels need "
                    "another name; another method does not."
                ),
                speed_input(
                    "Only for BudCache: how many steps of its schedule are full.",
                    optional=True,
                    advanced=True,
                ),
                count_input("Only for BudCache and", optional=True, advanced=True),
                guider_input(),
                workers_input("BudCache does not use them."),
            ],
            outputs=[
                CalibrationType.Output(display_name="calibration"),
                io.String.Output(display_name="report"),
            ],
            hidden=[io.Hidden.unique_id, io.Hidden.prompt],
        )  # fmt: skip

    @classmethod
    def execute(
        cls, model, examples: tuple[Example, ...], latent, sampler, sigmas, cfg: float,
        method: str, calibration: str, speed: str = "Balanced", full_steps: int = 10, guider=None,
        workers: Workers | None = None,
    ) -> io.NodeOutput:  # fmt: skip
        check_name(calibration)
        workload = workload_of(model, examples, latent, sampler, sigmas, cfg, guider)
        runs = CalibrationRuns(workload)
        if capture.take(runs):  # in a worker
            return io.NodeOutput()
        path, progress = calibrations.FILES.path_of(calibration), Bar(cls.hidden.unique_id)
        entries = file.load_for(path, workload.setup.conditions)
        save = partial(file.save, path)
        if method != BUDCACHE:
            methods = tuple(RECIPES) if method == ALL else (method,)
            with jobs.shared(workers, runs, cls.hidden) as shared:
                done = calibrate_all(workload, runs.facts, methods, entries, shared.jobs, save)
            done.notes.extend(shared.notes)
        else:
            count = workload.full_of(full_steps if speed == COUNT else speed)
            entry = budcache.search(workload, count, path, entries.get(method), progress)
            if entry is not entries.get(method):
                save(entry)
            done = Calibrated({method: entry}, {}, workload.notes)
        progress(1.0)
        number = counted(len(workload), "example")
        text = f"{calibration}: {number}, {workload.num_steps} steps\n\n"
        return io.NodeOutput(calibration, text + report(done))


def name_input(tooltip: str) -> io.String.Input:
    """Input for the name of a calibration file."""
    return io.String.Input("calibration", default="my model", tooltip=tooltip)


def workload_of(model, examples, latent, sampler, sigmas, cfg: float, guider) -> Workload:
    """Workload from the inputs of a calibration node."""
    return Workload(guider_for(model, guider, cfg, examples[0]), examples, latent, sampler, sigmas)


def report(done: Calibrated) -> str:
    """Report with one line per method; ``ValueError`` if none could be calibrated."""
    if not done.entries:
        raise ValueError("; ".join(done.left_out.values()))
    lines = [f"{method}: {entry.summary()}" for method, entry in done.entries.items()]
    lines += [f"left out: {reason}" for reason in done.left_out.values()]
    return "\n".join([*lines, *done.notes])
