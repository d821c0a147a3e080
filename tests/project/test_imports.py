"""The dependency rule of the pack."""

import ast
import graphlib
import sys
from pathlib import Path

from ..support.sources import ROOT, module_of, name, nodes

CORE_MAY_IMPORT = {"numpy", "safetensors", "scipy", "torch"} | set(sys.stdlib_module_names)
# Where they are used, inside functions: a missing one costs a metric or an algorithm, not the pack.
CORE_MAY_IMPORT_LATE = {"einops", "lpips", "matplotlib", "skimage", "sklearn", "transformers"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def imports(path, *, late=True):
    """Import statements of a file; without ``late``, only what runs when it is imported."""
    found = nodes(path.read_text("utf-8"))
    below = found if late else at_once(found[0])
    return [node for node in below if isinstance(node, ast.Import | ast.ImportFrom)]


def at_once(node):
    """Nodes below one that run when the module is imported."""
    for child in ast.iter_child_nodes(node):
        is_for_types = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
        if not isinstance(child, FUNCTIONS) and not is_for_types:
            yield child
            yield from at_once(child)


def absolute_imports(path, *, late=True):
    """Packages that a file imports by name."""
    found = set()
    for node in imports(path, late=late):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif not node.level:
            found.add(node.module.split(".")[0])
    return found


def relative_imports(path, *, late=True):
    """Files of modules and packages from which a file takes something by relative imports."""
    for node in imports(path, late=late):
        if isinstance(node, ast.ImportFrom) and node.level:
            module = ROOT.joinpath(*module_of(path, node))
            for alias in node.names:
                yield next(filter(None, (file_of(module / alias.name), file_of(module))))


def file_of(module):
    """File of a module or package, or None."""
    places = (module.with_name(f"{module.name}.py"), module / "__init__.py")
    return next(filter(Path.is_file, places), None)


def files(folder):
    found = sorted((ROOT / folder).glob("**/*.py"))
    assert found
    return found


def faults(paths, find):
    """What a function finds in files, by their names, without those in which it finds nothing."""
    return {name(path): found for path in paths if (found := find(path))}


def test_core_imports_at_once_only_what_comfyui_brings_and_itself():
    core = files("gph_core")
    assert faults(core, lambda p: absolute_imports(p, late=False) - CORE_MAY_IMPORT) == {}
    allowed = CORE_MAY_IMPORT | CORE_MAY_IMPORT_LATE
    assert faults(core, lambda p: absolute_imports(p) - allowed) == {}


def test_an_import_counts_as_late_only_inside_a_function(tmp_path):
    file = tmp_path / "module.py"
    file.write_text(
        "import a.b\nif True:\n    from c import d\nclass E:\n    import f\n"
        "    def g(self):\n        import h\nif TYPE_CHECKING:\n    import i\n"
    )
    assert absolute_imports(file) == {"a", "c", "f", "h", "i"}
    assert absolute_imports(file, late=False) == {"a", "c", "f"}


def named_as_a_module(path):
    """Names that a package defines although a module in it has the same name.

    Importing the module would put it in the name's place.
    """
    defined = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            defined.add(node.name)
        elif isinstance(node, ast.Assign):
            defined |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.ImportFrom) and node.module:
            defined |= {alias.asname or alias.name for alias in node.names}
    return defined & {module.stem for module in path.parent.glob("*.py")}


def test_no_name_of_a_package_is_that_of_a_module_in_it():
    halves = ("gph_core", "nodes", "demo", "benchmarks", "devtools")
    packages = [path for half in halves for path in files(half) if path.name == "__init__.py"]
    assert faults(packages, named_as_a_module) == {}


# demo/run.py is a client of the server: it runs on its own, never inside the pack.
PACK_FILES = [path for path in files("nodes") + files("demo") if path.name != "run.py"]


def test_the_pack_imports_itself_relatively():
    # ComfyUI loads the pack under a generated name, and `nodes` is ComfyUI's own module.
    own = {"gph_core", "nodes", "demo"}
    assert faults(PACK_FILES, lambda path: absolute_imports(path) & own) == {}


def test_one_file_alone_knows_where_the_files_of_users_are():
    # Where ComfyUI has several users, its directory of users is that of nobody.
    knows = [path.name for path in PACK_FILES if "user_directory(" in path.read_text("utf-8")]
    assert knows == ["users.py"]


def test_dev_needs_the_standard_library_only():
    # tomllib is in it from Python 3.11 on.
    allowed = {*sys.stdlib_module_names, "devtools", "tomllib"}
    started = ("fingerprints", "templates")  # by dev.py in the environment
    others = [path for path in files("devtools") if not path.stem.startswith(started)]
    found = faults([ROOT / "dev.py", *others], lambda path: absolute_imports(path) - allowed)
    assert found == {}


# A room may import itself and the rooms before it. A file beside the rooms is a room of its own.
ROOMS = {
    "gph_core": (
        "__init__", "noise", "schedule_text", "schedule", "architecture", "texts", "files",
        "policies", "gates", "model", "planning", "methods", "run", "quality", "paths", "search",
        "fitting", "calibration", "learning", "run_plan", "analysis", "experiments", "reports",
    ),
    "nodes": (
        "schema", "hook", "library", "semantic", "sample", "learn", "cache", "compare", "workers",
        "search", "calibrate", "shootout", "record", "analyze", "page", "__init__",
    ),
}  # fmt: skip


def room_of(path):
    """Name of the room of a file below ``gph_core`` or ``nodes``."""
    return path.relative_to(ROOT).with_suffix("").parts[1]


def later_rooms(path):
    """Rooms of its own half of the pack that a file imports though they come after its own."""
    half = path.relative_to(ROOT).parts[0]
    order = ROOMS[half].index
    reached = [p for p in relative_imports(path) if p.is_relative_to(ROOT / half)]
    return {room for room in map(room_of, reached) if order(room) > order(room_of(path))}


def test_every_folder_is_a_room():
    assert {half: {room_of(path) for path in files(half)} for half in ROOMS} == {
        half: set(rooms) for half, rooms in ROOMS.items()
    }


def test_a_room_imports_only_the_rooms_before_it():
    assert faults(files("gph_core") + files("nodes"), later_rooms) == {}


def test_every_module_of_the_core_can_be_imported_first():
    # What runs at an import of one module never comes back to it.
    core = files("gph_core")
    graph = {path: set(relative_imports(path, late=False)) - {path} for path in core}
    for path in core:  # the packages around a module are imported before it
        graph[path] |= {p / "__init__.py" for p in path.parents} & graph.keys() - {path}
    graphlib.TopologicalSorter(graph).prepare()  # names a circle
