"""What is left out of large products by default."""

import itertools
from types import SimpleNamespace

import pytest

from ..support.selection import left_out


def product(*sizes, name="test_it"):
    """Test items of a product of parameters with so many values."""
    return [
        SimpleNamespace(
            nodeid=f"{name}[{row}]",
            callspec=SimpleNamespace(indices=dict(zip("abc", row, strict=False))),
            row=row,
        )
        for row in itertools.product(*map(range, sizes))
    ]


@pytest.mark.parametrize("sizes", [(4, 6), (8, 40), (2, 3, 5), (76, 6)])
def test_a_quarter_with_every_value_of_every_parameter_stays(sizes):
    items = product(*sizes)
    out = left_out(items)
    kept = [item.row for item in items if item not in out]
    for place, size in enumerate(sizes):
        assert {row[place] for row in kept} == set(range(size))
    # Where a parameter has more values than a quarter of the cases, each of them has one.
    assert len(kept) == max(-(-len(items) // 4), *sizes)


def test_small_products_single_parameters_and_plain_tests_stay():
    plain = SimpleNamespace(nodeid="test_plain")
    assert left_out([*product(4, 5), *product(40, name="test_list"), plain]) == []
