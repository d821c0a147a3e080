"""The demo: one bundled workflow, run by the real server with and without the cache.

Full run, the three speeds of *Golden Path Cache* and, at the same number of full steps, two
controls: uniform spacing, and simply fewer steps. Prints a table, writes a contact sheet and a
JSON report. Run it with ``python dev.py demo``.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import os
import platform
import statistics
import time
import uuid
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from pathlib import Path

import aiohttp
import numpy as np
from PIL import Image
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from gph_core.schedule import Schedule, uniform
from gph_core.speeds import resolve

from .workflow import nodes_of_type, to_prompt

WORKFLOW = Path(__file__).parent.parent / "example_workflows" / "Try_Golden_Path_Cache.json"
STEPS = 50
# Held-out captions: the model was not trained on them.
PROMPTS = {
    11: "red cross left of yellow circle on gradient white background",
    12: "two white triangles on plain yellow background",
    13: "large blue square on dotted green background",
    14: "red circle above yellow diamond on checkered cyan background",
}


@dataclass
class Row:
    """One way of sampling, over all prompts."""

    name: str
    schedule: Schedule  # of the sampler's own steps
    speed: str | None = None  # None: without the cache
    seconds: list[float] = field(default_factory=list)
    psnr_db: list[float] = field(default_factory=list)
    ssim: list[float] = field(default_factory=list)
    records: list[dict] = field(default_factory=list)
    images: list[np.ndarray] = field(default_factory=list)

    @property
    def median_seconds(self) -> float:
        return statistics.median(self.seconds)


def plan() -> list[Row]:
    """The full run, then each speed with its two controls."""
    rows = [Row("full", Schedule.all_full(STEPS))]
    for speed in ("Quality", "Balanced", "Fast"):
        schedule = resolve(speed, STEPS, "FLUX").schedule
        count = schedule.num_full
        rows += [
            Row(f"{speed} (FLUX.1-dev path)", schedule, speed),
            Row(f"  uniform, {count} full", uniform(STEPS, count), "Custom"),
            Row(f"  {count} plain steps", Schedule.all_full(count)),
        ]
    return rows


class Server:
    """A client of ComfyUI's HTTP API."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session, self._url, self._client = session, url, uuid.uuid4().hex

    async def get(self, path: str, **query) -> dict:
        async with self._session.get(f"{self._url}{path}", params=query) as response:
            response.raise_for_status()
            return await response.json()

    async def image(self, saved: dict) -> np.ndarray:
        async with self._session.get(f"{self._url}/view", params=saved) as response:
            response.raise_for_status()
            return np.asarray(Image.open(io.BytesIO(await response.read())).convert("RGB"))

    async def run(self, prompt: dict) -> tuple[np.ndarray, float, dict | None]:
        """The image of a prompt, the seconds its sampler took, the cache node's run record."""
        (sampler,) = nodes_of_type(prompt, "KSampler")
        started = stopped = record = None
        async with self._session.ws_connect(f"{self._url}/ws?clientId={self._client}") as events:
            body = {"prompt": prompt, "client_id": self._client}
            async with self._session.post(f"{self._url}/prompt", json=body) as response:
                answer = await response.json()
                if response.status != 200:
                    raise RuntimeError(f"the server refused the workflow: {json.dumps(answer)}")
            async for message in events:
                if message.type is not aiohttp.WSMsgType.TEXT:
                    continue  # previews
                event = json.loads(message.data)
                kind, data = event["type"], event["data"]
                if kind == "golden_path.run":
                    record = data["record"]
                elif kind == "executing":
                    if data["node"] is None:  # the last event; the history is complete now
                        break
                    if data["node"] == sampler:
                        started = time.perf_counter()
                    elif started is not None and stopped is None:
                        stopped = time.perf_counter()
                elif kind in ("execution_error", "execution_interrupted"):
                    raise RuntimeError(f"the run failed: {data.get('exception_message', kind)}")
        if started is None or stopped is None:
            raise RuntimeError("the server did not report when the sampler ran")
        history = await self.get(f"/history/{answer['prompt_id']}")
        outputs = history[answer["prompt_id"]]["outputs"].values()
        (saved,) = (image for output in outputs for image in output.get("images", []))
        return await self.image(saved), stopped - started, record


def variant(prompt: dict, row: Row, seed: int, text: str) -> dict:
    """The bundled workflow with the settings of one row."""
    changed = deepcopy(prompt)
    (cache,) = nodes_of_type(changed, "GPH_Cache")
    (sampler,) = nodes_of_type(changed, "KSampler")
    positive, _ = changed[sampler]["inputs"]["positive"]
    changed[positive]["inputs"]["text"] = text
    changed[sampler]["inputs"].update(seed=seed, steps=row.schedule.num_steps)
    if row.speed is None:
        changed[sampler]["inputs"]["model"] = changed[cache]["inputs"]["model"]
        del changed[cache]
    else:
        changed[cache]["inputs"].update(speed=row.speed, schedule=str(row.schedule))
    return changed


