"""Each answer of docs/questions.md is at most a screen and ends with how it was tested."""

import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[2] / "docs" / "questions.md").read_text("utf-8")
ANSWERS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("question", ANSWERS)
def test_an_answer_ends_with_the_tests_that_hold_it(question):
    answer = ANSWERS[question].strip()
    last = answer.split("\n\n")[-1]
    assert last.startswith("*Tested*")
    assert re.search(r"`tests/[\w/]+\.py`", last)
    assert len(answer.splitlines()) <= 30


def test_all_headings_are_questions():
    assert len(ANSWERS) == TEXT.count("\n## ") >= 6
    assert all(question.endswith("?") for question in ANSWERS)
