"""The list of planted defects fits the code as it is today."""

import pytest

from devtools.mutants import ROOT, mutants

FEWEST = 120


@pytest.mark.parametrize("mutant", mutants(), ids=lambda m: f"{m.file}-{m.text}")
def test_each_text_is_in_its_file_once_and_its_tests_exist(mutant):
    assert (ROOT / mutant.file).read_text("utf-8").count(mutant.text) == 1
    assert mutant.instead != mutant.text
    assert mutant.tests
    assert all((ROOT / path).exists() for path in mutant.tests)


def test_there_are_enough_of_them():
    assert len(mutants()) >= FEWEST
