"""Fingerprints of the demo, the example workflows and seeded measurements on a real server."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from demo.run import plan, sample_all
from demo.subjects import IMAGES, VIDEOS
from demo.workflow import nodes_of_type, to_prompt

from .environment import Tools
from .fingerprints import Prints, part, stable
from .paths import ROOT
from .server import LOCAL, server

FOLDERS = ("output", "temp", "user")
PROMPTS = "two red circles\na large blue square\ngreen ring above pink cross"
STEPS = 12
SEARCH = {
    "speed": "Quality", "full_steps": 5, "minutes": 1e4, "vae": ["model", 1], "seed": 3,
    "evaluations": 8, "validation": ["others", 0],
}  # fmt: skip
# Node, inputs: each runs alone, and some with two workers.
MEASURED = {
    "fitted search": ("GPH_ScheduleSearch", SEARCH | {"policies": "fitted"}, "study"),
    "search": ("GPH_ScheduleSearch", SEARCH | {"policies": "residual reuse"}, "study"),
    "calibration": ("GPH_Calibrate", {"method": "all"}, "calibration"),
    "recording": ("GPH_RecordRuns", {"keep_latents": True}, "recording"),
}
WITH_WORKERS = ("fitted search", "search")


class Comfy:
    """A running server and the folders that it writes to."""

    def __init__(self, url: str, folder: Path, prints: Prints) -> None:
        self._url, self._folder, self._prints = url, folder, prints
        self.nodes = self._get("/object_info")

    def run(self, name: str, prompt: dict[str, Any]) -> None:
        """Keep what each node of a prompt shows, and the latents behind its pictures."""
        for node in nodes_of_type(prompt, "VAEDecode"):
            inputs = {"samples": prompt[node]["inputs"]["samples"], "filename_prefix": "latent"}
            prompt[f"{node} latent"] = {"class_type": "SaveLatent", "inputs": inputs}
        queued = json.dumps({"prompt": prompt}).encode()
        request = urllib.request.Request(
            f"{self._url}/prompt", queued, {"Content-Type": "application/json"}
        )
        with LOCAL.open(request) as response:
            number = json.load(response)["prompt_id"]
        while not (history := self._get(f"/history/{number}")):
            time.sleep(0.1)
        status = history[number]["status"]
        if status["status_str"] != "success":
            raise RuntimeError(f"{name} failed: {status['messages'][-1]}")
        for node, output in sorted(history[number]["outputs"].items()):
            self._keep(f"{name}, {prompt[node]['class_type']} {node}", output)

    def _keep(self, name: str, output: dict[str, Any]) -> None:
        """Keep the files and the texts that a node shows."""
        for key, shown in output.items():
            if isinstance(shown, list) and shown and isinstance(shown[0], dict | str):
                files = [s for s in shown if isinstance(s, dict) and "filename" in s]
                for count, file in enumerate(files):
                    place = self._folder / file["type"] / file["subfolder"] / file["filename"]
                    self._prints.file(f"{name} {key} {count}", place)
                if files:
                    continue
            self._prints.text(f"{name} {key}", stable(shown))

    def _get(self, path: str) -> dict[str, Any]:
        with LOCAL.open(f"{self._url}{path}") as response:
            return json.load(response)


def demo(url: str, prints: Prints) -> None:
    """All rows of the demo, pictures of two prompts and clips of one."""
    for subject, count in ((IMAGES, 2), (VIDEOS, 1)):
        fewer = subject._replace(prompts=dict(list(subject.prompts.items())[:count]))
        rows = [row for group in plan(50, subject) for row in group]
        asyncio.run(sample_all(url, rows, fewer))
        for row in rows:
            name = f"demo: {subject.architecture}, {row.name}, {row.schedule}"
            for number, frames in enumerate(row.images):
                prints.add(f"{name}, {number}", frames.tobytes())
            prints.text(f"{name}, records", stable(row.records))
            prints.text(f"{name}, figures", [row.psnr_db, row.ssim])


def example(path: Path, nodes: dict[str, Any]) -> dict[str, Any]:
    """The prompt of an example workflow with two prompts, and of searches with few schedules."""
    prompt = to_prompt(json.loads(path.read_text("utf-8")), nodes)
    for node in nodes_of_type(prompt, "GPH_ScoringExamples"):
        given = prompt[node]["inputs"]
        for name, between in (("prompts", "\n"), ("seeds", ", ")):
            given[name] = between.join(given[name].split(between)[:2])
    for node in nodes_of_type(prompt, "GPH_ScheduleSearch"):
        prompt[node]["inputs"] |= {"evaluations": 6, "minutes": 1e4}
        (levels,) = nodes_of_type(prompt, "BasicScheduler")
        prompt[levels]["inputs"]["steps"] = STEPS
    return prompt


def measured(name: str, with_workers: bool) -> dict[str, Any]:
    """The prompt of a node that samples three examples of the demo model."""
    kind, given, named = MEASURED[name]
    model, seeds = ["model", 0], {"prompts": PROMPTS, "clip": ["model", 2]}
    scheduled = {"model": model, "scheduler": "simple", "steps": STEPS, "denoise": 1.0}
    inputs = {
        "model": model, "examples": ["examples", 0], "latent": ["latent", 0], "cfg": 5.0,
        "sampler": ["sampler", 0], "sigmas": ["levels", 0],
        named: f"{name} by workers" if with_workers else name,
    }  # fmt: skip
    nodes = {
        "model": ("GPH_DemoModel", {}),
        "examples": ("GPH_ScoringExamples", seeds | {"seeds": "1, 2, 3"}),
        "others": ("GPH_ScoringExamples", seeds | {"seeds": "4, 5, 6"}),
        "latent": ("EmptyLatentImage", {"width": 64, "height": 64, "batch_size": 1}),
        "sampler": ("KSamplerSelect", {"sampler_name": "euler"}),
        "levels": ("BasicScheduler", scheduled),
        "measured": (kind, inputs | given),
    }
    if with_workers:
        nodes["workers"] = (
            "GPH_SearchWorkers", {"address": "local", "count": 2, "gpus_per_worker": 0.0}
        )  # fmt: skip
        inputs = nodes["measured"][1] | {"workers": ["workers", 0]}
        nodes["measured"] = (kind, inputs)
    shown = 3 if kind == "GPH_ScheduleSearch" else 1
    nodes["text"] = ("PreviewAny", {"source": ["measured", shown]})
    return {node: {"class_type": kind, "inputs": given} for node, (kind, given) in nodes.items()}


def make(prints: Prints) -> None:
    """All fingerprints of this part."""
    tools = Tools(Path(os.environ["COMFYUI_PATH"]), Path(sys.executable))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        # ComfyUI's own attention splits by the memory that is free, and rounds accordingly.
        arguments = ["--cpu", "--use-pytorch-cross-attention"]
        for name in FOLDERS:
            (folder / name).mkdir()
            # ComfyUI appends the name of the folder for temporary files itself.
            place = folder if name == "temp" else folder / name
            arguments += [f"--{name}-directory", str(place)]
        with server(tools, arguments, threads=1, log=folder / "server.log") as running:
            comfy = Comfy(running.url, folder, prints)
            demo(running.url, prints)
            for path in sorted((ROOT / "example_workflows").glob("*.json")):
                if '"GPH_DemoModel"' in path.read_text("utf-8"):  # others need files
                    comfy.run(f"example: {path.stem}", example(path, comfy.nodes))
            for name in MEASURED:
                comfy.run(f"measured: {name}", measured(name, False))
            for name in WITH_WORKERS:
                comfy.run(f"workers: {name}", measured(name, True))
        files = (folder / "user").rglob("golden_path/**/*")
        for path in sorted(p for p in files if p.is_file()):
            prints.file(f"user: {path.relative_to(folder / 'user').as_posix()}", path)


if __name__ == "__main__":
    part(make)
