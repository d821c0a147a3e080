"""Bring ComfyUI, or this pack inside it, into a process of ours: tests, benchmarks, training."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
PACK = "golden_path_pack"


def use_comfyui(*flags: str, device: str = "cpu") -> None:
    """Make ``comfy`` importable, set up as its own ``main.py`` would with these command-line flags,
    on a device: ``cpu`` or ``cuda``.

    Reads ``COMFYUI_PATH``, which ``dev.py`` sets. Must come before the first import of ``comfy``.
    """
    path = os.environ.get("COMFYUI_PATH")
    if not path:
        raise RuntimeError("COMFYUI_PATH is not set; start this with dev.py")
    sys.path.insert(0, path)  # before the pack root: the name `nodes` must be ComfyUI's
    of_device = ["--cpu"] if device == "cpu" else []
    sys.argv = ["main.py", *of_device, *flags]  # read by comfy at import
    import comfy.options

    comfy.options.enable_args_parsing()
    # As main.py does: on older versions `nodes` puts a folder with another `utils` first.
    import utils.extra_config  # noqa: F401


def load_pack() -> ModuleType:
    """The pack as a module of its own name, as ComfyUI loads it (call ``use_comfyui`` first)."""
    if PACK not in sys.modules:
        spec = importlib.util.spec_from_file_location(PACK, ROOT / "__init__.py")
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[PACK] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[PACK]
