"""Prompts and seeds of scoring examples, and texts that list none."""

import pytest

from gph_core.search.scoring_prompts import parse_prompts, parse_seeds, seeds_for


def test_each_line_that_is_not_empty_is_a_prompt():
    assert parse_prompts("two red circles\n\n  a blue square \n") == [
        "two red circles", "a blue square",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="there is no prompt"):
        parse_prompts(" \n")


def test_seeds_are_whole_numbers_between_commas_or_spaces():
    assert parse_seeds(f"1, 2 {2**64 - 1},0") == [1, 2, 2**64 - 1, 0]
    with pytest.raises(ValueError, match="there is no seed"):
        parse_seeds(" ")


@pytest.mark.parametrize("word", ["x", "-1", "1.5", "²", str(2**64)])
def test_what_is_no_seed_is_named(word):
    with pytest.raises(ValueError, match=f"'{word}' is not a seed"):
        parse_seeds(f"1, {word}")


def test_one_seed_is_for_all_prompts_else_each_has_its_own():
    assert seeds_for([7], ["a", "b"]) == [7, 7]
    assert seeds_for([7, 8], ["a", "b"]) == [7, 8]
    with pytest.raises(ValueError, match="there are 3 seeds for 2 prompts"):
        seeds_for([1, 2, 3], ["a", "b"])
