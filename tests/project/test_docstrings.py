"""Docstrings begin with a noun or a verb."""

import ast
import itertools
import re

from ..support.sources import name, nodes, sources

# These refer to something that the docstring does not name. "How" and "What" often do so, too, but
# also begin good ones: "How many steps are full".
DANGLING = re.compile(r"(Of|That|Those|The same|As)\b")
HAVE_DOCSTRINGS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def dangling(source):
    """Docstrings of a Python source that begin with a reference to something unnamed."""
    owners = (node for node in nodes(source) if isinstance(node, HAVE_DOCSTRINGS))
    found = filter(None, map(ast.get_docstring, owners))
    return [text for text in found if DANGLING.match(text)]


def test_no_docstring_begins_with_a_reference_to_something_unnamed():
    found = {name(path): dangling(path.read_text("utf-8")) for path in sources(".py")}
    assert {file: texts for file, texts in found.items() if texts} == {}


def test_such_a_docstring_is_found_and_other_texts_are_not():
    begins = ("Of", "That", "Those", "The same", "As")
    kinds = (
        '"""{}"""', 'class A:\n    """{}"""', 'def f():\n    """\n    {}\n    """',
        'class A:\n    async def f(self):\n        """{}"""',
    )  # fmt: skip
    for text, kind in itertools.product((f"{begin} one." for begin in begins), kinds):
        assert dangling(kind.format(text)) == [text]
    for source in ('"""Offset of one."""', '"""Asks that."""', "# Of one\nx = 'Of one'"):
        assert dangling(source) == []
