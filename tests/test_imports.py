"""The dependency rule of the pack."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CORE_MAY_IMPORT = {"numpy", "safetensors", "scipy", "torch"} | set(sys.stdlib_module_names)


def absolute_imports(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.split(".")[0]


def files(folder):
    found = sorted((ROOT / folder).glob("**/*.py"))
    assert found
    return found


@pytest.mark.parametrize("path", files("gph_core"), ids=lambda p: p.name)
def test_core_imports_only_what_comfyui_brings_and_itself(path):
    assert set(absolute_imports(path)) <= CORE_MAY_IMPORT


# demo/run.py is a client of the server: it runs on its own, never inside the pack.
PACK_FILES = [path for path in files("nodes") + files("demo") if path.name != "run.py"]


@pytest.mark.parametrize("path", PACK_FILES, ids=lambda p: p.name)
def test_the_pack_imports_itself_relatively(path):
    # ComfyUI loads the pack under a generated name, and `nodes` is ComfyUI's own module.
    assert not {"gph_core", "nodes", "demo"} & set(absolute_imports(path))


def test_dev_needs_the_standard_library_only():
    # tomllib is in it from Python 3.11 on.
    assert set(absolute_imports(ROOT / "dev.py")) <= {*sys.stdlib_module_names, "tomllib"}
