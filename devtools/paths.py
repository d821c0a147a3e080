"""Places of this repository."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEV = ROOT / ".dev"  # all that the commands bring and make
PACK_NAME = "ComfyUI-GoldenPath"
BENCHMARKS = ROOT / "benchmarks"
ROOMS = ("quality", "learning", "cost")  # folders of benchmarks


def benchmark_rooms() -> dict[str, str]:
    """Room by the name of each benchmark."""
    files = {file: room for room in ROOMS for file in (BENCHMARKS / room).glob("[a-z]*.py")}
    return {file.stem.replace("_", "-"): room for file, room in sorted(files.items())}
