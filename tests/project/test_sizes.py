"""No file, folder or usual function is too large to be read at once."""

import ast
import statistics
from collections import Counter

from ..support.sources import name, nodes, sources

MOST_LINES = 250
MOST_FILES = 15
MOST_LINES_OF_NINE_FUNCTIONS_IN_TEN = 30


def test_no_file_is_longer_than_250_lines():
    lines = {
        name(path): len(path.read_bytes().splitlines()) for path in sources(".py", ".js", ".css")
    }
    assert {file: count for file, count in lines.items() if count > MOST_LINES} == {}


def test_no_folder_has_more_than_15_files():
    files = sources(".py", ".js", ".css")
    folders = Counter(name(path.parent) for path in files)
    assert {folder: count for folder, count in folders.items() if count > MOST_FILES} == {}


def function_lengths(source):
    """Lines of each function of a Python source, methods and inner functions included."""
    for node in nodes(source):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.end_lineno - node.lineno + 1


def test_a_function_is_measured_without_its_decorators():
    source = "@a\n@b\nasync def f(x):\n    def g():\n        return x\n\n    return g\n"
    assert sorted(function_lengths(source)) == [2, 5]


def test_nine_functions_in_ten_have_at_most_30_lines():
    lengths = [n for path in sources(".py") for n in function_lengths(path.read_text("utf-8"))]
    tenths = statistics.quantiles(lengths, n=10)
    assert tenths[-1] <= MOST_LINES_OF_NINE_FUNCTIONS_IN_TEN
