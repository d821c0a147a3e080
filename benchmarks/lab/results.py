"""Results of a benchmark in a file: their conditions, then parts with a line for each row."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from comfyui_version import __version__
from golden_path_pack.gph_core.quality.verdict import Tally
from scipy.stats import t

import benchmarks
from benchmarks.lab.subjects import weights_of

FOLDER = Path(benchmarks.__file__).parent / "results"


def versions(model: str = "") -> dict[str, str]:
    """Versions that figures depend on, and the GPU if there is one.

    Args:
        model: name of what was measured; the weights of a demo model are a version, too.
    """
    found = {"torch": torch.__version__, "comfyui": __version__}
    if weights := weights_of(model):
        found["weights"] = weights
    if benchmarks.ON_GPU:
        found["device"] = torch.cuda.get_device_name()
    return found


def write(file: Path, conditions: Mapping[str, Any], **parts: Sequence[Any]) -> None:
    """Write the rows of each part under their conditions, to which the versions are added."""
    every = {**conditions, **versions(conditions.get("model", ""))}
    texts = [f'"conditions": {json.dumps(every, ensure_ascii=False)}']
    for name, rows in parts.items():
        lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        texts.append(f'"{name}": [\n{lines}\n]')
    file.write_text("{" + ",\n".join(texts) + "}\n", "utf-8")


def kept(file: Path) -> dict[str, list[Any]]:
    """Parts of a saved file; none where there is no file.

    Raises ``ValueError`` where other versions made it: new rows would stand under wrong conditions.
    """
    if not file.exists():
        return {}
    parts = json.loads(file.read_text("utf-8"))
    conditions = parts.pop("conditions")
    for name, version in versions(conditions.get("model", "")).items():
        if conditions.get(name) != version:
            raise ValueError(
                f"{file.name} was measured with {name} {conditions.get(name)}, this is {version}; "
                "measure everything again: delete the file first"
            )
    return parts


def seen(values: Sequence[float] | np.ndarray) -> dict[str, float]:
    """What a mean of PSNRs hides: worst tenth, and share hardly visible (see ``verdict.Tally``)."""
    tally = Tally.of(np.ravel(values).tolist())
    return {"worst tenth": round(tally.worst, 2), "good": round(tally.hardly, 3)}


def interval(values: Sequence[float] | np.ndarray, digits: int = 3) -> tuple[float, float]:
    """Mean, and half of its 95 % interval by Student's t, rounded for a file."""
    found = np.asarray(values)
    count = len(found)
    half = t.ppf(0.975, count - 1) * found.std(ddof=1) / math.sqrt(count)
    return round(float(found.mean()), digits), round(float(half), digits)
