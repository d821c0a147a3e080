"""Forms of data: fields of classes from plain data."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from gph_core.files.forms import read


@dataclass
class Inner:
    x: int

    @classmethod
    def from_dict(cls, data):
        return read(cls, data)


class Item(NamedTuple):
    name: str
    count: int
    share: float
    steps: tuple[int, ...] = ()
    values: tuple[float | None, ...] = ()
    metrics: Mapping[str, float] | None = None
    inner: Inner | None = None
    rest: Any = None


GOOD = {"name": "a", "count": 3, "share": 1}


def test_fields_get_the_types_that_the_class_says():
    more = {"steps": [1, 2], "values": [None, 1.5], "metrics": {"psnr": math.inf}, "rest": ["x"]}
    found = read(Item, GOOD | more | {"inner": {"x": 4}})
    assert found == Item("a", 3, 1.0, (1, 2), (None, 1.5), {"psnr": math.inf}, Inner(4), ["x"])
    assert type(found.share) is float
    assert read(Item, GOOD) == Item("a", 3, 1.0)


def test_nan_stands_only_where_none_may():
    assert math.isnan(read(Item, GOOD | {"values": [math.nan]}).values[0])
    with pytest.raises(ValueError, match="the field 'share' must be a number; found nan"):
        read(Item, GOOD | {"share": math.nan})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": 5}, "'name' must be a text; found 5"),
        ({"count": 2.5}, "'count' must be a whole number; found 2.5"),
        ({"count": True}, "'count' must be a whole number; found True"),
        ({"share": "1"}, "'share' must be a number; found '1'"),
        ({"share": None}, "'share' must be a number; found None"),
        ({"count": 10**400}, "'count' holds a number of 401 digits"),
        ({"steps": "12"}, "'steps' must be a list; found '12'"),
        ({"steps": [1, None]}, "'steps' must be a whole number; found None"),
        ({"metrics": [1]}, r"'metrics' must be an object; found \[1\]"),
        ({"metrics": math.nan}, "'metrics' must be an object; found nan"),
        ({"inner": {"x": "1"}}, "'x' must be a whole number; found '1'"),
        ({"inner": 5}, "an item must be an object; found 5"),
        ({"other": 1}, "the field 'other' is not known"),
    ],
)
def test_a_field_of_another_type_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        read(Item, GOOD | changes)


def test_a_field_that_is_missing_is_named():
    with pytest.raises(ValueError, match=r"one of the fields name, .* is missing"):
        read(Item, {"count": 3, "share": 1})
