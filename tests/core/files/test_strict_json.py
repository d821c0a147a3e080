"""JSON without NaN, infinity and endless nesting."""

import json

import pytest

from gph_core.files.strict_json import MAX_DEPTH, dumps, loads

REFUSED = {
    "NaN": "NaN",
    '{"a": [-Infinity]}': "-Infinity",
    "1e999": "1e999, which is too large",
    '{"a": -1e400}': "-1e400",
    "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1): "nested in more than 64 levels",
    "[" * 200_000: "nested in more than 64 levels|Expecting value",
    "9" * 5000: "integer string conversion",
    "": "Expecting value",
    b"\xff\xfe": "codec can't decode",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: str(text[:20]))
def test_what_is_no_json_is_refused_with_a_reason(text):
    with pytest.raises(ValueError, match=REFUSED[text]):
        loads(text)


@pytest.mark.parametrize("value", [1.5, -1, 1e308, "ü", None, [[]], {"a": {"b": [True]}}], ids=str)
def test_plain_data_come_back(value):
    assert loads(dumps(value)) == value
    assert loads(json.dumps(value, ensure_ascii=False).encode("utf-8-sig")) == value


def test_the_deepest_text_that_may_be_is_read():
    assert loads("[" * MAX_DEPTH + "]" * MAX_DEPTH)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": [-float("inf")]}], ids=str)
def test_a_number_that_is_not_finite_is_never_written(value):
    with pytest.raises(ValueError, match="not JSON compliant"):
        dumps(value)
