"""The page's logic that needs no page, with the runner of the Node that Playwright brings."""

import json
import os
import subprocess
from pathlib import Path

import playwright

import dev
from gph_core.quality.metric_table import PAGE_ROWS

NODE = Path(playwright.__file__).parent / "driver" / ("node.exe" if os.name == "nt" else "node")


def test_the_logic_of_the_page_passes_its_tests():
    files = sorted(str(path) for path in dev.ROOT.glob("tests/web/*.test.js"))
    assert files
    result = subprocess.run(
        [str(NODE), "--test", *files], cwd=dev.ROOT, capture_output=True, encoding="utf-8",
        env=os.environ | {"GPH_METRICS": json.dumps(PAGE_ROWS)},
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
