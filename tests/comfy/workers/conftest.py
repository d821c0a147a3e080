"""A real server whose folder for users is known, as workers need no fake."""

import os
import sys
from pathlib import Path

import pytest

import dev


@pytest.fixture(scope="module")
def users(tmp_path_factory):
    """The server's folder for users."""
    return tmp_path_factory.mktemp("user")


@pytest.fixture(scope="module")
def running(server_log, users):
    tools = dev.Tools(Path(os.environ["COMFYUI_PATH"]), Path(sys.executable))
    arguments = ["--cpu", "--user-directory", str(users)]
    with dev.server(tools, arguments, threads=1, log=server_log) as running:
        yield running


@pytest.fixture(scope="module")
def url(running):
    return running.url
