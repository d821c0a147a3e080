"""Profiles of runs of known shape, and how quantities spread over runs."""

import json
import math

import numpy as np
import pytest
import torch

from gph_core.analysis.profiles import RunSpread, profile_of, signal_to_floor, spreads

from ...support.made_runs import circle, helix


def test_a_profile_is_that_of_the_states_whatever_they_are_cut_into():
    whole = profile_of([circle(13, 15)], 2)
    cut = profile_of(circle(13, 15).split(1, dim=1), 2)
    for found in (whole, cut):
        assert found.num_coordinates == 2
        assert found.chord_length == pytest.approx(2)
        assert found.displacement == pytest.approx([math.sin(math.radians(7.5))] * 12)
        sines = [math.sin(math.radians(15 * n)) / 2 for n in range(13)]
        assert found.off_chord == pytest.approx(sines, abs=1e-12)
        assert found.norm == pytest.approx([1 / math.sqrt(2)] * 13)
        assert found.turning == pytest.approx([30] * 9)
        assert len(found.floor) == 9
        assert all(0 <= angle < 1e-4 for angle in found.floor)
        assert found.plane.explained == pytest.approx((1, 0))


def test_a_profile_is_plain_data():
    line = torch.linspace(0, 1, 5)[:, None] * torch.ones(3)
    data = profile_of([line], 1).to_dict()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["explained"] == [None, None]
    assert data["displacement"] == pytest.approx([0.25] * 4)
    assert data["chord_length"] == pytest.approx(math.sqrt(3))
    assert data["curve"] == [[0, 0]] * 5


def test_the_spread_over_runs_by_hand():
    # At index 0: 2, 4, 4, 4, 5, 5, 7, 9, whose mean is 5 and population standard deviation 2.
    rows = [[value, 0.0, value - 5] for value in (2, 4, 4, 4, 5, 5, 7, 9)]
    found = RunSpread.of(rows)
    assert found.mean == (5, 0, 0)
    assert found.deviation == (2, 0, 2)
    assert found.cv[0] == 40
    assert all(map(math.isnan, found.cv[1:]))
    assert found.median == (4.5, 0, -0.5)
    assert (found.low[0], found.high[0]) == (4, 5.5)
    assert found.to_dict()["cv"] == [40, None, None]
    assert RunSpread.of([1.0, 3.0]).mean == (2,)


def test_what_is_undefined_in_one_run_is_undefined_over_all():
    found = RunSpread.of([[1.0, math.nan], [2.0, 3.0]])
    assert found.to_dict()["mean"] == [1.5, None]
    assert found.to_dict()["high"] == [1.75, None]


def test_runs_are_summed_up_step_by_step():
    # The second run is the first one twice as large, so only lengths differ.
    found = spreads([profile_of([size * helix()], 2) for size in (1, 2)])
    assert found["chord_length"].mean == (pytest.approx(6),)
    assert found["chord_length"].cv == (pytest.approx(100 / 3),)
    assert found["norm"].cv[1:] == pytest.approx([100 / 3] * 8)
    assert np.nanmax(found["displacement"].cv) == pytest.approx(0, abs=1e-9)
    assert np.isnan(found["off_chord"].cv[0])
    assert found["pc1_pc2"].median == (pytest.approx(1),)
    assert found["pc1"].median < found["pc1_pc2"].median


def test_the_signal_is_given_in_floors():
    found = {
        "turning": RunSpread.of([[3.0, 4.0], [3.0, 8.0]]),
        "floor": RunSpread.of([[2.0, 0], [4, 0]]),
    }
    assert signal_to_floor(found) == (1, math.inf)


@pytest.mark.parametrize(
    ("states", "message"),
    [
        (helix()[:7], "runs of 6 and 8 steps cannot be compared"),
        (helix(num_coordinates=5), "runs of 5 and 6 latent coordinates cannot be compared"),
    ],
)
def test_runs_of_several_kinds_are_not_compared(states, message):
    profiles = [profile_of([helix()], 1), profile_of([states], 1)]
    with pytest.raises(ValueError, match=message):
        spreads(profiles)
