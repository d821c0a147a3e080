"""The cases of large products of parameters that are tested.

A parametrized test with several parameters runs on their whole product. Where that has 24 cases or
more, about a quarter is tested, spread like a Latin square: every value of every parameter occurs,
as often as the others of its parameter. Tests that are marked ``by_turns`` run on half of what is
left, on the other half only with ``--all``. A test that is named on the command line runs whole.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import pytest

SMALLEST = 24
SHARE = 4
FEW = 4  # cases that are not halved


def left_out(items: Sequence) -> list:
    """Those of the collected tests that are not in the quarter of their product."""
    functions = defaultdict(list)
    for item in items:
        functions[item.nodeid.partition("[")[0]].append(item)
    return [
        case
        for cases in functions.values()
        if len(cases) >= SMALLEST and len((rows := parameters(cases))[0]) >= 2
        for case in set_apart(cases, covering(rows))
    ]


def other_half(items: Sequence) -> list:
    """Half of the cases of each test; those of a file leave out the one half or the other by turns.

    By the Thue-Morse sequence, which shares fairly: cases of an even and of an odd number would
    often be those of the one and of the other value of a parameter.
    """
    files: defaultdict = defaultdict(lambda: defaultdict(list))
    for item in items:
        file, _, name = item.nodeid.partition("[")[0].partition("::")
        files[file][name].append(item)
    return [
        case
        for functions in files.values()
        for turn, cases in enumerate(functions.values())
        if len(cases) > FEW
        for n, case in enumerate(cases)
        if (n.bit_count() + turn) % 2
    ]


def later(*values: object) -> list:
    """Values of a parameter, or of several in tuples, whose tests run only with ``--all``."""
    rows = (value if isinstance(value, tuple) else (value,) for value in values)
    return [pytest.param(*row, marks=pytest.mark.long) for row in rows]


def set_apart(cases: Sequence, chosen: Sequence[int]) -> list:
    """The cases at other places than the chosen ones."""
    return [case for n, case in enumerate(cases) if n not in set(chosen)]


def parameters(cases: Sequence) -> list[tuple[str, ...]]:
    """The names of each case's values, one for each call of ``parametrize`` with several values.

    Pytest joins these names to the name of the test, from a field that it keeps to itself. Its
    public ``indices`` count through the whole product in some releases.
    """
    specs = [getattr(case, "callspec", None) for case in cases]
    rows = [tuple(spec._idlist) if spec else () for spec in specs]
    columns = [column for column in zip(*rows, strict=True) if len(set(column)) > 1]
    return [tuple(column[n] for column in columns) for n in range(len(cases))]


def covering(rows: Sequence[tuple[str, ...]]) -> list[int]:
    """The places of the cases that stay: one by one that whose values were seen least so far."""
    missing = {value for row in rows for value in enumerate(row)}
    seen: Counter = Counter()
    rest = {n: tuple(enumerate(row)) for n, row in enumerate(rows)}
    chosen: list[int] = []
    while missing or len(chosen) < len(rows) / SHARE:
        place = min(rest, key=lambda n: sum(seen[value] for value in rest[n]))
        missing -= set(rest[place])
        seen.update(rest.pop(place))
        chosen.append(place)
    return sorted(chosen)
