"""ComfyUI in the test process. Without COMFYUI_PATH the tests of this folder are left out."""

import json
import os
import sys
import warnings
from pathlib import Path

import pytest

import dev

collect_ignore_glob = [] if os.environ.get("COMFYUI_PATH") else ["test_*.py"]

if os.environ.get("COMFYUI_PATH"):
    import torch

    from demo.comfyui import load_pack, use_comfyui

    # The models are tiny: threads would only wait for each other, and round differently.
    torch.set_num_threads(1)
    with warnings.catch_warnings():  # ComfyUI's own import warnings are not ours to mend
        warnings.simplefilter("ignore")
        # The default attention on CPU queries the free memory, which breaks a traced graph.
        use_comfyui("--cpu", "--use-pytorch-cross-attention")
        import comfy.sample
        import comfy.samplers  # noqa: F401

        load_pack()


@pytest.fixture(scope="module")
def model():
    """A tiny random FLUX."""
    from . import tiny

    return tiny.flux()


@pytest.fixture(scope="module")
def reference(model):
    """Its sample without the cache."""
    from . import tiny

    return tiny.sample(model)


@pytest.fixture(scope="module")
def url():
    """Of a ComfyUI server with the pack."""
    tools = dev.Tools(Path(os.environ["COMFYUI_PATH"]), Path(sys.executable))
    with dev.server(tools, ["--cpu"], threads=1) as running:
        yield running.url


@pytest.fixture(scope="module")
def object_info(url):
    """What the server says of its nodes."""
    with dev.LOCAL.open(f"{url}/object_info") as response:
        return json.load(response)
