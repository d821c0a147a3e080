"""What is published: the files that the nodes need, and code that the registry accepts."""

import ast
import os
import re
import subprocess
import textwrap
from pathlib import PurePosixPath

import pytest
from PIL import Image

from ..support import archive
from ..support.sources import module_of, nodes

ROOT = archive.ROOT
pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs a clone of git's")

SVG = "http://www.w3.org/2000/svg"  # a name, not an address
DOWNLOAD = "nodes/sample/lpips_weights.py"  # the one that a user may ask for
# Modules that start programs, and those that reach other machines.
PROGRAMS = {"subprocess", "multiprocessing", "pty", "pip", "ctypes"}
NETWORK = {
    "urllib.request", "http.client", "socket", "ssl", "ftplib", "smtplib", "telnetlib",
    "xmlrpc", "requests", "httpx", "urllib3", "websocket", "websockets", "huggingface_hub",
    "gdown",
}  # fmt: skip
CALLS = {"eval", "exec", "compile", "__import__", "execfile"}
METHODS = {
    "system", "popen", "spawnl", "spawnv", "execv", "execve", "execl", "fork", "startfile",
    "load_state_dict_from_url", "hf_hub_download", "snapshot_download", "ClientSession",
}  # fmt: skip


@pytest.fixture(scope="module")
def shipped():
    return archive.files()


@pytest.fixture(scope="module")
def shipped_nodes(shipped):
    """Syntax nodes of each Python file in the archive."""
    files = [file for file in shipped if file.endswith(".py")]
    return {file: nodes((ROOT / file).read_text("utf-8")) for file in files}


@pytest.fixture(scope="module")
def project():
    tomllib = pytest.importorskip("tomllib")  # from Python 3.11 on
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def test_the_archive_has_the_pack_and_nothing_for_developers(shipped):
    assert {PurePosixPath(file).parts[0] for file in shipped} == {
        "__init__.py", "CHANGELOG.md", "LICENSE", "README.md", "demo", "docs", "example_workflows",
        "gph_core", "locales", "nodes", "pyproject.toml", "requirements.txt", "web",
    }  # fmt: skip
    whole = [f for f in archive._tracked() if f.split("/")[0] in ("gph_core", "nodes", "web")]
    assert set(whole) <= set(shipped)
    assert not [f for f in shipped if f.endswith((".pyc", ".so")) or (ROOT / f).is_symlink()]
    size = sum((ROOT / file).stat().st_size for file in shipped)
    assert size < 32 * 2**20  # the demo models have 27


def imported(file, nodes):
    """Files that a module imports by relative imports, and the packages around these."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.level:
            base = PurePosixPath(*module_of(ROOT / file, node))
            for place in (base, *(base / name.name for name in node.names)):
                yield from (f"{place}.py", *(f"{p}/__init__.py" for p in (place, *place.parents)))


def test_every_module_in_the_archive_is_used_by_the_nodes_and_none_is_missing(shipped_nodes):
    found, open_files = set(), ["__init__.py"]
    while open_files:
        file = open_files.pop()
        found.add(file)
        reached = {PurePosixPath(name).as_posix() for name in imported(file, shipped_nodes[file])}
        open_files += [name for name in reached if name in shipped_nodes and name not in found]
        left_out = {name for name in reached if (ROOT / name).is_file()} - set(shipped_nodes)
        assert not left_out, file
    # The core is one library: benchmarks use more of it.
    unused = set(shipped_nodes) - found
    assert {file for file in unused if not file.startswith("gph_core/")} == set()


def modules(nodes):
    """Names of the modules that a file imports, wherever it does."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from (f"{node.module}.{name.name}" for name in node.names)


def called(nodes):
    """Names that a file calls: functions, and methods with a dot before them."""
    for node in nodes:
        if isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Name):
                yield function.id
            elif isinstance(function, ast.Attribute):
                yield f".{function.attr}"


def is_one_of(module, names):
    return any(module == name or module.startswith(f"{name}.") for name in names)


def test_nothing_runs_programs_or_texts_as_code(shipped_nodes):
    forbidden = CALLS | {f".{name}" for name in METHODS}
    found = {
        file: [name for name in modules(nodes) if is_one_of(name, PROGRAMS)]
        + [name for name in called(nodes) if name in forbidden]
        for file, nodes in shipped_nodes.items()
    }
    assert {file: names for file, names in found.items() if names} == {}


