"""The list of planted defects fits the code as it is today."""

from devtools.mutants import ROOT, mutants

FEWEST = 120


def is_plantable(mutant):
    """Whether the text is in its file once, is changed, and tests are named that exist."""
    return (
        (ROOT / mutant.file).read_text("utf-8").count(mutant.text) == 1
        and mutant.instead != mutant.text
        and mutant.tests
        and all((ROOT / path).exists() for path in mutant.tests)
    )


def test_each_defect_can_be_planted_and_its_tests_exist():
    assert [mutant for mutant in mutants() if not is_plantable(mutant)] == []


def test_there_are_enough_of_them():
    assert len(mutants()) >= FEWEST
