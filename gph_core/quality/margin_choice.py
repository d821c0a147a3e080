"""The quality margins that *Coverage* offers: published, derived, or the user's."""

from __future__ import annotations

from collections.abc import Sequence

from . import margins, reports
from .reports import QualityTable

PUBLISHED, DERIVED, OWN = "published", "derived", "values below"


def margins_of(
    choice: str, values: str, metric: str, tables: Sequence[QualityTable]
) -> tuple[float, ...]:  # fmt: skip
    """The chosen margins, tightest first; ``ValueError`` if there are none."""
    if choice == OWN:
        return values_of(values)
    if choice == PUBLISHED:
        if metric not in margins.PUBLISHED:
            raise ValueError(
                f"no margins were published for {metric}; set margins to {DERIVED} or {OWN!r}"
            )
        return margins.PUBLISHED[metric]
    changes = reports.changes(tables)
    if not changes:
        raise ValueError(
            "margins are derived from what one more cached step costs: connect shootouts of the "
            "same fixed methods and examples with two or more numbers of full steps, or set "
            f"margins to {PUBLISHED} or {OWN!r}"
        )
    return margins.derived(changes)


def values_of(text: str) -> tuple[float, ...]:
    """Margins that a text lists, tightest first; ``ValueError`` if it lists none."""
    try:
        numbers = sorted(float(word) for word in text.replace(",", " ").split())
    except ValueError:
        numbers = []
    if not numbers or not 0 < numbers[0] <= numbers[-1] < float("inf"):
        raise ValueError(f"{text!r} are no margins; write positive numbers, as in '0.25, 0.5, 1'")
    return tuple(numbers)
