"""The demo: one bundled workflow, run by the real server with and without the cache.

Full run, the three speeds of *Golden Path Cache* and, at the same number of full steps, two
baselines: uniform spacing, and simply fewer steps. Prints a table, writes two sheets of
pictures and a JSON report. Run it with ``python dev.py demo``, for clips with ``--video``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import statistics
from copy import deepcopy
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import cast

import aiohttp
import numpy as np
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from gph_core.paths.conditions import Choice, Conditions
from gph_core.paths.library import bundled_paths
from gph_core.paths.spacings import spacing
from gph_core.paths.speeds import SPEEDS, resolve
from gph_core.policies.base import Policy
from gph_core.policies.extrapolation import Reuse
from gph_core.policies.fitted import Fitted
from gph_core.schedule import Schedule

from .client import Client
from .sampling import GUIDANCE, sigmas
from .subjects import IMAGES, VIDEOS, Subject
from .training import pictures
from .workflow import cached_run, nodes_of_type, to_prompt


@dataclass
class Row:
    """One way of sampling, over all prompts."""

    name: str
    schedule: Schedule  # of the sampler's own steps
    speed: str | None = None  # None: without the cache
    is_control: bool = False
    seconds: list[float] = field(default_factory=list)
    psnr_db: list[float] = field(default_factory=list)
    ssim: list[float] = field(default_factory=list)
    records: list[dict] = field(default_factory=list)
    images: list[np.ndarray] = field(default_factory=list)  # [F, H, W, 3], of images with F = 1

    @property
    def median_seconds(self) -> float:
        return statistics.median(self.seconds)


def plan(steps: int, subject: Subject = IMAGES) -> list[list[Row]]:
    """Groups of rows: the full run alone, then each speed with its two baselines."""
    # The server chooses by these conditions, too.
    shift = subject.shift
    conditions = Conditions(
        subject.architecture, subject.config, sigmas(steps, shift).tolist(), Reuse(),
        halfway=shift / (1 + shift), holds=is_of_this_cfg,
    )  # fmt: skip
    groups = [[Row("full", Schedule.all_full(steps))]]
    for speed in SPEEDS:
        choice = resolve(speed, conditions, bundled_paths())
        count = choice.schedule.num_full
        spaced, fewer = spacing(steps, count), Schedule.all_full(count)
        groups.append(
            [
                Row(f"{speed}, {found(choice)}", choice.schedule, speed),
                Row(f"uniform, {count} full", spaced, "Custom", is_control=True),
                Row(f"{count} plain steps", fewer, is_control=True),
            ]
        )
    return groups


def found(choice: Choice) -> str:
    """Short description of how a schedule was found."""
    return "fitted" if isinstance(choice.policy, Fitted) else choice.origin.partition(":")[0]


def is_of_this_cfg(policy: Policy) -> bool:
    """Whether a policy was fitted with the demo's CFG; all else is the same in every demo."""
    return policy.conditions.get("cfg", GUIDANCE) == GUIDANCE


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


async def sample_all(url: str, rows: list[Row], subject: Subject) -> dict:
    """Fill the rows; return the conditions."""
    async with aiohttp.ClientSession() as session:
        server = Client(session, url)
        workflow = json.loads(subject.workflow.read_text("utf-8"))
        prompt = cached_run(to_prompt(workflow, await server.get("/object_info")))
        print("warming up", flush=True)
        await server.run(variant(prompt, rows[0], 0, ""))  # loads the model
        for row in rows:
            for seed, text in subject.prompts.items():
                frames, seconds, record = await server.run(variant(prompt, row, seed, text))
                row.images.append(frames)
                row.seconds.append(seconds)
                if record is not None:
                    row.records.append(record)
            print(f"{row.name:34} {row.median_seconds:.2f} s a picture", flush=True)
        stats = (await server.get("/system_stats"))["system"]
        sampler = prompt[nodes_of_type(prompt, "KSampler")[0]]["inputs"]
    for row in rows[1:]:
        for image, reference in zip(row.images, rows[0].images, strict=True):
            row.psnr_db.append(float(peak_signal_noise_ratio(reference, image, data_range=255)))
            row.ssim.append(ssim(reference, image))
    return {
        "model": subject.title,
        "sampler": {k: sampler[k] for k in ("sampler_name", "scheduler", "cfg", "denoise")},
        "shift": subject.shift,
        "prompts": subject.prompts,
        "comfyui": stats["comfyui_version"],
        "torch": stats["pytorch_version"],
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
    }


