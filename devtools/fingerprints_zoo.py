"""Fingerprints of policies, methods, calibrations and searches on the zoo's tiny models."""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

# First: ComfyUI may have a folder of this name.
import tests.support  # noqa: F401 # pyright: ignore[reportMissingImports]
from demo.comfyui import load_pack, use_comfyui

from .fingerprints import CONDITIONS, Prints, part, stable

# One model for each structure: two kinds of blocks, one kind, refiners, a shorter last block,
# text by cross attention, two kinds with a video, sound beside a video.
STRUCTURES = (
    "FLUX dev", "Qwen-Image", "Z-Image", "SD3", "Wan 2.1 1.3B", "HunyuanVideo", "LTX-2",
)  # fmt: skip
KEPT_PREFIX = "Qwen-Image 2.1"  # whose stand-in takes only latents that are given as they are
STEPS, SCHEDULE, SPEED, FULL = 12, "0-2,5,8/12", "Quality", 5
# Beside the defaults; each policy takes those that it knows.
OTHERS = {
    "order": 2, "scale": 0.8, "span": 2, "differences": "divided", "max_amplification": 8.0,
    "max_distance": 2,
}  # fmt: skip
WITH_WEIGHTS = ("causal linear (L2P)", "fitted (golden path)")
SEARCHES = ("fitted", "residual reuse", "several, keep the best")


class Log(logging.Handler):
    """Keeps lines."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


class Nodes:
    """The pack's nodes by id, and the lines that they log."""

    def __init__(self) -> None:
        extension = asyncio.run(load_pack().comfy_entrypoint())
        listed = asyncio.run(extension.get_node_list())
        self._classes = {node.define_schema().node_id: node for node in listed}
        self._log = Log()
        logger = logging.getLogger(load_pack().__name__)
        logger.addHandler(self._log)
        logger.setLevel(logging.INFO)
        logger.propagate = False

    def run(self, kind: str, *args: Any, **inputs: Any) -> tuple[Any, ...]:
        """What a node gives."""
        return self._classes[kind].execute(*args, **inputs).result

    def choices(self, kind: str, name: str) -> list[str]:
        """Choices of an input, as they are now."""
        inputs = self._classes[kind].define_schema().inputs
        return next(list(given.options) for given in inputs if given.id == name)

    def logged(self) -> list[str]:
        """The lines since the last call."""
        lines, self._log.lines = self._log.lines, []
        return lines


class Model:
    """A model of the zoo and what is measured with it."""

    def __init__(self, case: Any, nodes: Nodes, prints: Prints) -> None:
        from tests.support.zoo import zoo  # pyright: ignore[reportMissingImports]

        self.case, self.model, self._zoo = case, zoo.build(case), zoo
        self._nodes, self._prints = nodes, prints

    def sampled(self, name: str, model: Any = None, **options: Any) -> None:
        """Keep latents and log of a run; a refusal is a text, too."""
        self._nodes.logged()
        given = {"steps": STEPS} | options
        try:
            found = self._zoo.sample(self.case, model or self.model, **given)
        except (ValueError, RuntimeError) as error:
            self._prints.text(f"{name} refused", stable(str(error)))
        else:
            self._prints.add(name, b"".join(part.float().numpy().tobytes() for part in found))
        if lines := self._nodes.logged():
            self._prints.text(f"{name} log", stable(lines))

    def cached(self, schedule: Any = SCHEDULE, policy: Any = None) -> Any:
        """The MODEL under a schedule."""
        return self._nodes.run("GPH_Cache", self.model, "Custom", schedule, policy)[0]

    def workload(self) -> dict[str, Any]:
        """Inputs of the nodes that sample examples: two prompts."""
        import comfy.samplers

        examples: tuple[Any, ...] = ()
        for seed in (1, 2):
            ready = {"positive": self.case.conditioning(seed, 5), "more": examples}
            ready["negative_conditioning"] = self.case.conditioning(9, 5)
            (examples,) = self._nodes.run("GPH_ScoringExamples", "", str(seed), **ready)
        return {
            "model": self.model, "examples": examples, "cfg": self.case.cfg,
            "latent": {"samples": self._zoo.empty_latent(self.case)},
            "sampler": comfy.samplers.sampler_object("euler"),
            "sigmas": self._zoo.sigmas(self.model, STEPS),
        }  # fmt: skip

    def told(self, name: str, kind: str, *args: Any, **inputs: Any) -> tuple[Any, ...] | None:
        """What a node gives, its texts kept; None where it refuses."""
        try:
            outputs = self._nodes.run(kind, *args, **inputs)
        except ValueError as error:
            self._prints.text(f"{name} refused", stable(str(error)))
            return None
        texts = [str(found) for found in outputs if isinstance(found, str)]
        self._prints.text(f"{name} text", stable(texts))
        return outputs


def policies(nodes: Nodes) -> Iterator[tuple[str, Any]]:
    """The policies without weights, with the defaults and with other options."""
    for choice in nodes.choices("GPH_PolicySelector", "policy"):
        if choice not in WITH_WEIGHTS:
            yield choice, nodes.run("GPH_PolicySelector", choice)[0]
            yield f"{choice}, other options", nodes.run("GPH_PolicySelector", choice, **OTHERS)[0]


