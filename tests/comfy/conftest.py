"""ComfyUI in the test process. Without COMFYUI_PATH the tests of this folder are left out."""

import json
import os
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

import dev

from ..support.served import object_info_of

collect_ignore_glob = [] if os.environ.get("COMFYUI_PATH") else ["test_*.py", "*/test_*.py"]

if os.environ.get("COMFYUI_PATH"):
    import torch

    from demo.comfyui import load_pack, use_comfyui

    # The models are tiny: threads would only wait for each other, and round differently.
    torch.set_num_threads(1)
    with warnings.catch_warnings():  # ComfyUI's own import warnings are not ours to mend
        warnings.simplefilter("ignore")
        # The default attention on CPU queries the free memory, which breaks a traced graph.
        use_comfyui("--use-pytorch-cross-attention")
        import comfy.sample
        import comfy.samplers  # noqa: F401

        load_pack()


@pytest.fixture(scope="module")
def model():
    """A tiny random FLUX."""
    from ..support.comfy import tiny

    return tiny.flux()


@pytest.fixture(scope="module")
def reference(model):
    """Its sample without the cache."""
    from ..support.comfy import tiny

    return tiny.sample(model)


@pytest.fixture
def user(monkeypatch, tmp_path):
    """The user's folder, empty."""
    import folder_paths

    monkeypatch.setattr(folder_paths, "get_user_directory", lambda: str(tmp_path))
    return tmp_path


@pytest.fixture
def temporary(monkeypatch, tmp_path_factory):
    """ComfyUI's folder for temporary files, empty."""
    import folder_paths

    place = tmp_path_factory.mktemp("temp")
    monkeypatch.setattr(folder_paths, "get_temp_directory", lambda: str(place))
    return place


@pytest.fixture
def inference():
    """ComfyUI runs everything in this mode."""
    with torch.inference_mode():
        yield


@pytest.fixture
def in_a_run(user, inference, monkeypatch):
    """What a node finds when a prompt runs; its own id is 7."""
    from comfy_api.latest import io

    monkeypatch.setattr(io.ComfyNode, "hidden", SimpleNamespace(unique_id="7"))


@pytest.fixture(scope="session")
def server_log(tmp_path_factory):
    """A file of its own: tests on another ComfyUI may run beside these."""
    return tmp_path_factory.mktemp("server") / "server.log"


@pytest.fixture(scope="session")
def url(server_log):
    """Of a ComfyUI server with the pack, one for a process: it takes seconds to start."""
    tools = dev.Tools(Path(os.environ["COMFYUI_PATH"]), Path(sys.executable))
    with dev.server(tools, ["--cpu"], threads=1, log=server_log) as running:
        yield running.url


@pytest.fixture(scope="session")
def object_info(url):
    """What the server says of its nodes."""
    return object_info_of(url)


@pytest.fixture
def prompt(object_info):
    """The cached run of the bundled workflow with 12 steps, as the page sends it."""
    from demo.subjects import WORKFLOW
    from demo.workflow import cached_run, nodes_of_type, to_prompt

    prompt = cached_run(to_prompt(json.loads(WORKFLOW.read_text("utf-8")), object_info))
    prompt[nodes_of_type(prompt, "KSampler")[0]]["inputs"]["steps"] = 12
    return prompt


@pytest.fixture
def fresh_compiler():
    """Counts what torch.compile does, from nothing on."""
    import torch._dynamo

    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    yield torch._dynamo.utils.counters
    torch._dynamo.reset()
