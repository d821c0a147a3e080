"""Files are written in one way, and whoever reads them is in the contract of readers."""

import ast
import functools

from ..support.readers import READERS, READERS_OF_NODES
from ..support.sources import ROOT, name, nodes, sources

# Why a module may write by itself.
WRITERS = {
    "gph_core/files/whole_file.py": "the one way",
    "gph_core/files/jsonl.py": "cuts off what a crash has left, under its lock",
    "gph_core/files/run_states.py": "a nameless file, which no other process sees",
    "gph_core/search/log.py": "SQLite has transactions",
    "nodes/compare/comparison_files.py": "draws into a file of the one way",
    "nodes/workers/host.py": "the lock of a folder for a while",
}
# Why a module may read without a place in the contract.
OTHER_READERS = {
    "gph_core/files/reading.py": "the readers read by it",
    "gph_core/files/jsonl.py": "a kind of files, of which each is a reader",
    "gph_core/files/checksum.py": "a part of two readers",
    "gph_core/gates/coefficients.py": "data of the pack",
    "nodes/schema/inputs.py": "a text that is connected",
    "nodes/record/recordings.py": "states that it has just written to a folder of its own",
}

WRITING = {
    "write_text", "write_bytes", "touch", "truncate", "symlink_to", "hardlink_to", "mkstemp",
    "NamedTemporaryFile", "TemporaryFile", "SpooledTemporaryFile", "save_file", "savefig", "savez",
    "copyfile", "copy2", "copytree", "tofile",
}  # fmt: skip
READING = {
    "read_bytes", "read_text", "safe_open", "load_file", "load_torch_file", "memmap", "JsonlFile",
    "fromfile", "loadtxt", "Unpickler",
}  # fmt: skip
OF_MODULES = {  # by the name that a module is called
    "sqlite3.connect": {"writes", "reads"}, "torch.load": {"reads"}, "torch.save": {"writes"},
    "np.load": {"reads"}, "np.save": {"writes"}, "os.replace": {"writes"}, "os.rename": {"writes"},
    "os.open": {"writes"}, "shutil.move": {"writes"}, "pickle.load": {"reads"},
    "pickle.loads": {"reads"}, "json.load": {"reads"}, "reading.read": {"reads"},
    "Image.open": {"reads"},
}  # fmt: skip


def uses(source):
    """What the calls of a Python source do with files: "reads", "writes"."""
    draws = any(isinstance(n, ast.ImportFrom) and n.module == "PIL" for n in nodes(source))
    found = set()
    for node in nodes(source):
        if isinstance(node, ast.Call):
            found |= _use(node)
            if draws and getattr(node.func, "attr", "") == "save":
                found.add("writes")
    return found


def _use(call):
    called = getattr(call.func, "attr", getattr(call.func, "id", ""))
    owner = getattr(getattr(call.func, "value", None), "id", "")
    if f"{owner}.{called}" in OF_MODULES:
        return OF_MODULES[f"{owner}.{called}"]
    if called in ("open", "fdopen"):
        given = [*call.args, *(k.value for k in call.keywords if k.arg == "mode")]
        modes = [a.value for a in given if isinstance(a, ast.Constant) and a.value]
        modes = [mode for mode in modes if isinstance(mode, str) and set(mode) <= set("rwaxbt+")]
        return {"writes"} if set("".join(modes)) & set("wax+") else {"reads"}
    if called == "replace" and len(call.args) == 1 and not call.keywords:
        return {"writes"}  # Path.replace; that of a text takes two, that of dataclasses fields
    return {"writes"} if called in WRITING else {"reads"} if called in READING else set()


def test_what_a_call_does_with_files_is_seen():
    calls = {
        "path.open()": {"reads"},
        "path.open('rb')": {"reads"},
        "path.open('ab', buffering=0)": {"writes"},
        "open(path, mode='x')": {"writes"},
        "temporary.replace(path)": {"writes"},
        "'text'.replace('a', 'b'); replace(run, seed=1); path.exists()": set(),
        "from PIL import Image\nimage.save(path)": {"writes"},
        "library.save(path)": set(),
        "sqlite3.connect(path)": {"writes", "reads"},
    }
    assert {source: uses(source) for source in calls} == calls


@functools.cache
def uses_by_file():
    """What each file of the pack does with files."""
    files = [path for path in sources(".py", folders=("gph_core", "nodes")) if path.parent != ROOT]
    return {name(path): uses(path.read_text("utf-8")) for path in files}


def test_files_are_written_by_whole_file_alone():
    assert {file for file, found in uses_by_file().items() if "writes" in found} == set(WRITERS)


def test_every_reader_of_files_is_in_the_contract():
    known = {*READERS, *READERS_OF_NODES, *OTHER_READERS}
    assert {file for file, found in uses_by_file().items() if "reads" in found} == known


def test_readers_of_nodes_are_in_the_contract_too():
    for reader, place in READERS_OF_NODES.items():
        test = (ROOT / "tests" / "comfy" / place).read_text("utf-8")
        folder, _, file = reader.removesuffix(".py").replace("/", ".").rpartition(".")
        assert f"golden_path_pack.{folder} import" in test
        assert file in test
