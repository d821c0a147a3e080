"""The contract of all routes: a hostile request gets an answer in words, and changes no file."""

import gzip
import json

import pytest
from golden_path_pack.nodes.page import routes

from .route_calls import GOOD, answers, call, check_words

every_route = pytest.mark.parametrize(("method", "path"), GOOD, ids=str)

# Values of a field, as JSON has them or as it must not.
VALUES = {
    "null": "null", "true": "true", "zero": "0", "one": "1", "a negative number": "-1",
    "a fraction": "0.25", "a whole float": "4.0", "a large number": "9" * 300,
    "a huge number": "1" + "0" * 5000, "an infinite number": "1e999", "NaN": "NaN",
    "infinity": "-Infinity", "a list": "[0]", "an object": '{"a": 0}', "a word": '"no"',
    "a deep list": "[" * 100 + "]" * 100, "an open list": "[" * 2000, "no text": '""',
    "NUL": r'"a\u0000b"', "a lone surrogate": r'"\ud800"', "dots": '".."',
    "another folder": '"../../secret"', "one on Windows": r'"..\\..\\secret"',
    "an absolute path": '"/secret"', "a drive": '"C:secret"', "a device": '"con"',
    "a taken name": '"MINE"', "a long text": f'"{"x" * 5000}"', "many bytes": f'"{"名" * 84}"',
    "two lines": r'"a\nb"', "a wrong mark": '"yours: ../secret"', "markup": '"<img src=x>"',
    "digits of another script": '"٣/٩"',
}  # fmt: skip

# Whole bodies, and how they say that they are encoded.
BODIES = {
    "nothing": (b"", ""), "a list": (b"[1]", ""), "a text": (b'"a"', ""), "null": (b"null", ""),
    "UTF-16": ('{"name": "a"}'.encode("utf-16"), ""), "no UTF-8": (b'{"name": "\xff"}', ""),
    "a mark and nothing else": ("\ufeff".encode(), ""), "an endless list": (b"[" * 100_000, ""),
    "an unknown field": (b'{"unknown": 1, "\\ud800": 2}', ""), "a form": (b"replace=true", ""),
    "no gzip": (b"{}", "gzip"), "no deflate": (b"\xff" * 4, "deflate"),
    "half a gzip": (gzip.compress(b"{}" * 99)[:-12], "gzip"),
}  # fmt: skip


def test_every_route_has_an_example_here():
    assert {(method, path) for method, path, _ in routes.ROUTES} == set(GOOD)


def places(method, path):
    """The fields of a route, and those of the objects in them, with their good values."""
    for name, value in GOOD[method, path].items():
        yield (name,), value
        if isinstance(value, dict):
            yield from (((name, inner), value[inner]) for inner in value)


def is_of_type(raw, good):
    """Whether JSON has a value of a type, as the page writes it."""
    try:
        value = json.loads(raw, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return False
    return type(value) is type(good) or (type(value) is int and type(good) is float)


def test_a_good_request_is_answered(user):
    for route, (status, text) in answers(user, {route: call(*route) for route in GOOD}).items():
        assert status == 200, (route, text)
        check_words(route, status, text)


@every_route
def test_a_hostile_value_gets_words_and_one_of_another_type_is_refused(user, method, path):
    requests, refused = {}, set()
    for (field, *inner), good in places(method, path):
        for name, raw in VALUES.items():
            key, value = (field, *inner, name), raw.encode()
            if inner:
                others = {**GOOD[method, path][field], inner[0]: "?"}
                value = json.dumps(others).replace('"?"', raw).encode()
            requests[key] = call(method, path, **{field: value})
            is_text = f"{{{field}}}" in path or method != "POST"  # where everything is one
            if not is_of_type(raw, good) and not (is_text and isinstance(good, str)):
                refused.add(key)
    for key, (status, text) in answers(user, requests).items():
        if status == 404 and f"{{{key[0]}}}" in path:
            continue  # no address of ours, says the server itself
        check_words(key, status, text)
        assert status == 400 or key not in refused, (key, status, text[:300])


@every_route
def test_a_hostile_body_gets_words(user, method, path):
    method, address, _ = call(method, path)
    requests = {name: (method, address, *body) for name, body in BODIES.items()}
    if method != "POST":
        del requests["nothing"]
    for name, (status, text) in answers(user, requests).items():
        check_words(name, status, text)
        assert status == 400, (name, text)


@every_route
def test_a_field_is_taken_from_its_own_place_alone(user, method, path):
    _, address, body = call(method, path)
    mark = "&" if "?" in address else "?"
    queries = {
        "an unknown one": "unknown=1", "a switch": "replace=false", "no UTF-8": "%ff=%ff",
        "NUL": "%00=%00", "a lone surrogate": "%ed%a0%80=1", "no name": "=",
    }  # fmt: skip
    queries |= {f"{name} in the query": f"{name}=mine" for name in GOOD[method, path]}
    requests = {name: (method, f"{address}{mark}{query}", body) for name, query in queries.items()}
    sent = json.loads(body) if body else {}
    for name in sent.keys() - {"replace"}:
        less = {key: value for key, value in sent.items() if key != name}
        requests[f"without {name}"] = (method, address, json.dumps(less))
    if body:
        for name in ("path", "self", "request"):
            requests[f"{name} in the body"] = (method, address, json.dumps({**sent, name: "mine"}))
    for name, (status, text) in answers(user, requests).items():
        check_words(name, status, text)
        assert status == 400, (name, text)
