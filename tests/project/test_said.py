"""The lines of reports that the page translates are those that Python writes, word by word."""

import ast
import re

import dev

from ..support.sources import nodes, sources

COUNTED = ("1 step", " steps")  # see gph_core/texts.py
LINE = re.compile(r'"said\.(\w+)": "(.*)",')


def templates():
    """Texts of the pack's Python, with "{}" for each value of an f-string."""
    for path in sources(".py"):
        if path.relative_to(dev.ROOT).parts[0] not in ("nodes", "gph_core"):
            continue
        for node in nodes(path.read_text("utf-8")):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            if isinstance(node, ast.JoinedStr):
                values = (
                    part.value if isinstance(part, ast.Constant) else "{}" for part in node.values
                )
                yield "".join(values)


def test_every_line_that_the_page_knows_is_written_somewhere():
    pieces = "\n".join(templates())
    lines = LINE.findall((dev.ROOT / "web" / "locales" / "en_said.js").read_text("utf-8"))
    assert len(lines) > 20
    # A line may be put together from several texts, so its words between values are looked for.
    lost = {
        key: words
        for key, line in lines
        for words in re.split(r"\{\w+\}|,", line)
        if words.strip(" :;") not in pieces and words not in COUNTED
    }
    assert lost == {}
