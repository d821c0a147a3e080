"""The page's logic that needs no page, with the runner of the Node that Playwright brings."""

import os
import subprocess
from pathlib import Path

import playwright

import dev

NODE = Path(playwright.__file__).parent / "driver" / ("node.exe" if os.name == "nt" else "node")


def test_the_logic_of_the_page_passes_its_tests():
    files = sorted(str(path) for path in dev.ROOT.glob("tests/web/*.test.js"))
    assert files
    command = [str(NODE), "--test", *files]
    result = subprocess.run(command, cwd=dev.ROOT, capture_output=True, encoding="utf-8")
    assert result.returncode == 0, result.stdout + result.stderr
