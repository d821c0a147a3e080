"""The pack from the registry's archive, in ComfyUI."""

import asyncio
import importlib
import sys
import zipfile

import pytest
from comfy_config import config_parser
from golden_path_pack.nodes import GoldenPathExtension

from ...support import archive

pytestmark = pytest.mark.skipif(
    not (archive.ROOT / ".git").exists(), reason="needs a clone of git's"
)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """The folder into which ComfyUI-Manager unpacks it."""
    folder = tmp_path_factory.mktemp("custom_nodes") / "golden-path-cache"
    archive.build(folder.with_suffix(".zip"))
    with zipfile.ZipFile(folder.with_suffix(".zip")) as packed:
        packed.extractall(folder)
    return folder


def test_comfyui_loads_all_nodes_from_the_archive(unpacked, monkeypatch):
    nodes = importlib.import_module("nodes")  # ComfyUI's
    for name in ("NODE_CLASS_MAPPINGS", "NODE_DISPLAY_NAME_MAPPINGS", "EXTENSION_WEB_DIRS"):
        monkeypatch.setattr(nodes, name, {})
    before = set(sys.modules)
    try:
        assert asyncio.run(nodes.load_custom_node(str(unpacked)))
    finally:
        for name in set(sys.modules) - before:
            del sys.modules[name]
    ours = asyncio.run(GoldenPathExtension().get_node_list())
    assert set(nodes.NODE_CLASS_MAPPINGS) == {node.define_schema().node_id for node in ours}
    for node in nodes.NODE_CLASS_MAPPINGS.values():
        assert node.INPUT_TYPES()  # the schema, with the paths and weights that it reads
    assert list(nodes.EXTENSION_WEB_DIRS.values()) == [str(unpacked / "web")]


def test_comfyui_reads_the_project_file(unpacked):
    config = config_parser.extract_node_configuration(str(unpacked))
    assert config.project.name == "golden-path-cache"
    assert config.project.supported_os == ["OS Independent"]
    assert config.project.supported_comfyui_version == ">=0.24.1"
    assert config.tool_comfy.icon.endswith("docs/images/icon.png")
