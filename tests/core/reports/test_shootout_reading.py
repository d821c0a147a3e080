"""``reports/shootout/reading``: a report is read whole, or refused in words."""

import copy
import json

import pytest

from gph_core.quality.objective import PSNR
from gph_core.quality.reports import FORMAT, tables
from gph_core.reports.shootout.reading import read

from ...support.made_shootouts import report, row

GOOD = report([row("uniform", [20.0, 21.0, "identical"])])
OTHERS = (None, True, 7, -1.5, "text", [], {}, [[]], {"a": 1})
DELETED = "left out"  # stands for no value


def places(value, path=()):
    """Paths of everything in some data."""
    yield path
    if isinstance(value, list):
        value = dict(enumerate(value))
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from places(inner, (*path, name))


def changed(path, new):
    """The report with another value at one place, or without it."""
    if not path:
        return new
    data = copy.deepcopy(GOOD)
    place = data
    for name in path[:-1]:
        place = place[name]
    if new == DELETED:
        del place[path[-1]]
    else:
        place[path[-1]] = new
    return data


@pytest.mark.parametrize("new", [*OTHERS, DELETED], ids=repr)
def test_another_value_at_any_place_is_read_or_refused_in_words(new):
    for path in places(GOOD):
        if new == DELETED and not path:
            continue
        try:
            tables([read(json.dumps(changed(path, new)))], PSNR)
        except ValueError as error:
            text = str(error)
            assert not any(word in text for word in ("zip(", "NoneType", "argument", "KeyError"))


@pytest.mark.parametrize(
    ("path", "new", "words"),
    [
        (("rows",), {}, r"the report, 'rows' must be a list; found \{\}"),
        (("full_steps",), True, "the report, 'full_steps' must be a whole number; found True"),
        (("prompts", 1, "example"), DELETED, "the report, 'prompts', item 1 has no 'example'"),
        (("rows", 1, "policy"), 3, "'policy' must be a text or null; found 3"),
        (
            ("rows", 1, "metrics", "psnr", "values"),
            [1.0],
            "'uniform' .* 1 values of psnr, of 3",
        ),
        (("rows", 1, "metrics", "psnr", "values", 0), "good", "has the value 'good' of psnr"),
        (("rows", 1, "kind"), "odd", "'uniform' of the report is of the kind 'odd', which is none"),
        (("rows", 1, "schedules"), [], "'uniform' of the report has no schedule"),
        (("rows", 1, "schedules", 0, "schedule"), "3/2", "no schedule that can be read"),
    ],
)
def test_the_error_names_the_place(path, new, words):
    with pytest.raises(ValueError, match=words):
        read(json.dumps(changed(path, new)))


@pytest.mark.parametrize(
    "text", ["", "null", "7", "[]", '{"format": []}', "[" * 200_000, '{"format": NaN}', "\ud800"]
)
def test_what_is_no_report_is_refused(text):
    with pytest.raises(ValueError, match="no JSON of Method Shootout"):
        read(text)


def test_a_report_comes_back():
    assert read(json.dumps(GOOD)) == GOOD
    assert GOOD["format"] == FORMAT
