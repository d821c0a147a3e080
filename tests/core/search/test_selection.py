import math

import pytest

from gph_core.policies.extrapolation import Reuse
from gph_core.quality.objective import CAPPED, FOR_SEARCHES, OBJECTIVES
from gph_core.quality.verdict import Tally
from gph_core.schedule import Schedule
from gph_core.search.proposals import Score
from gph_core.search.selection import finalists, paired_gain, validated_on
from gph_core.search.study import Measurement

from ...support.made_examples import MadeExamples

A = Schedule((0, 1, 2, 3), 12)
NEAR_A = Schedule((0, 1, 2, 4), 12)  # 2 steps from A
B = Schedule((0, 1, 5, 6), 12)  # 4 from A
NEAR_B = Schedule((0, 1, 5, 7), 12)  # 2 from B, 4 from A
C = Schedule((0, 8, 9, 10), 12)


def scored(*pairs):
    return {schedule: Score((mean,)) for schedule, mean in pairs}


def test_finalists_are_the_best_that_are_four_steps_apart():
    scores = scored((C, 1.0), (NEAR_B, 3.0), (A, 5.0), (NEAR_A, 4.5), (B, 2.0))
    assert finalists(scores) == [A, NEAR_B, C]


def test_too_few_finalists_are_filled_up_by_score():
    scores = scored((NEAR_A, 1.0), (B, 0.5), (A, 3.0), (NEAR_B, 2.0))
    # A and NEAR_B are apart; of the others NEAR_A is the best.
    assert finalists(scores) == [A, NEAR_B, NEAR_A]
    assert finalists(scored((A, 1.0))) == [A]
    assert finalists({}) == []


def test_of_equal_schedules_the_first_scored_is_the_finalist():
    assert finalists(scored((NEAR_B, 1.0), (B, 1.0), (A, 1.0)), count=2) == [NEAR_B, A]


def test_a_dropped_schedule_is_no_finalist():
    scores = {A: Score((99.0,), is_whole=False), B: Score((1.0, 1.0))}
    assert finalists(scores) == [B]


def test_a_paired_gain_has_the_interval_of_student():
    gain = paired_gain(Score((3.0, 5.0, 7.0, 9.0)), Score((2.0, 3.0, 4.0, 5.0)))
    # Differences 1, 2, 3, 4: mean 2.5, sample deviation sqrt(5/3), and 3.182 is the tabulated
    # quantile of 0.975 with three degrees of freedom.
    reach = 3.18245 * math.sqrt(5 / 3) / 2
    assert gain == pytest.approx((2.5, 2.5 - reach, 2.5 + reach), rel=1e-5)


def test_one_example_bounds_nothing():
    assert paired_gain(Score((3.0,)), Score((1.0,))) == (2.0, -math.inf, math.inf)


@pytest.mark.parametrize("other", [Score((1.0,)), Score((1.0, 2.0), is_whole=False)])
def test_scores_of_different_examples_are_not_compared(other):
    with pytest.raises(ValueError, match="compared on the same examples; one has 2, the other"):
        paired_gain(Score((3.0, 4.0)), other)


class Given(MadeExamples):
    """Examples with these PSNRs, whatever the schedule, and an error that says nothing."""

    def __init__(self, *psnr):
        super().__init__(lambda schedule, example: psnr[example], len(psnr))

    def measure(self, schedule, examples):
        found = super().measure(schedule, examples)
        return Measurement([{**m, "latent_mse": 0.5} for m in found.metrics], 0.0)


def test_what_is_validated_has_a_tally_of_plain_psnr_whatever_counts_of_it():
    # Capped (40.6 + 30 + 33) / 3, plain (100 + 30 + 33) / 3: equal images count as 100 dB.
    found = validated_on(Given(math.inf, 30.0, 33.0), None, FOR_SEARCHES[CAPPED], A, Reuse())
    assert found.score.mean == pytest.approx(103.6 / 3)
    assert found.psnr == (pytest.approx(163 / 3), 30.0, pytest.approx(2 / 3))


def test_there_is_no_tally_where_psnr_does_not_count_or_an_image_has_no_value():
    one = Given(30.0)
    assert validated_on(one, None, OBJECTIVES["latent MSE"], A, Reuse()).psnr is None
    assert validated_on(one, None, OBJECTIVES["PSNR"], A, Reuse()).psnr == Tally(30.0, 30.0, 0.0)
    broken = validated_on(Given(30.0, math.nan), None, OBJECTIVES["PSNR"], A, Reuse())
    assert (broken.psnr, broken.score.is_whole) == (None, False)
