"""Pictures of a comparison as files that the page fetches, in ComfyUI's temporary folder."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import folder_paths
from PIL import Image
from torch import Tensor

from ...gph_core.files import whole_file
from ...gph_core.reports import error_pictures

SUBFOLDER = "golden_path"
# Half the time of level 4, which ComfyUI takes for its files, and a fifth larger (4096 x 4096).
COMPRESSION = 1


def save(reference: Tensor, test: Tensor, errors: Tensor, scale: float) -> dict[str, Any]:
    """Save each item's reference, test and heat map without loss; return their file names.

    Args:
        reference: ``[B, H, W, 3]`` in [0, 1].
        test: the same.
        errors: ``[B, H, W]``.
        scale: error of the brightest colour.
    """
    folder = Path(folder_paths.get_temp_directory()) / SUBFOLDER
    name = uuid.uuid4().hex  # the page keeps what it has fetched under a name
    palette = error_pictures.colors().mul(255).round().byte().flatten().tolist()

    def heat_map(errors: Tensor) -> Image.Image:
        picture = Image.fromarray(error_pictures.shades(errors, scale).cpu().numpy())
        picture.putpalette(palette)
        return picture

    def write(kind: str, number: int) -> str:
        draw, images = kinds[kind]
        file = f"{name}_{number}_{kind}.png"
        with whole_file.writing(folder / file, is_kept=False) as opened:
            draw(images[number]).save(opened, "PNG", compress_level=COMPRESSION)
        return file

    kinds = {
        "reference": (_colored, reference),
        "test": (_colored, test),
        "difference": (heat_map, errors),
    }
    with ThreadPoolExecutor() as pool:  # compression leaves Python's lock to others
        tasks = [
            {kind: pool.submit(write, kind, n) for kind in kinds} for n in range(len(reference))
        ]
        files = [{kind: task.result() for kind, task in item.items()} for item in tasks]
    return {"subfolder": SUBFOLDER, "files": files}


def _colored(image: Tensor) -> Image.Image:
    # In place: each thread keeps the memory of what it has made.
    scaled = image.float().clamp(0, 1).mul_(255).round_()
    return Image.fromarray(scaled.byte().cpu().numpy())
