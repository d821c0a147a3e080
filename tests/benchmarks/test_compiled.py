"""When ``bench compiled`` says that a compiled run is near enough."""

import pytest

from benchmarks.cost.compiled import _is_met


@pytest.mark.parametrize(
    ("plain", "found", "is_met"),
    [
        ([1e-5, 1e-5], [1e-5, 4e-5], True),  # four times the difference without the cache
        ([1e-5, 1e-5], [1e-5, 5e-5], False),
        ([0.0, 0.0], [1e-6, 0.0], True),  # rounding
        ([0.0, 0.0], [2e-6, 0.0], False),
        ([0.0, 0.0], None, False),  # it fails with the cache alone
        (None, None, None),  # it fails without the cache, too
    ],
)
def test_a_cached_run_is_held_against_a_run_without_the_cache(plain, found, is_met):
    assert _is_met({"difference": found}, {"difference": plain}) is is_met
