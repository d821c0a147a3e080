"""LPIPS on ComfyUI's device, with weights from ``models/lpips`` or a download that the user chose.

Only the choice ``DOWNLOAD`` uses the network.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.request
import uuid
from pathlib import Path

import comfy.model_management
import comfy.utils
import folder_paths
from torch import Tensor

from ...gph_core.files import whole_file
from ...gph_core.quality import lpips_network
from ...gph_core.quality.lpips_network import LpipsNetwork
from ...gph_core.quality.metrics import Network

OFF = "off"
DOWNLOAD = "download now (233 MB)"
IS_OFF = f"off; choose a file of weights, or {DOWNLOAD!r}"
# AlexNet as torchvision publishes it; its name ends in the first digits of the file's SHA-256.
URL = "https://download.pytorch.org/models/alexnet-owt-7be5be79.pth"
FOLDER = "lpips"
ENDINGS = (".pth", ".safetensors")
TIMEOUT_S = 30

folder_paths.add_model_folder_path(FOLDER, os.path.join(folder_paths.models_dir, FOLDER))


def options() -> list[str]:
    """Choices of the node: no LPIPS, the existing files, a download."""
    files = [name for name in folder_paths.get_filename_list(FOLDER) if name.endswith(ENDINGS)]
    return [OFF, *files, DOWNLOAD]


def find(choice: str) -> Path | None:
    """File of a choice, if it exists; for ``DOWNLOAD``, a completed download."""
    path = folder_paths.get_full_path(FOLDER, file_name(choice))
    return None if path is None else Path(path)


def file_name(choice: str) -> str:
    """File name of a choice, even before its download."""
    return _name(URL) if choice == DOWNLOAD else choice


def fingerprint(choice: str | None) -> str:
    """Fingerprint of a choice's file; while the file is missing, a new one each time."""
    if choice in (None, OFF):
        return ""
    path = find(choice)
    return uuid.uuid4().hex if path is None else f"{path} {path.stat().st_mtime_ns}"


def network(choice: str) -> tuple[Network, str]:
    """Network of LPIPS on any device, and the name of its backbone.

    Raises the errors of ``load``.
    """
    device = comfy.model_management.get_torch_device()
    loaded = load(choice, device)

    def distance(first: Tensor, second: Tensor) -> Tensor:
        count, _, height, width = first.shape
        needed = loaded.backbone.bytes_per_pixel * count * height * width
        comfy.model_management.free_memory(needed, device)  # other models give way
        return loaded(first.to(device), second.to(device))

    return distance, loaded.backbone.name


def load(choice: str, device) -> LpipsNetwork:
    """Load the network of a choice.

    Raises ``ValueError``, ``ImportError`` or ``OSError`` that says what to do.
    """
    if choice == OFF:
        raise ValueError(IS_OFF)
    path = find(choice)
    if path is None and choice == DOWNLOAD:
        path = download(URL)
    if path is None:
        raise FileNotFoundError(
            f"{choice} is not in {_folder()}; put it there, or choose {DOWNLOAD!r}"
        )
    return lpips_network.load(path, device)


def download(url: str) -> Path:
    """Download torchvision's AlexNet into the folder: whole and as published, or not at all."""
    target = _folder() / _name(url)
    wanted = target.stem.rpartition("-")[2]
    try:
        with whole_file.writing(target) as file:
            digest = _fetch(url, file)
            if not digest.startswith(wanted):
                raise OSError(f"what came has SHA-256 {digest}, which should begin with {wanted}")
    except (OSError, http.client.HTTPException) as error:
        raise OSError(
            f"the download of {url} failed ({error}); try again, or put the file into "
            f"{target.parent}"
        ) from error
    return target


def _fetch(url: str, file) -> str:
    """Download a URL into a file; return its SHA-256. Shows progress, and can be interrupted."""
    digest = hashlib.sha256()
    with urllib.request.urlopen(url, timeout=TIMEOUT_S) as response:
        bar = comfy.utils.ProgressBar(int(response.headers.get("Content-Length") or 1))
        while block := response.read(2**20):
            digest.update(block)
            file.write(block)
            bar.update_absolute(file.tell())
    return digest.hexdigest()


def _folder() -> Path:
    """First of the folders; downloads go there."""
    return Path(folder_paths.get_folder_paths(FOLDER)[0])


def _name(url: str) -> str:
    return url.rpartition("/")[2]
