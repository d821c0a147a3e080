import pytest

from gph_core.search.judge import DifferenceSpread, Race
from gph_core.search.proposals import Score

RIVAL = Score((4.0, 2.0, 4.0, 2.0, 4.0, 2.0, 4.0, 2.0))


def is_lost(race, values, rival, lead, spread=None):
    return race.is_lost(values, rival, lead, spread or DifferenceSpread())


@pytest.mark.parametrize(("lead", "lost"), [(0.0, True), (-1.14, True), (-1.15, False)])
def test_the_bound_is_that_of_student_over_a_finite_population(lead, lost):
    # Differences -4 -2 -4 -2: mean -3, sample deviation 2 / sqrt(3); 4 of 8 are seen, so the
    # error is 2 / sqrt(3) sqrt(4 / 32) = 0.40825. The tabulated quantile of 0.99 with three
    # degrees of freedom is 4.5407: the bound is -3 + 1.8537 = -1.1463.
    assert is_lost(Race(), (0.0,) * 4, RIVAL, lead) is lost


def test_two_examples_decide_only_if_they_agree():
    # Differences -4 and -2: the quantile for one degree of freedom is 31.8, the bound +24.6.
    assert not is_lost(Race(), (0.0, 0.0), RIVAL, 0.0)
    assert is_lost(Race(), (1.0, -1.0), RIVAL, 0.0)  # -3 and -3: no deviation at all


@pytest.mark.parametrize("seen", [0, 1, 8])
def test_one_example_decides_nothing_and_all_leave_nothing_to_decide(seen):
    assert not is_lost(Race(), (-99.0,) * seen, RIVAL, 0.0)


def test_what_is_only_equal_has_lost():
    # The rival has to be beaten.
    assert is_lost(Race(), RIVAL.values[:2], RIVAL, 0.0)
    assert not is_lost(Race(), RIVAL.values[:2], RIVAL, -1e-9)


@pytest.mark.parametrize(("lead", "lost"), [(0.0, True), (-1.16, True), (-1.17, False)])
def test_former_comparisons_tell_how_much_differences_vary(lead, lost):
    # Differences -4 and -2: squares 2 with one degree of freedom. A former comparison with the
    # differences 1, 3, 5 adds 8 with two: s = sqrt(10 / 3) = 1.8257, the error is that by
    # sqrt(6 / 16) = 1.1180. The quantile of 0.9 for three is 1.6377: the bound is -1.1690.
    spread = DifferenceSpread()
    spread.add([1.0, 3.0, 5.0])
    assert (spread.squares, spread.degrees) == (8.0, 2)
    assert is_lost(Race(confidence=0.9), (0.0, 0.0), RIVAL, lead, spread) is lost


def test_one_example_decides_where_former_comparisons_tell_the_spread():
    spread = DifferenceSpread()
    spread.add([1.0, 3.0, 5.0])  # s = 2; the error after one of eight is 2 sqrt(7 / 8) = 1.8708
    # The quantile of 0.9 for two degrees of freedom is 1.8856: 3.5276 above the difference -4.
    assert is_lost(Race(confidence=0.9), (0.0,), RIVAL, -0.4, spread)
    assert not is_lost(Race(confidence=0.9), (0.0,), RIVAL, -0.5, spread)
