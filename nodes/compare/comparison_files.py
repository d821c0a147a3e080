"""Files of a comparison that the page fetches, in ComfyUI's temporary folder."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import folder_paths
from PIL import Image
from torch import Tensor

from ...gph_core.files import strict_json, whole_file
from ...gph_core.reports import error_pictures

SUBFOLDER = "golden_path"
# Takes half the time of level 4, ComfyUI's own, for files a fifth larger (4096 x 4096).
COMPRESSION = 1


def save(
    images: Mapping[str, Tensor], errors: Tensor | None = None, scale: float = 1.0
) -> dict[str, Any]:
    """Save pictures without loss; return the file names of each item.

    Args:
        images: reference, test, or both, ``[B, H, W, 3]`` in [0, 1].
        errors: ``[B, H, W]``, for a heat map.
        scale: error of the brightest colour.
    """
    name = _new_name()
    palette = error_pictures.colors().mul(255).round().byte().flatten().tolist()

    def heat_map(errors: Tensor) -> Image.Image:
        picture = Image.fromarray(error_pictures.shades(errors, scale).cpu().numpy())
        picture.putpalette(palette)
        return picture

    def write(kind: str, number: int) -> str:
        draw, pictures = kinds[kind]
        file = f"{name}_{number}_{kind}.png"
        with whole_file.writing(_folder() / file, is_kept=False) as opened:
            draw(pictures[number]).save(opened, "PNG", compress_level=COMPRESSION)
        return file

    kinds: dict[str, Any] = {kind: (_colored, batch) for kind, batch in images.items()}
    if errors is not None:
        kinds["difference"] = heat_map, errors
    count = len(next(iter(images.values())))
    with ThreadPoolExecutor() as pool:  # compression releases Python's lock
        tasks = [{kind: pool.submit(write, kind, n) for kind in kinds} for n in range(count)]
        files = [{kind: task.result() for kind, task in item.items()} for item in tasks]
    return {"subfolder": SUBFOLDER, "files": files}


def save_report(report: Mapping[str, Any]) -> str:
    """Save what the page is told of a comparison; return the file name, which workflows keep."""
    file = f"{_new_name()}.json"
    with whole_file.writing(_folder() / file, is_kept=False) as opened:
        opened.write(strict_json.dumps(strict_json.finite(report)).encode())
    return file


def _folder() -> Path:
    return Path(folder_paths.get_temp_directory()) / SUBFOLDER


def _new_name() -> str:
    return uuid.uuid4().hex  # always new, because the page caches files by name


def _colored(image: Tensor) -> Image.Image:
    # In place: each thread holds on to memory that it has allocated.
    scaled = image.float().clamp(0, 1).mul_(255).round_()
    return Image.fromarray(scaled.byte().cpu().numpy())
