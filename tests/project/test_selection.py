"""What is left out of large products."""

import itertools
import os
from types import SimpleNamespace

import pytest

from ..support.selection import left_out, other_half, parameters


def product(*sizes, name="test_it"):
    """Test items of a product of parameters with so many values."""
    return [
        SimpleNamespace(
            nodeid=f"{name}[{row}]",
            callspec=SimpleNamespace(_idlist=[str(value) for value in row]),
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


def test_half_of_the_cases_take_turns_with_the_others():
    one, other = product(6, name="test.py::test_one"), product(6, name="test.py::test_other")
    few = product(4, name="test.py::test_few")
    out = other_half([*one, *few, *other])
    assert [item.row for item in out if item in one] == [(1,), (2,), (4,)]
    assert [item.row for item in out if item in other] == [(1,), (2,), (4,)]  # two tests later
    assert not [item for item in out if item in few]
    assert [item.row for item in other_half([*few, *other])] == [(0,), (3,), (5,)]


@pytest.mark.parametrize("sizes", [(8, 2), (8, 4), (8, 3), (56, 2)])
def test_no_value_is_always_in_the_same_half(sizes):
    items = product(*sizes, name="test.py::test_it")
    out = other_half(items)
    assert len(out) == len(items) // 2
    for place in range(len(sizes)):
        assert {item.row[place] for item in out} == set(range(sizes[place]))
        assert {item.row[place] for item in items if item not in out} == set(range(sizes[place]))


def test_pytest_names_the_values_as_the_selection_reads_them(tmp_path):
    """In the installed release; it once stopped to tell the values of a product apart."""
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('a', [{}, {1: 2}, {3: 4}, {5: 6}], ids='wxyz')\n"
        "@pytest.mark.parametrize(('b', 'c'), [(n, [n]) for n in range(6)])\n"
        "def test_it(a, b, c): pass\n",
        "utf-8",
    )
    collected = Collected()
    pytest.main(["--collect-only", "-q", "-c", os.devnull, str(tmp_path)], plugins=[collected])
    assert len(collected.items) == 24
    assert len(set(parameters(collected.items))) == 24
    assert len(left_out(collected.items)) == 18


class Collected:
    """A plugin that keeps what pytest collects."""

    items = ()

    def pytest_collection_finish(self, session):
        self.items = list(session.items)