def test_only_the_download_that_a_user_asks_for_reaches_the_network(shipped_nodes):
    reaching = {
        file
        for file, nodes in shipped_nodes.items()
        if any(is_one_of(module, NETWORK) for module in modules(nodes))
    }
    assert reaching == {DOWNLOAD}
    assert list(called(shipped_nodes[DOWNLOAD])).count(".urlopen") == 1


def test_what_the_tests_forbid_is_found():
    found = nodes(
        "from os import system\nimport urllib.request as u\ndef f():\n"
        "    import subprocess\n    eval('1'); os.system('ls'); model.eval()"
    )
    assert {*called(found)} == {"eval", ".system", ".eval"}
    assert [m for m in modules(found) if is_one_of(m, PROGRAMS | NETWORK)] == [
        "urllib.request", "subprocess",
    ]  # fmt: skip


def test_the_page_runs_no_texts_and_loads_nothing_from_elsewhere(shipped):
    for file in shipped:
        if file.startswith("web/") and file.endswith((".js", ".css")):
            text = (ROOT / file).read_text("utf-8")
            assert not re.search(r"\beval\(|new Function|innerHTML|document\.write", text), file
            assert set(re.findall(r"https?://[\w./]+", text)) <= {SVG}, file


def test_the_project_is_as_the_registry_specifies(project):
    about, comfy = project["project"], project["tool"]["comfy"]
    # docs.comfy.org/registry/specifications, read on 2026-11-25.
    assert re.fullmatch(r"[A-Za-z](?:[A-Za-z0-9]|[-_.](?![-_.])){0,98}", about["name"])
    assert "comfyui" not in about["name"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", about["version"])
    assert (ROOT / about["license"]["file"]).is_file()
    assert about["description"]
    assert about["requires-python"] == ">=3.10"
    assert "Operating System :: OS Independent" in about["classifiers"]
    assert about["dependencies"] == (ROOT / "requirements.txt").read_text("utf-8").split()
    assert set(comfy) == {"PublisherId", "DisplayName", "Icon", "Banner", "requires-comfyui"}
    assert all(comfy.values())
    pages = (about["urls"]["Repository"] + "/", comfy["Icon"], comfy["Banner"])
    assert {re.search(r"/([\w-]+/ComfyUI-GoldenPath)/", page)[1] for page in pages} == {
        "/".join(about["urls"]["Repository"].split("/")[-2:])
    }


@pytest.mark.parametrize(("name", "size"), [("Icon", (400, 400)), ("Banner", (1260, 540))])
def test_the_pictures_of_the_registry_have_the_wanted_shape(project, name, size):
    file = project["tool"]["comfy"][name].partition("/main/")[2]
    with Image.open(ROOT / file) as picture:
        assert picture.format == "PNG"
        assert picture.size == size  # square; 21:9


def test_only_a_tag_publishes():
    workflow = (ROOT / ".github/workflows/publish.yml").read_text("utf-8")
    events = re.search(r"^on:\n(.+?)\n\n", workflow, re.MULTILINE | re.DOTALL)[1]
    assert events.split() == ["push:", "tags:", '["v[0-9]+.[0-9]+.[0-9]+"]']
    assert "uses: Comfy-Org/publish-node-action@" in workflow
    assert "personal_access_token: ${{ secrets.REGISTRY_ACCESS_TOKEN }}" in workflow


@pytest.mark.skipif(os.name == "nt", reason="the workflow runs on Linux")
@pytest.mark.parametrize(
    ("tag", "changelog", "publisher", "words"),
    [
        ("v1.2.3", "## 1.2.3 · 2027-01-01", "me", ""),
        ("v1.2.4", "## 1.2.4 · 2027-01-01", "me", "pyproject.toml has another version"),
        ("v1.2.3", "## Unreleased", "me", "has no section for 1.2.3"),
        ("v1.2.3", "## 1.2.3 · 2027-01-01", "PLACEHOLDER", "there are placeholders"),
    ],
)
def test_a_version_that_is_not_ready_is_not_published(tmp_path, tag, changelog, publisher, words):
    workflow = (ROOT / ".github/workflows/publish.yml").read_text("utf-8")
    script = textwrap.dedent(re.search(r"run: \|\n(.+?)\n      - uses", workflow, re.DOTALL)[1])
    (tmp_path / "pyproject.toml").write_text(f'version = "1.2.3"\nPublisherId = "{publisher}"\n')
    (tmp_path / "README.md").write_text("# Golden Path\n")
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n{changelog}\n", "utf-8")
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script], cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "GITHUB_REF_NAME": tag}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == int(bool(words)), done
    assert words in done.stdout
