"""Every name that a file imports from this repository exists, inside functions too.

Benchmarks and tests import the pack late, because they load ComfyUI first. Such an import fails
only when its function runs, and some of these run in CI only.
"""

import ast
import functools

from ..support.sources import ROOT, module_of, name, nodes

FOLDERS = ("benchmarks", "demo", "devtools", "gph_core", "nodes", "tests")
FILES = [ROOT / "dev.py", *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))]


def imports(path, text):
    """Pairs of a module of this repository, as parts of its path, and a name taken from it."""
    for node in nodes(text):
        if isinstance(node, ast.ImportFrom):
            module = module_of(path, node)
            if module[:1] == ("golden_path_pack",):
                module = module[1:]
            elif not node.level and module[0] not in FOLDERS:
                continue
            elif not node.level and module[0] == "nodes" and len(module) == 1:
                continue  # ComfyUI's module of that name
            yield from ((module, alias.name) for alias in node.names)


@functools.cache
def names_of(file):
    """What a module defines at its top, including what it imports."""
    found = set()
    for node in nodes(file.read_text("utf-8")):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return found


def exists(module, name):
    place = ROOT.joinpath(*module)
    if (place / name).is_dir() or (place / f"{name}.py").is_file():
        return True
    file = place.with_suffix(".py") if module else ROOT / "__init__.py"
    file = file if file.is_file() else place / "__init__.py"
    return file.is_file() and name in names_of(file)


def missing(path, text):
    return [f"{'.'.join(m)}: {name}" for m, name in imports(path, text) if not exists(m, name)]


def test_every_imported_name_exists():
    lost = {name(p): missing(p, p.read_text("utf-8")) for p in FILES}
    assert not {file: names for file, names in lost.items() if names}


def test_a_lost_name_is_seen():
    sources = {
        "from golden_path_pack.gph_core.schedule import Schedule": [],
        "def f():\n    from golden_path_pack.gph_core.schedule import Lost": ["Lost"],
        "from golden_path_pack.gph_core.lost import Schedule": ["Schedule"],
        "from .study import nothing": ["nothing"],
        "from gph_core import schedule": [],
        "from nodes import NODE_CLASS_MAPPINGS\nfrom torch import nothing": [],
    }
    place = ROOT / "benchmarks" / "any.py"
    found = {source: [name.split()[-1] for name in missing(place, source)] for source in sources}
    assert found == sources
