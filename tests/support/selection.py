"""What runs only with ``--all``."""

from __future__ import annotations

import pytest


def later(*values: object) -> list:
    """Values of a parameter, or of several in tuples, whose tests run only with ``--all``."""
    rows = (value if isinstance(value, tuple) else (value,) for value in values)
    return [pytest.param(*row, marks=pytest.mark.long) for row in rows]
