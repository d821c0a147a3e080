"""How a worker starts ComfyUI, on stand-ins of its modules in a process of their own."""

import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from golden_path_pack.nodes.workers import host

FILES = {
    "comfy/__init__.py": "",
    "comfy/options.py": "args_parsing = False\n"
    "def enable_args_parsing():\n    global args_parsing\n    args_parsing = True\n",
    "comfy/cli_args.py": "import argparse\nfrom . import options\n"
    "parser = argparse.ArgumentParser()\n"
    "parser.add_argument('--temp-directory')\nparser.add_argument('--database-url')\n"
    "parser.add_argument('--cpu', action='store_true')\n{more}\n"
    "args = parser.parse_args() if options.args_parsing else parser.parse_args([])\n",
    "comfy/utils.py": "def set_progress_bar_global_hook(hook):\n    pass\n",
    "main.py": "from comfy.cli_args import args\nseen = dict(vars(args))\n"
    "def start_comfyui():\n"
    "    return None, {{'imported': seen, 'started': dict(vars(args))}}, None\n",
    "nodes.py": "class Search:\n    __module__ = 'pack.nodes.search.schedule_search'\n"
    "NODE_CLASS_MAPPINGS = {{'GPH_ScheduleSearch': Search}}\n",
    "pack/nodes/workers/worker.py": "class Worker:\n    def __init__(self, server):\n"
    "        self.server = server\n    def options(self):\n        return self.server\n",
}
ALONE = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("host", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
"""
START = f"""{ALONE}
host = module.Host(sys.argv[2], ["--cpu"])
print(json.dumps(host.call("options")["answer"]))
host.close()
"""
OWN = f"""{ALONE}
module.tempfile.tempdir = sys.argv[2]
folder, lock = module.own_folder()
print(folder, flush=True)
sys.stdin.read()
"""
OPTION = "parser.add_argument('--disable-assets', action='store_true')"


@pytest.mark.parametrize("option", [OPTION, ""], ids=["on by default", "no such option"])
def test_a_worker_starts_without_the_index_of_files_where_that_can_be_chosen(option, tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text.format(more=option), "utf-8")
    command = [sys.executable, "-c", START, host.__file__, str(tmp_path)]
    seen = json.loads(subprocess.check_output(command, cwd=tmp_path, text=True))
    for options in seen.values():  # when main is imported, and when it starts
        assert options["cpu"]  # the command line was read
        assert options["database_url"] == "sqlite:///:memory:"
        assert options.get("disable_assets") == (True if option else None)


def test_the_folder_of_a_killed_worker_goes_and_that_of_one_that_lives_stays(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(host, "NEW_S", -60.0)
    command = [sys.executable, "-c", OWN, host.__file__, str(tmp_path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as worker:
        folder = Path(worker.stdout.readline().strip())
        host.remove_abandoned()
        assert folder.is_dir()
        worker.kill()
    with monkeypatch.context() as patch:
        patch.setattr(platform, "node", lambda: "another machine")
        host.remove_abandoned()
        assert folder.is_dir()
    host.remove_abandoned()
    assert not folder.exists()


def test_a_folder_that_is_being_made_stays(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder, lock = host.own_folder()
    lock.close()
    host.remove_abandoned()
    assert Path(folder).is_dir()
