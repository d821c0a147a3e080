"""Numbers of full steps that are asked for."""

import pytest

from gph_core.paths.speeds import check_full, full_of


def test_a_speed_is_a_share_and_a_number_is_itself():
    assert full_of(7, 50) == 7
    assert full_of("Fast", 50) == 9  # 18 % of 50
    assert full_of("Threshold", 50) is None


@pytest.mark.parametrize(
    ("full", "options", "possible"),
    [(1, {}, "2 to 9"), (10, {}, "2 to 9"), (11, {"fewest": 1, "spare": 0}, "1 to 10")],
)
def test_numbers_out_of_range_are_errors(full, options, possible):
    with pytest.raises(ValueError, match=f"{full} full steps do not fit: of 10 steps {possible}"):
        check_full(full, 10, **options)


def test_numbers_in_range_are_taken():
    check_full(2, 10)
    check_full(9, 10)
    check_full(10, 10, fewest=1, spare=0)
    with pytest.raises(ValueError, match="of 2 steps none can be full"):
        check_full(2, 2)
