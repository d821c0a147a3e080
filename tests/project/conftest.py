"""Tests of this folder share the parsed files of the repository."""

from pathlib import Path

from ..support import sources


def pytest_runtest_teardown(nextitem):
    """Forget the parsed files at the end: later tests collect garbage, which looks through them."""
    if nextitem is None or Path(__file__).parent not in nextitem.path.parents:
        sources.nodes.cache_clear()
