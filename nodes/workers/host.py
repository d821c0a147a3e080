"""A ComfyUI without a server in a process of Ray's, which answers for one worker.

Ray sends this class as source, since the pack has no importable name there: nothing of the pack may
be used before ComfyUI has loaded it.
"""

from __future__ import annotations

import importlib
import shutil
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

SEARCH = "GPH_ScheduleSearch"


class Host:
    """Starts ComfyUI with its custom nodes, then hands calls to the pack's ``Worker``.

    Args:
        comfyui: folder of ComfyUI, the same on every machine.
        arguments: command line of the ComfyUI that asks.
    """

    def __init__(self, comfyui: str, arguments: Sequence[str]) -> None:
        # ComfyUI wraps them; collected, they would close what they share with its own.
        self._streams = sys.stdout, sys.stderr
        # Starting empties the folder of temporary files: each ComfyUI needs one of its own.
        self._folder = tempfile.mkdtemp(prefix="golden-path-worker-")
        own = ["--temp-directory", self._folder, "--database-url", "sqlite:///:memory:"]
        sys.path.insert(0, comfyui)
        sys.argv = ["main.py", *arguments, *own]
        self._without_assets()
        main = importlib.import_module("main")
        _, server, _ = main.start_comfyui()
        utils, nodes = (importlib.import_module(name) for name in ("comfy.utils", "nodes"))
        utils.set_progress_bar_global_hook(None)  # nobody looks on
        if SEARCH not in nodes.NODE_CLASS_MAPPINGS:
            raise RuntimeError(f"ComfyUI-GoldenPath is not among the custom nodes of {comfyui}")
        package = nodes.NODE_CLASS_MAPPINGS[SEARCH].__module__.removesuffix(
            ".nodes.search.schedule_search"
        )
        self._worker = importlib.import_module(f"{package}.nodes.workers.worker").Worker(server)

    def call(self, name: str, *arguments: Any) -> Any:
        """Plain answer to plain arguments; an error that the user should read is one, too."""
        try:
            return {"answer": getattr(self._worker, name)(*arguments)}
        except (ValueError, RuntimeError) as error:
            return {"error": str(error), "is_value_error": isinstance(error, ValueError)}

    def close(self) -> None:
        """Remove the folder of temporary files."""
        shutil.rmtree(self._folder, ignore_errors=True)

    @staticmethod
    def _without_assets() -> None:
        """Turn off ComfyUI's index of files, where its command line has an option for that.

        A worker shows none, and a ComfyUI that has it on by default exits without its database.
        """
        importlib.import_module("comfy.options").enable_args_parsing()  # as main begins
        arguments = importlib.import_module("comfy.cli_args").args
        if hasattr(arguments, "disable_assets"):
            arguments.disable_assets = True