async def sample_all(url: str, rows: list[Row]) -> dict:
    """Fill the rows; return the conditions."""
    async with aiohttp.ClientSession() as session:
        server = Server(session, url)
        workflow = json.loads(WORKFLOW.read_text("utf-8"))
        prompt = to_prompt(workflow, await server.get("/object_info"))
        print("warming up", flush=True)
        await server.run(variant(prompt, rows[0], 0, ""))  # loads the model
        for row in rows:
            for seed, text in PROMPTS.items():
                image, seconds, record = await server.run(variant(prompt, row, seed, text))
                row.images.append(image)
                row.seconds.append(seconds)
                if record is not None:
                    row.records.append(record)
            print(f"{row.name.strip():26} {row.median_seconds:.2f} s a picture", flush=True)
        stats = (await server.get("/system_stats"))["system"]
        sampler = prompt[nodes_of_type(prompt, "KSampler")[0]]["inputs"]
    for row in rows[1:]:
        for image, reference in zip(row.images, rows[0].images, strict=True):
            row.psnr_db.append(float(peak_signal_noise_ratio(reference, image, data_range=255)))
            row.ssim.append(ssim(reference, image))
    return {
        "model": "golden path demo model (FLUX architecture, 2.3 M parameters)",
        "sampler": {k: sampler[k] for k in ("sampler_name", "scheduler", "cfg", "denoise")},
        "shift": 2.0,
        "prompts": PROMPTS,
        "comfyui": stats["comfyui_version"],
        "torch": stats["pytorch_version"],
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
    }


def ssim(reference: np.ndarray, image: np.ndarray) -> float:
    """Structural similarity of 8-bit images with the Gaussian window of Wang et al. (2004)."""
    value = structural_similarity(
        reference, image, channel_axis=2, data_range=255,
        gaussian_weights=True, sigma=1.5, use_sample_covariance=False,
    )  # fmt: skip
    return float(value)


def table(rows: list[Row]) -> str:
    """Medians of seconds, means of the rest, as text."""
    full = rows[0].median_seconds
    lines = [f"{'':26} full steps     s  speed-up  PSNR dB   SSIM"]
    for row in rows:
        counts = f"{row.schedule.num_full} of {row.schedule.num_steps}"
        seconds = row.median_seconds
        line = f"{row.name:26} {counts:>10} {seconds:5.2f} {full / seconds:8.2f}x"
        if row.psnr_db:
            line += f" {statistics.mean(row.psnr_db):8.1f} {statistics.mean(row.ssim):6.3f}"
        lines.append(line)
    return "\n".join(lines)


def verdict(rows: list[Row]) -> str:
    """Which of the three ways is closest to the full run, at each number of full steps."""
    lines = []
    for start in range(1, len(rows), 3):
        group = rows[start : start + 3]
        best = max(group, key=lambda row: statistics.mean(row.psnr_db))
        count = group[0].schedule.num_full
        lines.append(f"closest to the full run with {count} full steps: {best.name.strip()}")
    return "\n".join(lines)


def contact_sheet(rows: list[Row], path: Path) -> None:
    """One column a row of the table, one line a prompt, the schedule above each image."""
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure

    full = rows[0].median_seconds
    figure = Figure(figsize=(2.1 * len(rows), 2.6 * len(PROMPTS) + 0.7), layout="constrained")
    figure.suptitle(
        "Golden Path Cache on the demo model: dark = full step, light = cached", size=15
    )
    grid = figure.add_gridspec(
        2 * len(PROMPTS),
        len(rows),
        height_ratios=[0.07, 1] * len(PROMPTS),
        hspace=0.02,
        wspace=0.02,
    )
    colors = ListedColormap(["#1d4e89", "#cfe0f1"])
    for column, row in enumerate(rows):
        bits = np.array([[int(bit) for bit in row.schedule.bits]])
        for line, image in enumerate(row.images):
            strip = figure.add_subplot(grid[2 * line, column])
            strip.imshow(bits, aspect="auto", cmap=colors, vmin=0, vmax=1, interpolation="nearest")
            axes = figure.add_subplot(grid[2 * line + 1, column])
            axes.imshow(image, interpolation="nearest")
            for part in (strip, axes):
                part.set(xticks=[], yticks=[])
            if line == 0:
                speed = f"{full / row.median_seconds:.1f}x"
                strip.set_title(f"{row.name.strip()}\n{speed}", size=11)
            if row.psnr_db:
                axes.set_xlabel(f"{row.psnr_db[line]:.1f} dB", size=9)
            if column == 0:
                text = list(PROMPTS.values())[line]
                axes.set_ylabel(text.replace(" on ", "\non "), size=9)
    figure.savefig(path, dpi=80)


def report(rows: list[Row], conditions: dict) -> dict:
    """Everything that the table summarises."""
    listed = []
    for row in rows:
        fields = asdict(row)
        fields.update(name=row.name.strip(), schedule=str(row.schedule))
        fields.pop("images")
        listed.append(fields)
    return {"format": 1, "conditions": conditions, "rows": listed}


def main() -> None:
    parser = argparse.ArgumentParser(prog="dev.py demo", description=__doc__)
    parser.add_argument("--url", required=True, help="address of a running ComfyUI with this pack")
    parser.add_argument("--out", type=Path, required=True, help="folder of report and pictures")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows = plan()
    conditions = asyncio.run(sample_all(options.url, rows))
    contact_sheet(rows, options.out / "contact_sheet.png")
    text = json.dumps(report(rows, conditions), indent=1)
    (options.out / "report.json").write_text(text, "utf-8")
    settings = conditions["sampler"]
    print(
        f"\n{len(PROMPTS)} prompts, {STEPS} steps, {settings['sampler_name']}, "
        f"CFG {settings['cfg']}, shift {conditions['shift']}; "
        "PSNR and SSIM against the full run (means), seconds of sampling (median)\n"
    )
    print(table(rows))
    print(f"\n{verdict(rows)}")
    print("a small model shows the mechanics; it says little about the images of large ones")
    print(f"\ncontact sheet and report: {options.out}")


if __name__ == "__main__":
    main()
