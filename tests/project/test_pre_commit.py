"""pre-commit runs the linter that the tests run."""

import re

from ..support.sources import ROOT


def found(pattern, file):
    """The one match of a pattern in a file."""
    (match,) = re.findall(pattern, (ROOT / file).read_text("utf-8"))
    return match


def test_pre_commit_has_the_ruff_of_the_project():
    hook = found(r"astral-sh/ruff-pre-commit\n +rev: v([\d.]+)", ".pre-commit-config.yaml")
    assert hook == found(r'"ruff==([\d.]+)"', "pyproject.toml")
