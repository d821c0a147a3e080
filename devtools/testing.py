"""Linters and tests that ``dev.py check`` and ``dev.py test`` run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from .environment import Tools
from .paths import DEV, ROOT
from .server import place_pack

# Each worker holds a ComfyUI: more of them than this need more memory than many machines have.
WORKERS = min(4, os.cpu_count() or 2)
# In the order of the folders: by size, long tests with real workers came last, in one process.
SPREAD = ["-n", str(WORKERS), "--dist", "loadgroup", "--no-loadscope-reorder", "-q"]
CORE = ["tests/core", "tests/demo", "tests/project"]


def check(tools: Tools) -> int:
    """Linters, types, the core's tests without ComfyUI, and the tests of what changed."""
    failed = _failed(_linters(tools))
    without_comfyui = Tools(None, tools.python)
    if without_comfyui.run("-m", "pytest", *SPREAD, *CORE) != 0:
        failed.append("tests of the core")
    changed = tests_of(_changed_files())
    if changed and tools.run("-m", "pytest", *SPREAD, *changed) != 0:
        failed.append("tests of what changed")
    return _result(failed)


def test(tools: Tools, with_all: bool) -> int:
    """Linters, types and tests; long tests only ``with_all``."""
    linters, failed = _linters(tools), []  # beside the tests: alone they leave a core idle
    if tools.run("-m", "tests.browser.chromium") != 0:
        failed.append("browser")
    if tools.run("-m", "pytest", *SPREAD, *(["--all"] if with_all else [])) != 0:
        failed.append("tests")
    return _result(_failed(linters) + failed)


def _linters(tools: Tools) -> dict[str, subprocess.Popen]:
    """The linters by name, started in parallel."""
    calls = {
        "ruff check": ["ruff", "check", "."],
        "ruff format": ["ruff", "format", "--check", "."],
        "types": ["basedpyright", "--pythonpath", str(tools.python)],
    }
    _place_for_types(DEV / "types" / "golden_path_pack")
    # The types of the nodes are held against ComfyUI's.
    path = {"PYTHONPATH": str(tools.comfyui)}
    return {name: tools.start("-m", *call, **path) for name, call in calls.items()}


def _place_for_types(pack: Path) -> None:
    """Put the pack where the checker finds it under the name by which benchmarks import it."""
    if pack.is_symlink():
        pack.unlink()
    shutil.rmtree(pack, ignore_errors=True)  # a copy may be an older one
    pack.parent.mkdir(parents=True, exist_ok=True)
    place_pack(pack)


def _failed(running: dict[str, subprocess.Popen]) -> list[str]:
    """Wait for the linters, print their output, return the names of those that failed."""
    failed = []
    for name, process in running.items():
        printed, _ = process.communicate()
        print(f"--- {name}\n{printed.decode('utf-8', 'replace').strip()}", flush=True)
        if process.returncode != 0:
            failed.append(name)
    return failed


def _result(failed: list[str]) -> int:
    if failed:
        print(f"\nfailed: {', '.join(failed)}", flush=True)
    return 1 if failed else 0


def _changed_files() -> list[str]:
    """Files that differ from the last commit, including new ones; none outside a git checkout."""
    changed: list[str] = []
    for command in (
        ["diff", "--name-only", "HEAD"],
        ["ls-files", "--others", "--exclude-standard"],
    ):
        done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True)
        changed += done.stdout.splitlines() if done.returncode == 0 else []
    return changed


def tests_of(changed: list[str]) -> list[str]:
    """Test files of the changed files, without those of the core, which run anyway.

    A test file belongs to itself, ``test_name*.py`` to the module ``name.py`` of the same room, and
    others to the module with which they begin, as ``room/name:``.
    """
    found = set()
    for path in map(Path, changed):
        if path.name.startswith("test_") and path.suffix == ".py" and (ROOT / path).is_file():
            found.add(path)
        elif path.parts[0] == "nodes" and path.suffix == ".py":
            room = ROOT / "tests" / "comfy" / "/".join(path.parts[1:-1])
            found |= {p.relative_to(ROOT) for p in room.glob(f"test_{path.stem}*.py")}
        if path.parts[0] in ("nodes", "gph_core") and path.suffix == ".py":
            begin = f'"""{"/".join(path.with_suffix("").parts[1:])}: '
            files = (ROOT / "tests" / "comfy").rglob("test_*.py")
            found |= {p.relative_to(ROOT) for p in files if p.read_text("utf-8").startswith(begin)}
    others = (path.as_posix() for path in found)
    return sorted(path for path in others if not path.startswith(tuple(CORE)))
