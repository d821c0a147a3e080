"""``python dev.py bench NAME``: measure, show, compare with the bars, save.

A benchmark is a module of ``quality``, ``learning`` or ``cost``. Its docstring says what it
measures. It has

    FILE                         name of its results
    measure(options) -> figures  rows by part, as plain data; a part named ``_...`` is not saved
    conditions(options) -> dict  how they were measured

and, if it needs them,

    add_options(parser)
    summary(figures) -> str      markdown
    misses(figures) -> list      bars that are missed, in words
    merged(kept, figures)        new figures in their places among the saved ones
    draw(figures, file)          a picture beside the results
"""

from __future__ import annotations

import argparse
import importlib
import sys
from types import ModuleType

from benchmarks.lab import results
from benchmarks.lab.subjects import IMAGE, MODELS
from devtools.paths import benchmark_rooms


def main() -> int:
    parser = argparse.ArgumentParser(prog="dev.py bench")
    rooms = benchmark_rooms()
    parser.add_argument("name", choices=rooms)
    name = parser.parse_args(sys.argv[1:2]).name
    benchmark = importlib.import_module(f"benchmarks.{rooms[name]}.{name.replace('-', '_')}")
    return run(benchmark, f"dev.py bench {name}", sys.argv[2:])


def run(benchmark: ModuleType, program: str, arguments: list[str]) -> int:
    """Exit status of a benchmark: 1 if a bar is missed and ``--check`` asks."""
    parser = argparse.ArgumentParser(prog=program, description=benchmark.__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bar is missed")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results")
    if hasattr(benchmark, "add_options"):
        benchmark.add_options(parser)
    options = parser.parse_args(arguments)
    file = MODELS[getattr(options, "model", IMAGE)].file(results.FOLDER / benchmark.FILE)
    merges = options.save and hasattr(benchmark, "merged")
    kept = results.kept(file) if merges else {}  # an error of the file comes before the work
    figures = benchmark.measure(options)
    if merges:
        figures = benchmark.merged(kept, figures)
    if hasattr(benchmark, "summary"):
        print(f"\n{benchmark.summary(figures)}")
    missed = benchmark.misses(figures) if hasattr(benchmark, "misses") else []
    print("\n".join(["", "missed bars:", *(missed or ["none"])]))
    if options.save:
        shown = {name: rows for name, rows in figures.items() if not name.startswith("_")}
        results.write(file, benchmark.conditions(options), **shown)
        if hasattr(benchmark, "draw"):
            benchmark.draw(figures, file.with_suffix(".png"))
    return int(options.check and bool(missed))


if __name__ == "__main__":
    sys.exit(main())
