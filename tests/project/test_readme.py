"""README of one screen."""

import re
from pathlib import Path

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")


def test_the_readme_has_at_most_900_words():
    words = [part for part in README.split() if re.search(r"\w", part)]
    assert len(words) <= 900
