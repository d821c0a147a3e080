"""The newest front end; the tests of the page run on it too, beside the one that ComfyUI pins."""

import tempfile
import zipfile
from pathlib import Path

from filelock import FileLock

from devtools.console import step
from devtools.environment import check_archive, download
from devtools.paths import DEV

VERSION = "1.58.1"
SHA256 = "37912597537a731a8f421179618a736c24184c5bdbfa327f38b2fb7c291852d9"


def bring(python: Path) -> Path:
    """Unpack it, one test process at a time.

    Returns:
        The folder for ComfyUI's ``--front-end-root``.
    """
    target = DEV / f"front-end-{VERSION}"
    with FileLock(DEV / "front-end.lock"):
        if not target.is_dir():
            _unpack(python, target)
    return target / "comfyui_frontend_package" / "static"


def _unpack(python: Path, target: Path) -> None:
    archive = DEV / "downloads" / f"comfyui_frontend_package-{VERSION}-py3-none-any.whl"
    if not archive.is_file():
        step(f"downloading ComfyUI's front end {VERSION} (29 MB)")
        download(python, archive, f"comfyui-frontend-package=={VERSION}")
    check_archive(archive, SHA256)
    with tempfile.TemporaryDirectory(dir=DEV) as temporary:
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(Path(temporary) / "whole")
        (Path(temporary) / "whole").rename(target)
