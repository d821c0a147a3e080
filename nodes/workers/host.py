"""A ComfyUI without a server, in a process of Ray's, which answers for one worker.

Ray sends this module by value, because the pack has no importable name there. So nothing else of
the pack may be used before ComfyUI has loaded it.
"""

from __future__ import annotations

import importlib
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

SEARCH = "GPH_ScheduleSearch"
LOCK = "in use"
NEW_S = 5.0  # a new folder has no lock for a moment


class Host:
    """Starts ComfyUI with its custom nodes, then hands calls to the pack's ``Worker``.

    Args:
        comfyui: folder of ComfyUI, the same on every machine.
        arguments: command line of the ComfyUI that asks.
    """

    def __init__(self, comfyui: str, arguments: Sequence[str]) -> None:
        # Kept alive: ComfyUI wraps them, and if collected, they would close what both share.
        self._streams = sys.stdout, sys.stderr
        # ComfyUI empties its folder of temporary files at start: each needs one of its own.
        remove_abandoned()
        self._folder, self._lock = own_folder()
        own = ["--temp-directory", self._folder, "--database-url", "sqlite:///:memory:"]
        sys.path.insert(0, comfyui)
        sys.argv = ["main.py", *arguments, *own]
        self._without_assets()
        main = importlib.import_module("main")
        _, server, _ = main.start_comfyui()
        utils, nodes = (importlib.import_module(name) for name in ("comfy.utils", "nodes"))
        utils.set_progress_bar_global_hook(None)  # nobody is watching
        if SEARCH not in nodes.NODE_CLASS_MAPPINGS:
            raise RuntimeError(f"ComfyUI-GoldenPath is not among the custom nodes of {comfyui}")
        package = nodes.NODE_CLASS_MAPPINGS[SEARCH].__module__.removesuffix(
            ".nodes.search.schedule_search"
        )
        self._worker = importlib.import_module(f"{package}.nodes.workers.worker").Worker(server)

    def call(self, name: str, *arguments: Any) -> Any:
        """Plain answer to plain arguments; an error for the user is an answer too."""
        try:
            return {"answer": getattr(self._worker, name)(*arguments)}
        except (ValueError, RuntimeError) as error:
            return {"error": str(error), "is_value_error": isinstance(error, ValueError)}

    def close(self) -> None:
        """Remove the folder of temporary files."""
        self._lock.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    @staticmethod
    def _without_assets() -> None:
        """Turn off ComfyUI's index of files, if its command line has an option for it.

        A worker shows no files, and a ComfyUI with the index on by default exits without a
        database.
        """
        importlib.import_module("comfy.options").enable_args_parsing()  # as main does first
        arguments = importlib.import_module("comfy.cli_args").args
        if hasattr(arguments, "disable_assets"):
            arguments.disable_assets = True


def own_folder() -> tuple[str, BinaryIO]:
    """A new folder for temporary files, and a file in it that is locked while its owner lives."""
    folder = tempfile.mkdtemp(prefix=_prefix())
    file = Path(folder, LOCK).open("wb")  # noqa: SIM115 - open while its owner lives
    with suppress(OSError):  # some drives have no locks: the folder stays after a kill
        _lock(file)
    return folder, file


def remove_abandoned() -> None:
    """Remove the folders that workers of this machine left behind when they were killed.

    The system frees a file's lock when its process ends, however it ends.
    """
    for folder in Path(tempfile.gettempdir()).glob(f"{_prefix()}*"):
        with suppress(OSError):  # in use, or somebody else's
            if folder.stat().st_mtime > time.time() - NEW_S:
                continue
            with (folder / LOCK).open("r+b") as file:
                _lock(file)
            shutil.rmtree(folder, ignore_errors=True)


def _prefix() -> str:
    """Prefix of this machine's folders, as several machines may share a drive for them."""
    return f"golden-path-worker-{platform.node()}-"


def _lock(file: BinaryIO) -> None:
    """Lock a file for this process until it is closed; ``OSError`` if another process has it."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
