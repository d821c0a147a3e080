"""Main memory that comparing two videos takes beside the videos, at 81 frames of 832 x 480 pixels.

Each comparison runs in a process of its own, after a small one has loaded what it needs, while a
thread reads the memory of the process every millisecond. What a node hands on, and a full run that
is kept, is counted apart. LPIPS is off. It takes about three minutes of one core.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import folder_paths
import psutil
import torch
from golden_path_pack.nodes.compare.image_metrics import measured_beside_first
from golden_path_pack.nodes.compare.quality_compare import QualityCompare
from golden_path_pack.nodes.sample.assessing import assessor_for, assessor_of
from torch import Tensor

from benchmarks.lab import report

FILE = "clips.json"
FRAMES, HEIGHT, WIDTH = 81, 480, 832
OFF, MIB = "off", 2**20
# MiB beside the two videos, of 370 MiB each, and beside what is handed on or kept. The error that
# Quality Compare draws has a third of a video.
BARS = {"Quality Compare": 512, "Compare Run": 256, "Method Shootout": 256, "Schedule Search": 256}


def add_options(parser) -> None:
    parser.add_argument("--one", choices=WAYS, help="print the figures of one comparison as JSON")


def measure(options) -> dict:
    if options.one:
        print(json.dumps(measured(WAYS[options.one])))
        raise SystemExit
    return {"rows": report.printed({"comparison": n, **in_a_process(n)} for n in WAYS)}


def in_a_process(name: str) -> dict[str, Any]:
    """Figures of one comparison."""
    command = [sys.executable, "-m", "benchmarks", "clips", "--one", name]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, encoding="utf-8", check=True)
    return json.loads(done.stdout.splitlines()[-1])


def misses(figures: dict) -> list[str]:
    rows = figures["rows"]
    return [row["comparison"] for row in rows if row["beside"] > BARS[row["comparison"]]]


def conditions(options) -> dict:
    return {
        "videos": f"two of {FRAMES} frames, {WIDTH} x {HEIGHT} pixels, float32",
        "beside": "MiB at the peak, without the videos and what is kept",
        "kept": "MiB of outputs, or of the full run that a search keeps",
    }


def measured(compare: Callable[[Tensor, Tensor], Sequence[Tensor]]) -> dict[str, int]:
    """Peak of the memory that a comparison takes, in MiB, and how much of it is kept."""

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, torch.inference_mode():
        folder_paths.set_temp_directory(folder)
        compare(*videos(2, 64, 64))
        pair = videos(FRAMES, HEIGHT, WIDTH)
        with Peak() as peak:
            kept = compare(*pair)
    size = sum(tensor.nbytes for tensor in kept)
    return {"beside": round((peak.bytes - size) / MIB), "kept": round(size / MIB)}


def videos(frames: int, height: int, width: int) -> tuple[Tensor, Tensor]:
    """Two videos ``[F, H, W, 3]`` in [0, 1] of moving stripes, the second slightly faster."""
    found = torch.empty(frames, height, width, 3), torch.empty(frames, height, width, 3)
    across = torch.linspace(0, 40, width)[:, None] * torch.tensor([1.0, 1.3, 1.7])
    for video, speed in zip(found, (0.3, 0.31), strict=True):
        for number, frame in enumerate(video):
            frame.copy_(0.5 + 0.5 * (across + speed * number).sin())
    return found


class Peak:
    """Peak memory of this process within a block, in bytes above the level before it."""

    def __enter__(self) -> Peak:
        self._process, self._ended = psutil.Process(), threading.Event()
        self._before = self._most = self._now()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._ended.set()
        self._thread.join()
        self.bytes = self._most - self._before

    def _now(self) -> int:
        return self._process.memory_info().rss

    def _watch(self) -> None:
        while not self._ended.is_set():
            self._most = max(self._most, self._now())
            time.sleep(0.001)


def quality_compare(reference: Tensor, test: Tensor) -> list[Tensor]:
    """The whole node; its outputs are a heat map, and a strip of three videos."""
    given = {"reference": reference, "test": test, "lpips": OFF, "video": True}
    output = QualityCompare.execute(**{name: [value] for name, value in given.items()})
    return [pictures for (pictures,) in output.args[3:5]]


def compare_run(reference: Tensor, test: Tensor) -> list[Tensor]:
    """Measure one run as the node does."""
    measured_beside_first([reference, test], OFF, len(reference))
    return []


def shootout(reference: Tensor, test: Tensor) -> list[Tensor]:
    """Measure one run by all metrics."""
    return assessed(lambda vae: assessor_of(vae, OFF, video=True)[0], reference, test)


def search(reference: Tensor, test: Tensor) -> list[Tensor]:
    """Measure one run by its change from frame to frame."""
    return assessed(lambda vae: assessor_for("PSNR Δt", vae, OFF), reference, test)


def assessed(assessor: Callable[[Any], Any], reference: Tensor, test: Tensor) -> list[Tensor]:
    """The kept images of the full run, without those that share the video's memory."""
    decoded = iter((reference, test))
    made = assessor(SimpleNamespace(decode=lambda _: next(decoded)[None], latent_dim=3))
    latent = torch.zeros(1, 16, 21, 60, 104)
    kept = made.reference(latent)
    made.metrics(made.result(latent), kept)
    own = reference.untyped_storage().data_ptr()
    return [one for one in kept.images if one.untyped_storage().data_ptr() != own]


WAYS = {
    "Quality Compare": quality_compare,
    "Compare Run": compare_run,
    "Method Shootout": shootout,
    "Schedule Search": search,
}