def ssim(reference: np.ndarray, frames: np.ndarray) -> float:
    """Structural similarity of 8-bit frames with the Gaussian window of Wang et al. (2004)."""
    values = [
        cast(float, structural_similarity(  # with other options it would be a tuple
            *pair, channel_axis=2, data_range=255,
            gaussian_weights=True, sigma=1.5, use_sample_covariance=False,
        ))
        for pair in zip(reference, frames, strict=True)
    ]  # fmt: skip
    return float(statistics.mean(values))


def shown(row: Row) -> str:
    """Title of a row for readers who are new to the demo."""
    name = row.name.partition(",")[0].capitalize()
    return f"{name}: {row.schedule.num_full} of {row.schedule.num_steps} steps"


def table(rows: list[Row]) -> str:
    """Medians of seconds, means of the rest, as text."""
    full = rows[0].median_seconds
    lines = [f"{'':36} full steps     s  speed-up  PSNR dB   SSIM"]
    for row in rows:
        counts = f"{row.schedule.num_full} of {row.schedule.num_steps}"
        seconds = row.median_seconds
        name = f"  {row.name}" if row.is_control else row.name
        line = f"{name:36} {counts:>10} {seconds:5.2f} {full / seconds:8.2f}x"
        if row.psnr_db:
            line += f" {statistics.mean(row.psnr_db):8.1f} {statistics.mean(row.ssim):6.3f}"
        lines.append(line)
    return "\n".join(lines)


def verdict(group: list[Row]) -> str:
    """Line that names the way closest to the full run, among those with as many full steps."""
    best = max(group, key=lambda row: statistics.mean(row.psnr_db))
    return f"closest to the full run with {best.schedule.num_full} full steps: {best.name}"


def report(rows: list[Row], conditions: dict) -> dict:
    """Report of everything that the table summarises."""
    names = [f.name for f in fields(Row) if f.name != "images"]
    listed = [
        {name: getattr(row, name) for name in names} | {"schedule": str(row.schedule)}
        for row in rows
    ]
    return {"format": 1, "conditions": conditions, "rows": listed}


def main() -> None:
    parser = argparse.ArgumentParser(prog="dev.py demo", description=__doc__)
    parser.add_argument("--url", required=True, help="address of a running ComfyUI with this pack")
    parser.add_argument("--out", type=Path, required=True, help="folder of report and pictures")
    parser.add_argument("--steps", type=int, default=50, help="the sampler's steps")
    parser.add_argument("--video", action="store_true", help="clips instead of images")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    subject = VIDEOS if options.video else IMAGES
    groups = plan(options.steps, subject)
    rows = [row for group in groups for row in group]
    conditions = asyncio.run(sample_all(options.url, rows, subject))
    prompts = list(subject.prompts.values())
    titles = [f"{row.name}\n{rows[0].median_seconds / row.median_seconds:.1f}x" for row in rows]
    pictures.contact_sheet(rows, titles, prompts, options.out / "contact_sheet.png")
    speeds = [row for row in rows if not row.is_control]
    pictures.contact_sheet(
        speeds, [shown(row) for row in speeds], prompts,
        options.out / "speeds.png", "Dark: full steps. Light: cached steps.", (1, 3),
    )  # fmt: skip
    text = json.dumps(report(rows, conditions), indent=1)
    (options.out / "report.json").write_text(text, "utf-8")
    settings = conditions["sampler"]
    print(
        f"\n{len(prompts)} prompts, {options.steps} steps, {settings['sampler_name']}, "
        f"CFG {settings['cfg']}, shift {conditions['shift']}; "
        "PSNR and SSIM against the full run (means), seconds of sampling (median)\n"
    )
    print(table(rows))
    print("\n" + "\n".join(verdict(group) for group in groups[1:]))
    print("a small model shows the mechanics; it says little about the images of large ones")
    print(f"\npictures and report: {options.out}")


if __name__ == "__main__":
    main()
