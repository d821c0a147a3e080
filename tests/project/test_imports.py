"""The dependency rule of the pack."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE_MAY_IMPORT = {"numpy", "safetensors", "scipy", "torch"} | set(sys.stdlib_module_names)
# Where they are used, inside functions: a missing one costs a metric or an algorithm, not the pack.
CORE_MAY_IMPORT_LATE = {"einops", "lpips", "skimage", "sklearn"}


def absolute_imports(path, *, late=True):
    """What a file imports by name; without ``late``, only what happens when it is imported."""
    yield from _imports_below(ast.parse(path.read_text("utf-8")), late)


def _imports_below(node, late):
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (alias.name.split(".")[0] for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and child.level == 0:
            yield child.module.split(".")[0]
        elif late or not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _imports_below(child, late)


def files(folder):
    found = sorted((ROOT / folder).glob("**/*.py"))
    assert found
    return found


@pytest.mark.parametrize("path", files("gph_core"), ids=lambda p: p.name)
def test_core_imports_at_once_only_what_comfyui_brings_and_itself(path):
    assert set(absolute_imports(path)) <= CORE_MAY_IMPORT | CORE_MAY_IMPORT_LATE
    assert set(absolute_imports(path, late=False)) <= CORE_MAY_IMPORT


def test_an_import_counts_as_late_only_inside_a_function(tmp_path):
    file = tmp_path / "module.py"
    file.write_text(
        "import a.b\nif True:\n    from c import d\nclass E:\n    import f\n"
        "    def g(self):\n        import h\n"
    )
    assert set(absolute_imports(file)) == {"a", "c", "f", "h"}
    assert set(absolute_imports(file, late=False)) == {"a", "c", "f"}


# demo/run.py is a client of the server: it runs on its own, never inside the pack.
PACK_FILES = [path for path in files("nodes") + files("demo") if path.name != "run.py"]


@pytest.mark.parametrize("path", PACK_FILES, ids=lambda p: p.name)
def test_the_pack_imports_itself_relatively(path):
    # ComfyUI loads the pack under a generated name, and `nodes` is ComfyUI's own module.
    assert not {"gph_core", "nodes", "demo"} & set(absolute_imports(path))


def test_dev_needs_the_standard_library_only():
    # tomllib is in it from Python 3.11 on.
    assert set(absolute_imports(ROOT / "dev.py")) <= {*sys.stdlib_module_names, "tomllib"}
