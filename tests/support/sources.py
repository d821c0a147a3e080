"""The files of the repository that people write, without tests, texts and data, and their parts."""

import ast
import functools
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("benchmarks", "demo", "devtools", "gph_core", "nodes", "web")
TEXTS = ("web/docs", "web/locales")


def sources(*suffixes, folders=FOLDERS):
    """Files with some suffixes, in the repository's root and below some of its folders."""
    places = [ROOT.iterdir(), *((ROOT / folder).rglob("*") for folder in folders)]
    found = [path for place in places for path in place if path.suffix in suffixes]
    texts = tuple(map(ROOT.joinpath, TEXTS))
    return sorted(path for path in found if not any(path.is_relative_to(text) for text in texts))


def name(path):
    """Path of a file from the root on, with slashes."""
    return path.relative_to(ROOT).as_posix()


@functools.cache
def nodes(source):
    """Syntax nodes of a Python source, the module first; parsed once in a process."""
    return tuple(ast.walk(ast.parse(source)))


def module_of(path, node):
    """Parts of the module from which an ``ImportFrom`` in a file takes names.

    Those of a relative import begin at the root of the repository.
    """
    below = path.parents[node.level - 1].relative_to(ROOT).parts if node.level else ()
    return (*below, *filter(None, (node.module or "").split(".")))
