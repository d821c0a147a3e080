"""The dependency rule of the pack."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE_MAY_IMPORT = {"numpy", "safetensors", "scipy", "torch"} | set(sys.stdlib_module_names)
# Where they are used, inside functions: a missing one costs a metric or an algorithm, not the pack.
CORE_MAY_IMPORT_LATE = {"einops", "lpips", "matplotlib", "skimage", "sklearn", "transformers"}


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


def test_one_file_alone_knows_where_the_files_of_users_are():
    # Where ComfyUI has several users, its directory of users is that of nobody.
    knows = [path.name for path in PACK_FILES if "user_directory(" in path.read_text("utf-8")]
    assert knows == ["users.py"]


def test_dev_needs_the_standard_library_only():
    # tomllib is in it from Python 3.11 on.
    allowed = {*sys.stdlib_module_names, "devtools", "tomllib"}
    started = ("fingerprints", "templates")  # by dev.py in the environment
    others = [path for path in files("devtools") if not path.stem.startswith(started)]
    for path in (ROOT / "dev.py", *others):
        assert set(absolute_imports(path)) <= allowed


# A room may import itself and the rooms before it. A file beside the rooms is a room of its own.
ROOMS = {
    "gph_core": (
        "__init__", "schedule_text", "schedule", "architecture", "texts", "files", "policies",
        "gates", "model", "planning", "methods", "run", "paths", "quality", "search", "calibration",
        "run_plan", "analysis", "experiments", "reports",
    ),
    "nodes": (
        "schema", "hook", "library", "cache", "semantic", "sample", "compare", "workers",
        "search", "calibrate", "shootout", "record", "analyze", "page", "__init__",
    ),
}  # fmt: skip


def room_of(path):
    """Name of the room of a file below ``gph_core`` or ``nodes``."""
    return path.relative_to(ROOT).with_suffix("").parts[1]


def rooms_imported(path):
    """Names of the rooms of its own half of the pack that a file imports, late ones included."""
    half = path.relative_to(ROOT).parts[0]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = path.parents[node.level - 1].relative_to(ROOT).parts
        for alias in node.names:
            parts = (*base, *(node.module or "").split("."), alias.name)
            parts = tuple(filter(None, parts))
            if parts[0] == half:
                yield parts[1]


@pytest.mark.parametrize("half", ROOMS)
def test_every_folder_is_a_room(half):
    assert {room_of(path) for path in files(half)} == set(ROOMS[half])


@pytest.mark.parametrize("path", files("gph_core") + files("nodes"), ids=lambda p: str(p)[-40:])
def test_a_room_imports_only_the_rooms_before_it(path):
    order = ROOMS[path.relative_to(ROOT).parts[0]]
    later = {
        room for room in rooms_imported(path) if order.index(room) > order.index(room_of(path))
    }
    assert not later


IMPORT_EACH_FIRST = """
import importlib, pathlib, sys
for name in sys.argv[2:]:
    for loaded in [m for m in sys.modules if m.split(".")[0] == sys.argv[1]]:
        del sys.modules[loaded]
    importlib.import_module(name)
"""


def test_every_module_of_the_core_can_be_imported_first():
    # With the libraries still loaded this takes seconds; what matters is that none of ours is.
    names = [".".join(p.relative_to(ROOT).with_suffix("").parts) for p in files("gph_core")]
    subprocess.run(
        [sys.executable, "-c", IMPORT_EACH_FIRST, "gph_core", *names], cwd=ROOT, check=True
    )
