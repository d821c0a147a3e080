"""Messages of ``dev.py``, and the quiet steps of an installation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NoReturn

from .paths import DEV

TAIL = 15  # lines of a log that an error shows


def step(message: str) -> None:
    """Say what happens now, in a line."""
    print(f"==> {message}", flush=True)


def fail(problem: str, remedy: str) -> NoReturn:
    """Leave with an error and what to do about it."""
    sys.exit(f"dev.py: {problem}\n        {remedy}")


def run_step(command: list[str], remedy: str) -> None:
    """Run a command with its output in a log; if it fails, show the end of the log."""
    DEV.mkdir(exist_ok=True)
    log = DEV / "install.log"
    with log.open("ab") as output:
        output.write(f"\n$ {subprocess.list2cmdline(command)}\n".encode())
        output.flush()
        done = subprocess.run(command, check=False, stdout=output, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        command_line = subprocess.list2cmdline(command)
        fail(f"this step failed: {command_line}\n{tail(log)}\n(all of it: {log})", remedy)


def tail(log: Path, lines: int = TAIL) -> str:
    """The last lines of a log."""
    return "\n".join(log.read_text("utf-8", "replace").splitlines()[-lines:])


def pip(python: Path, *arguments: str) -> None:
    """Call an environment's pip."""
    run_step(
        [str(python), "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments],
        "check the network and the disk space, then call this script again",
    )
