"""A ComfyUI server with this pack, for as long as a command or a test needs it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .console import fail, step, tail
from .environment import Tools
from .paths import DEV, PACK_NAME, ROOT


class Running(NamedTuple):
    """A server that answers."""

    url: str
    process: subprocess.Popen


@contextlib.contextmanager
def server(
    tools: Tools,
    arguments: list[str],
    *,
    port: int | None = None,
    threads: int | None = None,
    log: Path | None = None,
) -> Iterator[Running]:
    """ComfyUI with this pack in a throw-away base directory, stopped at the end."""
    assert tools.comfyui, "only tests of the core run without ComfyUI"
    environment = tools.environment | ({"OMP_NUM_THREADS": str(threads)} if threads else {})
    with tempfile.TemporaryDirectory(
        prefix="golden-path-", ignore_cleanup_errors=True
    ) as temporary:
        base = Path(temporary)
        for folder in ("custom_nodes", "models", "input", "output", "temp", "user"):
            (base / folder).mkdir()
        place_pack(base / "custom_nodes" / PACK_NAME)
        port = free_port(port)
        log = log or DEV / "server.log"
        command = [str(tools.python), str(tools.comfyui / "main.py"), *arguments]
        command += ["--base-directory", str(base), "--disable-auto-launch", "--port", str(port)]
        command += ["--database-url", f"sqlite:///{(base / 'user' / 'comfyui.db').as_posix()}"]
        step(f"starting ComfyUI on port {port}, log in {log}")
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=base,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                **own_process_group(),
            )
        try:
            url = f"http://127.0.0.1:{port}"
            wait_until_ready(process, url, log)
            yield Running(url, process)
        finally:
            stop(process)


def place_pack(target: Path) -> None:
    """Link the pack; copy it where links are not allowed (Windows without developer mode)."""
    try:
        target.symlink_to(ROOT, target_is_directory=True)
    except OSError:
        shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(".git", ".dev", "__pycache__"))


def free_port(wanted: int | None = None) -> int:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", wanted or 0))
        except OSError as error:
            fail(f"port {wanted} cannot be used: {error.strerror}", "leave --port out or change it")
        return probe.getsockname()[1]


# The server is on this machine: a proxy of the user's must not see these requests.
LOCAL = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def answers(url: str) -> bool:
    try:
        with LOCAL.open(f"{url}/system_stats", timeout=5):
            return True
    except OSError:  # URLError is one
        return False


def wait_until_ready(process: subprocess.Popen, url: str, log: Path, seconds: int = 180) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        ready = answers(url)
        if process.poll() is not None:
            break
        if ready:
            return
        time.sleep(0.3)
    fail(
        f"ComfyUI did not start; the end of {log}:\n{tail(log, 20)}",
        "mend that and call this script again",
    )


def own_process_group() -> dict:
    """Arguments that let Ctrl-C reach only this script, which then stops the server properly."""
    if os.name == "nt":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}  # type: ignore[attr-defined]
    return {"start_new_session": True}


def stop(process: subprocess.Popen) -> None:
    """End the server and, where processes have groups, what it started."""

    def end(forced: bool) -> None:
        if os.name == "nt":
            process.kill() if forced else process.terminate()
        else:
            with contextlib.suppress(ProcessLookupError):  # the whole group is gone
                os.killpg(process.pid, signal.SIGKILL if forced else signal.SIGTERM)

    end(forced=False)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        end(forced=True)
        process.wait()
