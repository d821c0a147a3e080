"""Fingerprints of all that the pack computes, to show that a change changes nothing.

Write them before and after, with the Python of ``.dev`` and ``COMFYUI_PATH`` set, and compare:

    python -m devtools.fingerprints --out before.json
    python -m devtools.fingerprints --out after.json --against before.json

A fingerprint is the SHA-256 of the raw bytes of latents and pixels, or of a text or file without
times, dates and places. Only what workflows use is called: node ids, their inputs, the server, and
the zoo of tiny models. ``fingerprints_server`` runs the demo, the example workflows, searches and
measurements on a real server, ``fingerprints_zoo`` policies, methods and samplers in a process.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("server", "zoo")
CONDITIONS = "conditions"
# Keys of JSON, and words in texts, for what differs from run to run.
VARYING = re.compile(
    r"second|speedup|elapsed|minute|created|prompt_id|^sha256$|^date$|version|_at$"
)
NUMBER = r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?"
IN_TEXTS = (
    (re.compile(rf"{NUMBER}( ?)(x|×|ms|s|seconds?|min|minutes?|h|hours?|MiB/s)\b"), r"#\1\2"),
    (re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d[\d:.+Z-]*)?"), "#"),
    (re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])"), "#"),
    (re.compile(r"(?<![\w.])/[\w./-]*/(?=[\w.-])"), "#/"),
)


class Prints:
    """Fingerprints by name, with the texts behind those of texts."""

    def __init__(self, texts: Path | None = None) -> None:
        self.found: dict[str, str] = {}
        self._texts = texts

    def add(self, name: str, data: bytes) -> None:
        """Keep raw bytes under a name that is not taken."""
        if name in self.found:
            raise ValueError(f"two fingerprints are called {name!r}")
        self.found[name] = hashlib.sha256(data).hexdigest()

    def text(self, name: str, value: Any) -> None:
        """Keep a text, or plain data as JSON, without what varies."""
        shown = value if isinstance(value, str) else json.dumps(value, sort_keys=True, indent=1)
        self.add(name, shown.encode())
        if self._texts is not None:
            file = self._texts / re.sub(r"[^\w.-]+", "_", name)
            file.write_text(shown, "utf-8")

    def file(self, name: str, path: Path) -> None:
        """Keep what a file holds: pixels, tensors with their metadata, JSON, rows, or bytes."""
        if path.suffix in (".png", ".webp"):
            self.add(name, pixels(path))
        elif path.suffix in (".safetensors", ".latent"):
            metadata, parts = tensors(path)
            self.text(f"{name} metadata", metadata)
            for part, data in parts.items():
                self.add(f"{name} {part}", data)
        elif path.suffix in (".json", ".jsonl"):
            lines = path.read_text("utf-8")
            whole = [lines] if path.suffix == ".json" else lines.splitlines()
            self.text(name, [stable(json.loads(line)) for line in whole])
        elif path.suffix == ".sqlite":
            self.text(name, list(rows(path)))
        else:
            self.add(name, path.read_bytes())


def stable(value: Any) -> Any:
    """Plain data without times, dates and places; text that is JSON is looked into."""
    if isinstance(value, dict):
        return {n: stable(v) for n, v in value.items() if not VARYING.search(n)}
    if isinstance(value, list | tuple):
        return [stable(v) for v in value]
    if not isinstance(value, str):
        return value
    if value[:1] in "{[":
        try:
            return stable(json.loads(value))
        except ValueError:
            pass  # a text that begins like it
    for pattern, instead in IN_TEXTS:
        value = pattern.sub(instead, value)
    return value


def pixels(path: Path) -> bytes:
    """Raw bytes of the frames of a picture or a clip."""
    from PIL import Image, ImageSequence

    with Image.open(path) as opened:
        frames = [frame.convert("RGB") for frame in ImageSequence.Iterator(opened)]
    return b"".join(f"{frame.size}".encode() + frame.tobytes() for frame in frames)


def tensors(path: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The metadata of a file of tensors, and their raw bytes by name."""
    whole = path.read_bytes()
    start = 8 + int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8:start])
    metadata = stable(header.pop("__metadata__", {}))
    parts = {}
    for name, entry in header.items():
        begin, end = (start + offset for offset in entry["data_offsets"])
        parts[name] = f"{entry['dtype']} {entry['shape']}".encode() + whole[begin:end]
    return metadata, parts


def rows(path: Path) -> Iterator[list[Any]]:
    """The rows of a database's tables, in the order in which they were written."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.row_factory = sqlite3.Row
        listed = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        for (table,) in listed.fetchall():
            for row in database.execute(f'SELECT * FROM "{table}" ORDER BY rowid'):
                yield [table, stable(dict(row))]


def differences(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """What differs, is missing or is new, a line each."""
    lines = []
    for name in sorted(before.keys() | now.keys()):
        if name not in now:
            lines.append(f"missing: {name}")
        elif name not in before:
            lines.append(f"new: {name}")
        elif before[name] != now[name]:
            lines.append(f"differs: {name}")
    return lines


def collect(texts: Path | None) -> dict[str, str]:
    """Fingerprints of all parts, which run beside each other, one thread each."""
    variables = os.environ | {"OMP_NUM_THREADS": "1"}
    found: dict[str, str] = {}
    running: dict[str, subprocess.Popen] = {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            for name in PARTS:
                command = [
                    sys.executable,
                    "-m",
                    f"devtools.fingerprints_{name}",
                    f"{folder}/{name}",
                ]
                command += [] if texts is None else [str(texts)]
                running[name] = subprocess.Popen(command, cwd=ROOT, env=variables)
            if failed := [name for name, process in running.items() if process.wait() != 0]:
                sys.exit(f"failed: {', '.join(failed)}")
        finally:
            for process in running.values():
                process.terminate()  # does nothing to one that has ended
                process.wait()
        for name in PARTS:
            found |= json.loads(Path(folder, name).read_text("utf-8"))
    return found


def unwind() -> None:
    """Make a request to end an exception, so that what was started is stopped."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))


def part(make: Callable[[Prints], None]) -> None:
    """Run a part: its arguments are the file to write and maybe a folder for texts."""
    unwind()
    out, *texts = map(Path, sys.argv[1:])
    made = Prints(*texts)
    make(made)
    out.write_text(json.dumps(made.found), "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="the file to write")
    parser.add_argument("--against", type=Path, help="a file to compare with; exit 1 if it differs")
    parser.add_argument("--texts", type=Path, help="folder for the texts behind the fingerprints")
    options = parser.parse_args()
    unwind()
    if options.texts is not None:
        options.texts.mkdir(parents=True, exist_ok=True)
        options.texts = options.texts.resolve()
    found = collect(options.texts)
    options.out.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", "utf-8")
    kinds = Counter(name.partition(":")[0] for name in found)
    print(*(f"{count:6} {kind}" for kind, count in sorted(kinds.items())), sep="\n")
    if options.against is not None:
        lines = differences(json.loads(options.against.read_text("utf-8")), found)
        print(*lines, f"{len(lines)} of {len(found)} fingerprints differ", sep="\n")
        sys.exit(bool(lines))


if __name__ == "__main__":
    main()
