"""JSON without NaN, infinity and endless nesting."""

import json
import math

import pytest

from gph_core.files.strict_json import MAX_DEPTH, dumps, finite, loads

REFUSED = {
    "NaN": "NaN",
    '{"a": [-Infinity]}': "-Infinity",
    "1e999": "1e999, which is too large",
    '{"a": -1e400}': "-1e400",
    "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1): "nested in more than 64 levels",
    "[" * 200_000: "nested in more than 64 levels|Expecting value",
    "-" + "9" * 309: "has more than 308 digits",
    "9" * 5000: "has more than 308 digits",
    "": "Expecting value",
    b'{"a"\xff': "no UTF-8 text, from byte 4 on",
    '{"a": 1}'.encode("utf-16"): "no UTF-8 text, from byte 0 on",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: str(text[:20]))
def test_what_is_no_json_is_refused_with_a_reason(text):
    with pytest.raises(ValueError, match=REFUSED[text]):
        loads(text)


@pytest.mark.parametrize("value", [1.5, -1, 1e308, "ü", None, [[]], {"a": {"b": [True]}}], ids=str)
def test_plain_data_come_back(value):
    assert loads(dumps(value)) == value
    assert loads(json.dumps(value, ensure_ascii=False).encode("utf-8-sig")) == value
    assert loads("\ufeff" + dumps(value)) == value


def test_the_largest_whole_number_is_still_a_float():
    assert float(loads("9" * 308)) == 1e308


def test_the_deepest_text_that_may_be_is_read():
    assert loads("[" * MAX_DEPTH + "]" * MAX_DEPTH)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": [-float("inf")]}], ids=str)
def test_a_number_that_is_not_finite_is_never_written(value):
    with pytest.raises(ValueError, match="not finite, which JSON cannot have"):
        dumps(value)


def test_numbers_that_are_not_finite_become_null_wherever_they_are():
    found = finite({"a": (math.nan, 1.5), "b": [{"c": -math.inf}], "d": True, "e": "nan", "f": 2})
    assert found == {"a": [None, 1.5], "b": [{"c": None}], "d": True, "e": "nan", "f": 2}
