"""Nodes that show a text and the page agree on which they are."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_node_that_shows_a_text_has_one_for_before_its_runs():
    sources = (path.read_text("utf-8") for path in ROOT.glob("nodes/*/*.py"))
    showing = {
        node
        for source in sources
        if "ui=summary_output(" in source
        for node in re.findall(r'node_id="(\w+)"', source)
    }
    page = (ROOT / "web/locales/en.js").read_text("utf-8")
    assert showing
    assert set(re.findall(r'"summary\.(\w+)":', page)) == showing
