"""Plant defects one at a time and see which tests find them: the default ones, or only ``--all``.

``mutants.tsv`` has one defect a line: file, text that occurs in it once, what stands there instead,
and the tests that should find it. Each is planted in a copy of the repository, never here. The
default tests are a part of those of ``--all``, so what they find, these find too.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_suffix(".tsv")
DEFAULT, ALL, NONE = "default", "--all", "none"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A defect: a text in a file and what stands in its place."""

    file: str
    text: str
    instead: str
    tests: tuple[str, ...]

    def plant(self, root: Path) -> str:
        """Write the defect into the copy at ``root``; return what the file was."""
        path = root / self.file
        whole = path.read_text("utf-8")
        if whole.count(self.text) != 1:
            raise ValueError(f"{self.file} has {whole.count(self.text)} times: {self.text}")
        path.write_text(whole.replace(self.text, self.instead), "utf-8")
        return whole


def mutants() -> list[Mutant]:
    """Defects of the list."""
    rows = [line.split("\t") for line in LIST.read_text("utf-8").splitlines()]
    return [Mutant(file, text, new, tuple(tests.split())) for file, text, new, tests in rows]


def found_by(mutant: Mutant, root: Path) -> str:
    """The smallest selection of tests that finds a mutant: DEFAULT, ALL or NONE."""
    whole = mutant.plant(root)
    try:
        for name, flags in ((DEFAULT, []), (ALL, ["--all"])):
            if _fails(root, [*flags, *mutant.tests]):
                return name
        return NONE
    finally:
        (root / mutant.file).write_text(whole, "utf-8")


def _fails(root: Path, arguments: list[str]) -> bool:
    call = [sys.executable, "-m", "pytest", "-x", "-q", *arguments]
    status = subprocess.run(call, cwd=root, capture_output=True).returncode
    if status not in (0, 1, 2):  # 2: a module cannot be imported any more
        raise RuntimeError(f"pytest ended with {status}: {' '.join(arguments)}")
    return status != 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="mutants of files with this in their name")
    parser.add_argument("--check", action="store_true", help="exit with 1 if one is not found")
    options = parser.parse_args()
    chosen = [mutant for mutant in mutants() if options.only in mutant.file]
    shares: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for name in ("one", "two"):
            skipped = shutil.ignore_patterns(".*", "__pycache__")
            copies.put(Path(shutil.copytree(ROOT, Path(folder) / name, ignore=skipped)))

        def judge(mutant: Mutant) -> str:
            root = copies.get()
            try:
                return found_by(mutant, root)
            finally:
                copies.put(root)

        for mutant, found in zip(chosen, pool.map(judge, chosen), strict=True):
            shares[found] += 1
            print(f"{found:8} {mutant.file}: {mutant.text} -> {mutant.instead}", flush=True)
    default, both = shares[DEFAULT], shares[DEFAULT] + shares[ALL]
    print(f"found by default: {default} of {len(chosen)}; with --all: {both}")
    if options.check and default < len(chosen):
        sys.exit(1)


if __name__ == "__main__":
    main()