def of_policies(model: Model, nodes: Nodes) -> None:
    """All policies on one model."""
    for title, policy in policies(nodes):
        model.sampled(f"policy: {model.case.name}, {title}", model.cached(policy=policy))


def of_methods(model: Model, nodes: Nodes) -> None:
    """All methods and kinds of searches on one model."""
    name, file = model.case.name, model.case.name.replace(" ", "-")
    work = model.workload()
    for method in ("all", "BudCache"):
        given = {"method": method, "calibration": file, "speed": SPEED}
        model.told(f"calibration: {name}, {method}", "GPH_Calibrate", **work, **given)
    for method in nodes.choices("GPH_PlanSchedule", "method"):
        title = f"planned: {name}, {method}"
        given = (method, STEPS, SPEED, FULL, file, work["sigmas"], model.model)
        if outputs := model.told(title, "GPH_PlanSchedule", *given):
            model.sampled(title, model.cached(*outputs[:2]))
    for method in nodes.choices("GPH_AdaptiveCache", "method"):
        title = f"gate: {name}, {method}"
        given = {"method": method, "speed": SPEED, "calibration": file}
        model.told(f"{title}, ratio", "GPH_CalibrateRatio", **work, **given)
        for speed, threshold in ((SPEED, 0.0), ("Threshold", 0.05), ("Threshold", 0.4)):
            cache = {"method": method, "speed": speed, "threshold": threshold, "calibration": file}
            run = f"{title}, {speed} {threshold}"
            if outputs := model.told(run, "GPH_AdaptiveCache", model.model, **cache):
                model.sampled(run, outputs[0])
    for kind in SEARCHES:
        given = {
            "speed": SPEED, "full_steps": FULL, "minutes": 1e4, "study": f"{file} {kind}",
            "policies": kind, "objective": "latent MSE", "evaluations": 8, "seed": 3,
        }  # fmt: skip
        title = f"search: {name}, {kind}"
        if outputs := model.told(title, "GPH_ScheduleSearch", **work, **given):
            model.sampled(title, model.cached(*outputs[:2]))


def of_samplers(model: Model, nodes: Nodes) -> None:
    """Every sampler, and other shapes of calls."""
    import comfy.samplers

    (taylor,) = nodes.run("GPH_PolicySelector", "Taylor")
    for sampler in comfy.samplers.KSampler.SAMPLERS:
        for title, policy in (("residual reuse", None), ("Taylor", taylor)):
            patched = model.cached(policy=policy)
            model.sampled(f"sampler: {sampler}, {title}", patched, sampler=sampler, cfg=3.0)
    for title, options in {
        "tokens": {"tokens": (5, 8)}, "batch": {"batch": 2}, "no guidance": {"cfg": 1.0},
    }.items():  # fmt: skip
        model.sampled(f"call: {title}", model.cached(), **options)


def recorded(model: Model, nodes: Nodes) -> None:
    """Recordings of full runs, and of a method that decides."""
    work = model.workload()
    (adaptive,) = nodes.run("GPH_AdaptiveCache", model.model, "DiCache", "Threshold", 0.3, "none")
    given = {"recording": "decisions", "keep_latents": True}
    outputs = model.told("recording: runs", "GPH_RecordRuns", **work | {"model": adaptive}, **given)
    model.told("recording: states", "GPH_RecordTrajectory", **work, recording="states")
    assert outputs is not None
    found = model.told("recording: frequent", "GPH_MostFrequentSchedule", "none", 0, outputs[0])
    assert found is not None
    model.sampled("recording: replayed", model.cached(found[0], found[4]))


def make(prints: Prints) -> None:
    """All fingerprints of this part."""
    use_comfyui("--use-pytorch-cross-attention")
    import folder_paths
    import torch
    from comfy_api.latest import io
    from comfyui_version import __version__

    torch.set_num_threads(1)
    setattr(io.ComfyNode, "hidden", SimpleNamespace(unique_id=None, prompt={}))  # noqa: B010
    nodes = Nodes()
    from tests.support.zoo.zoo_all import CASES  # pyright: ignore[reportMissingImports]

    prints.found[CONDITIONS] = f"ComfyUI {__version__}, torch {torch.__version__}"
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        folder_paths.set_user_directory(folder)
        for case in CASES.values():
            model = Model(case, nodes, prints)
            model.sampled(f"model: {case.name}, full", steps=4)
            model.sampled(f"model: {case.name}, cached", model.cached("0,2/4"), steps=4)
        for name in STRUCTURES:
            of_policies(Model(CASES[name], nodes, prints), nodes)
            of_methods(Model(CASES[name], nodes, prints), nodes)
        of_policies(Model(CASES[KEPT_PREFIX], nodes, prints), nodes)
        of_samplers(Model(CASES[STRUCTURES[0]], nodes, prints), nodes)
        recorded(Model(CASES[STRUCTURES[0]], nodes, prints), nodes)
        for path in sorted(p for p in Path(folder).rglob("*") if p.is_file()):
            prints.file(f"file: {path.relative_to(folder).as_posix()}", path)


if __name__ == "__main__":
    part(make)
