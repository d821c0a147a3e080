"""Places of this repository."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEV = ROOT / ".dev"  # all that the commands bring and make
PACK_NAME = "ComfyUI-GoldenPath"
