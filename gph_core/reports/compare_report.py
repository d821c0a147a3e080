"""Report of *Golden Path Compare Run* on its four runs: numbers, a table, a contact sheet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from ..methods.candidates import FITTED_PATH, FULL, UNIFORM
from ..paths.conditions import Choice
from ..quality.comparison import IDENTICAL, Comparison, clips
from ..quality.metric_table import CAPTIONS, JUDGED, METRICS, OF_IMAGES
from ..run.record import RunRecord
from ..schedule import Schedule
from ..texts import named
from . import figures, tallies

CACHED, FEWER = "cached", "fewer"  # FITTED_PATH is the cached run under fitted weights

# In the order of the table, which has one PSNR.
COLUMNS = {k: row for k, row in {**OF_IMAGES, **JUDGED}.items() if k != "psnr_8bit"}
CLIP = f"clip {METRICS['psnr'].heading}"  # of whole videos


@dataclass(frozen=True)
class Run:
    """Outcome of one way of sampling."""

    name: str
    schedule: Schedule  # of its own steps
    latent: Any  # in main memory
    seconds: float  # of sampling
    record: RunRecord | None = None

    @property
    def num_full(self) -> int:
        return len(self.record.full_steps) if self.record else self.schedule.num_full


def report_of(
    choice: Choice, no_uniform: str, runs: Sequence[Run], measured: Sequence[Comparison],
    network: str | None, speed: str, frames: int = 1,
) -> dict[str, Any]:  # fmt: skip
    """All numbers, in JSON types.

    Args:
        choice: of the cached run.
        no_uniform: why there is no uniform run; empty if there is one.
        runs: in the order of the session.
        measured: metrics of all runs but the full one.
        network: of LPIPS, if there is one.
        frames: of each video; 1 for images.
    """
    return {
        "speed": speed,
        "origin": choice.origin,
        "policy": str(choice.policy),
        "closest": closest(runs, measured),
        "frames": frames,
        "lpips_network": network,
        "unavailable": dict(measured[0].unavailable),
        "absent": {"uniform spacing": no_uniform} if no_uniform else {},
        "runs": [
            {
                "name": run.name,
                "schedule": str(run.schedule),
                "steps": run.schedule.num_steps,
                "full_steps": run.num_full,
                "seconds": run.seconds,
                "speedup": runs[0].seconds / run.seconds,
                "metrics": {} if comparison is None else _metrics(comparison, frames),
                "clips": {} if comparison is None or frames == 1 else _clips(comparison, frames),
                "notes": [] if run.record is None else list(run.record.notes),
            }
            for run, comparison in zip(runs, [None, *measured], strict=True)
        ],
    }


def _metrics(comparison: Comparison, frames: int) -> dict[str, Any]:
    """Figures of images or frames; a tally is of images, as nobody looks at frames one by one."""
    found = comparison.to_dict()["metrics"]
    return found if frames > 1 else found | {"psnr": tallies.tallied(found["psnr"])}


def _clips(comparison: Comparison, frames: int) -> dict[str, Any]:
    """Figures of whole videos; their SSIM is the mean over the frames."""
    return {"psnr": tallies.tallied(clips(comparison.figures["psnr"], frames).to_dict())}


def closest(runs: Sequence[Run], measured: Sequence[Comparison]) -> str:
    """Name of the run with the highest mean PSNR to the full one; the earlier one of equals."""
    means = [comparison.figures["psnr"].mean for comparison in measured]
    return runs[1 + means.index(max(means))].name


def label(run: Mapping[str, Any], speed: str) -> str:
    return {
        FULL: "full",
        CACHED: f"cached ({speed})",
        FITTED_PATH: f"fitted ({speed})",
        UNIFORM: "uniform spacing",
        FEWER: f"{run['steps']} plain steps",
    }[run["name"]]


def table(report: Mapping[str, Any]) -> str:
    """Table of the means, as lines of text."""
    runs, speed = report["runs"], report["speed"]
    is_video = report["frames"] > 1
    columns = [(heading, max(10, 2 + len(heading)), cells) for heading, cells in _columns(report)]
    titles = "".join(f"{heading:>{width}}" for heading, width, _ in columns)
    lines = [f"{'':20}{'full steps':>12}{'seconds':>9}{'speed-up':>10}{titles}"]
    for n, run in enumerate(runs):
        counts = f"{run['full_steps']} of {run['steps']}"
        lines.append(
            f"{label(run, speed):20}{counts:>12}{run['seconds']:9.2f}{run['speedup']:9.2f}x"
            + "".join(f"{cells[n]:>{width}}" for _, width, cells in columns)
        )
    names = {run["name"]: label(run, speed) for run in runs}
    lines += [
        f"closest to the full run: {names[report['closest']]}",
        f"{runs[1]['name']}: {report['origin']}: {runs[1]['schedule']}, policy {report['policy']}",
        "seconds of sampling alone, each run once, after a warm-up",
    ]
    if tallies.is_tallied(_items(runs[1])):
        lines.append(tallies.legend("videos" if is_video else "images"))
    if is_video:
        lines.append(f"means of the frames; {CLIP}: of the mean square error of all frames")
        lines += [f"{names[run['name']]}: {_worst(run, report)}" for run in runs if run["metrics"]]
    lines += [f"{names[run['name']]}: {note}" for run in runs for note in run["notes"]]
    lines += [f"left out: {named(name, reason)}" for name, reason in report["absent"].items()]
    unavailable = report["unavailable"].items()
    lines += [f"no {METRICS[name].title}: {reason}" for name, reason in unavailable]
    return "\n".join(line.rstrip() for line in lines)


def _columns(report: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """Headings of the metrics, and what stands below them for each run."""
    metrics, whole = ([run[part] for run in report["runs"]] for part in ("metrics", "clips"))
    columns = []
    for name, row in COLUMNS.items():
        if name in metrics[1]:
            columns.append((row.heading, [_mean(found, name, row.form) for found in metrics]))
        if name == "psnr":
            columns += tallies.columns(metrics)
    if report["frames"] > 1:
        form = METRICS["psnr"].form
        columns.append((CLIP, [_mean(found, "psnr", form) for found in whole]))
        columns += tallies.columns(whole)
    return columns


def _items(run: Mapping[str, Any]) -> Mapping[str, Any]:
    """PSNR of the images of a run, or of its whole videos; empty for the full run."""
    return (run["clips"] or run["metrics"]).get("psnr", {})


def _worst(run: Mapping[str, Any], report: Mapping[str, Any]) -> str:
    """The frame that is farthest from the full run, counted from 1."""
    values = run["metrics"]["psnr"]["values"]
    least = min(values, key=lambda value: math.inf if value == IDENTICAL else value)
    if least == IDENTICAL:
        return "all frames identical"
    clip, frame = divmod(values.index(least), report["frames"])
    where = f" of video {clip + 1}" if len(values) > report["frames"] else ""
    written = METRICS["psnr"].text(least)
    return f"lowest PSNR {written}, in frame {frame + 1} of {report['frames']}{where}"


def figure(runs: Sequence[Run], pictures: Sequence[Tensor], report: Mapping[str, Any]) -> Tensor:
    """Contact sheet, two by two, ``[1, H, W, 3]``: steps, middle picture and means of each run.

    Args:
        pictures: ``[B, H, W, 3]`` of each run.
    """
    from matplotlib.figure import Figure

    number, height, width, _ = pictures[0].shape
    middle = number // 2
    side = 4.2 * min(height / width, 1.5)  # inches
    sheet = Figure(figsize=(8.8, 2 * side + 2.8), dpi=110, layout="constrained")
    grid = sheet.add_gridspec(4, 2, height_ratios=(0.3, side, 0.3, side))
    for n, (run, picture) in enumerate(zip(runs, pictures, strict=True)):
        entry, row, column = report["runs"][n], n // 2 * 2, n % 2
        steps = sheet.add_subplot(grid[row, column])
        figures.strip(steps, 0, run.schedule)
        steps.set_xlim(0, run.schedule.num_steps)
        mark = ", closest" if run.name == report["closest"] else ""
        steps.set_title(label(entry, report["speed"]) + mark, size=17, weight="bold")
        axes = sheet.add_subplot(grid[row + 1, column])
        axes.imshow(picture[middle].float().clamp(0, 1).cpu().numpy())
        axes.set_xlabel(caption(entry), size=14)
        for part in (steps, axes):
            part.set(xticks=[], yticks=[])
        steps.spines[:].set_visible(False)
    if number > 1:
        items = "frames" if report["frames"] > 1 else "images"
        sheet.supxlabel(f"means of {number} {items}; shown: number {middle + 1}", size=14)
    return figures.to_image(sheet)


def caption(run: Mapping[str, Any]) -> str:
    """What stands below the picture of a run."""
    metrics = run["metrics"]
    means = [_mean(metrics, name, form) for name, form in CAPTIONS.items() if name in metrics]
    lines = [" · ".join(means) or "the reference"]
    if tallies.is_tallied(psnr := _items(run)):
        worst = tallies.worst(psnr, METRICS["psnr"].text)
        lines.append(f"worst tenth {worst} · {tallies.hardly(psnr)} hardly visible")
    faster = "" if run["name"] == FULL else f" · {run['speedup']:.2f}x as fast"
    steps = f"{run['full_steps']} of {run['steps']} steps full"
    return "\n".join([*lines, f"{run['seconds']:.2f} s{faster}", steps])


def _mean(figures: Mapping[str, Any], name: str, form: str) -> str:
    if name not in figures:
        return ""
    mean = figures[name]["mean"]
    return IDENTICAL if mean == IDENTICAL else form.format(mean)
