#!/usr/bin/env python3
"""Develop, test and demonstrate ComfyUI-GoldenPath.

    python dev.py demo                the cache on a small trained model in the real ComfyUI
    python dev.py check               linters and quick tests, in a minute
    python dev.py test                linters and tests; --all: long ones, too
    python dev.py serve               ComfyUI with this pack, in the browser
    python dev.py train-demo-model    train the demo model again
    python dev.py train-demo-video    train the demo's video model again
    python dev.py examples            build the example workflows and all pictures again
    python dev.py bench NAME          a benchmark; --check compares it with its bars
    python dev.py mutants             plant defects and see which tests find them
    python dev.py templates           families of the models in ComfyUI's templates
    python dev.py study [PART ...]    the GPH paper's analyses on the demo model, or --quick

The first call brings a ComfyUI (unless it finds one) and a virtual environment into ``.dev/``;
later calls start at once. Users do not need this file: they install the pack into their own
ComfyUI.

Standard library only (with ``devtools``), for Windows, macOS and Linux, Python 3.10 to 3.13.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
from pathlib import Path

from devtools import testing
from devtools.console import fail
from devtools.environment import RELEASES, Tools, prepare
from devtools.paths import DEV, PACK_NAME, ROOT, benchmark_rooms
from devtools.server import LOCAL, server

__all__ = ["DEV", "LOCAL", "PACK_NAME", "ROOT", "Tools", "server"]  # what tests take from here
# The demo model is so small that threads only wait for each other; on a busy machine for long.
DEMO_THREADS = 1
TRAININGS = (
    ("train-demo-model", "demo.training.train", "demo model", "train"),
    ("train-demo-video", "demo.video.train", "demo's video model", "train-video"),
)


def main() -> None:
    options = argument_parser().parse_args()
    for name in ("SIGTERM", "SIGHUP"):  # unwind, so that the server is stopped
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda number, _: sys.exit(128 + number))
    try:
        sys.exit(options.run(options))
    except KeyboardInterrupt:
        sys.exit(130)


def argument_parser() -> argparse.ArgumentParser:
    """The arguments of all commands."""
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
    sub.add_argument("--video", action="store_true", help="clips instead of images")
    command("check", check, "Run linters, the tests of the core and those of what changed.")
    sub = command("test", test, "Run linters and tests; words after -- go to pytest alone.")
    sub.add_argument("--all", action="store_true", help="also long tests")
    sub.add_argument(
        "pytest", nargs="*", help="arguments for pytest: then the linters are left out"
    )
    sub = command("serve", serve, "Start ComfyUI with this pack; words after -- go to ComfyUI.")
    sub.add_argument("--gpu", action="store_true", help="use the GPU (default: CPU)")
    sub.add_argument("--port", type=int, help="default: a free one")
    sub.add_argument(
        "--threads", type=int, metavar="N",
        help="on the CPU; 0: all cores (default: 1 without --gpu, as the demo model needs)",
    )  # fmt: skip
    sub.add_argument("extra", nargs="*", help="arguments for ComfyUI")
    for command_name, module, name, folder in TRAININGS:
        summary = f"Train the {name}; words after -- go to the trainer."
        sub = command(command_name, train, summary)
        sub.set_defaults(module=module)
        sub.add_argument(
            "--out", type=Path, default=DEV / folder, help="checkpoint, log, sheets, weights"
        )
        sub.add_argument("extra", nargs="*", help="arguments for the trainer, such as -- --compile")
    command("examples", examples, "Build the example workflows and all pictures again.")
    sub = command("bench", bench, "Run a benchmark; words after -- go to it, such as -- --search.")
    sub.add_argument("name", choices=sorted(benchmark_rooms()))
    sub.add_argument("--check", action="store_true", help="exit with 1 if a figure misses its bar")
    sub.add_argument("--save", action="store_true", help="write the figures to benchmarks/results")
    sub.add_argument("extra", nargs="*", help="arguments for the benchmark")
    sub = command("mutants", tool, "Plant defects and see which tests find them.")
    sub.set_defaults(module="devtools.mutants")
    sub.add_argument("--check", action="store_true", help="exit with 1 if one is not found")
    sub.add_argument("extra", nargs="*", help="arguments, such as -- --only gph_core/search")
    sub = command("templates", tool, "Say to which families the models of templates belong.")
    sub.set_defaults(module="devtools.templates")
    sub.add_argument("--check", action="store_true", help="exit with 1 if one has no family")
    sub.add_argument("--save", action="store_true", help="write the page and every row")
    sub = command("study", study, "Repeat the GPH paper's analyses on the demo model.")
    sub.add_argument("part", nargs="*", help="all of them without any")
    sub.add_argument("--quick", action="store_true", help="on few prompts, in a temporary folder")
    return parser


def demo(options: argparse.Namespace) -> int:
    tools = prepare(options)
    with server(tools, ["--cpu"], threads=DEMO_THREADS) as running:
        arguments = ["--url", running.url, "--out", str(options.out.resolve())]
        arguments += ["--steps", str(options.steps), *(["--video"] if options.video else [])]
        return tools.run("-m", "demo.run", *arguments)


def check(options: argparse.Namespace) -> int:
    return testing.check(prepare(options))


def test(options: argparse.Namespace) -> int:
    tools = prepare(options)
    if options.pytest:
        return tools.run("-m", "pytest", *options.pytest)
    return testing.test(tools, options.all)


def serve(options: argparse.Namespace) -> int:
    tools = prepare(options)
    arguments = [*([] if options.gpu else ["--cpu"]), *options.extra]
    threads = options.threads
    if threads is None and not options.gpu:
        threads = DEMO_THREADS
        print("one CPU thread, as is fastest for the demo model; larger models: --threads 0")
    with server(tools, arguments, port=options.port, threads=threads) as running:
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
    return tools.run("-m", options.module, "--out", str(options.out.resolve()), *options.extra)


def examples(options: argparse.Namespace) -> int:
    tools = prepare(options)
    pictures = ("tests.browser.thumbnails", "tests.browser.screenshots", "tests.browser.artwork")
    modules = ("demo.examples", *pictures)
    return next((status for name in modules if (status := tools.run("-m", name))), 0)


def bench(options: argparse.Namespace) -> int:
    tools = prepare(options)
    return tools.run("-m", "benchmarks", options.name, *flags(options), *options.extra)


def tool(options: argparse.Namespace) -> int:
    tools = prepare(options)
    return tools.run("-m", options.module, *flags(options), *getattr(options, "extra", ()))


def flags(options: argparse.Namespace) -> list[str]:
    """The chosen flags of a benchmark or tool, as its own command line has them."""
    return [f"--{flag}" for flag in ("check", "save") if getattr(options, flag, False)]


def study(options: argparse.Namespace) -> int:
    tools = prepare(options)
    quick = ["--quick"] if options.quick else []
    return tools.run("-m", "benchmarks.study", *quick, *options.part)


if __name__ == "__main__":
    main()
