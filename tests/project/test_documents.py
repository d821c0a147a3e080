"""What documents and settings of the repository promise of themselves."""

import re

from ..support.sources import ROOT


def text(file):
    return (ROOT / file).read_text("utf-8")


def test_the_readme_has_at_most_850_words():
    words = [part for part in text("README.md").split() if re.search(r"\w", part)]
    assert len(words) <= 850


def test_pre_commit_has_the_ruff_of_the_project():
    (hook,) = re.findall(
        r"astral-sh/ruff-pre-commit\n +rev: v([\d.]+)", text(".pre-commit-config.yaml")
    )
    assert re.findall(r'"ruff==([\d.]+)"', text("pyproject.toml")) == [hook]


def test_an_answer_is_short_and_ends_with_the_tests_that_hold_it():
    page = text("docs/questions.md")
    answers = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    assert len(answers) == page.count("\n## ") >= 6
    for question, answer in answers.items():
        assert question.endswith("?")
        assert len(answer.strip().splitlines()) <= 30, question
        last = answer.strip().split("\n\n")[-1]
        assert re.match(r"\*Tested\*.*`tests/[\w/]+\.py`", last, re.DOTALL), question


def test_every_node_that_shows_a_text_has_one_for_before_its_runs():
    showing = {
        node
        for path in ROOT.glob("nodes/*/*.py")
        if "ui=summary_output(" in (source := path.read_text("utf-8"))
        for node in re.findall(r'node_id="(\w+)"', source)
    }
    assert showing
    assert set(re.findall(r'"summary\.(\w+)":', text("web/locales/en.js"))) == showing
