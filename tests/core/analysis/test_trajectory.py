"""Trajectories of known shape: lines, circles, arcs, by geometry."""

import math
import weakref

import pytest
import torch

from gph_core.analysis.trajectory import (
    chord_fractions,
    chord_length,
    compact,
    displacements,
    off_chord_distances,
    off_chord_vectors,
    rounding_floor,
    state_norms,
    turning_angles,
)

from ...support.made_runs import circle, rotated

LINE = torch.tensor([[1.0, 2, 2], [2, 4, 4], [3, 6, 6], [6, 12, 12]])  # from (1, 2, 2), length 15


def equal(found, expected):
    torch.testing.assert_close(found, torch.as_tensor(expected, dtype=torch.float64))


def test_on_a_line_only_displacements_differ():
    assert chord_length(LINE) == pytest.approx(15)
    equal(displacements(LINE), [0.2, 0.2, 0.6])
    equal(chord_fractions(LINE), [0, 0.2, 0.4, 1])
    torch.testing.assert_close(off_chord_distances(LINE), torch.zeros(4).double())
    torch.testing.assert_close(turning_angles(LINE, 1), torch.zeros(2).double())
    # Norms 3, 6, 9 and 18 of three coordinates.
    equal(state_norms(LINE), [value / math.sqrt(3) for value in (3, 6, 9, 18)])


def test_on_a_half_circle_the_distance_from_the_chord_is_the_sine():
    states = circle(7, 30)
    assert chord_length(states) == pytest.approx(2)
    equal(off_chord_distances(states), [math.sin(math.radians(30 * n)) / 2 for n in range(7)])
    equal(displacements(states), [math.sin(math.radians(15))] * 6)
    equal(off_chord_vectors(states)[3], [0, 1])
    equal(state_norms(states), [1 / math.sqrt(2)] * 7)


@pytest.mark.parametrize("window", [1, 5, 10])
def test_a_turning_angle_on_a_circle_is_window_times_the_arc(window):
    # Both chords are chords of equal arcs.
    equal(turning_angles(circle(51, 3), window), [3.0 * window] * (51 - 2 * window))


@pytest.mark.parametrize("degrees", [1e-6, 90, 179.999_999])
def test_a_turning_angle_keeps_its_digits_at_both_ends(degrees):
    angle = math.radians(degrees)
    states = torch.tensor([[-1, 0], [0, 0], [math.cos(angle), math.sin(angle)]]).double()
    assert float(turning_angles(states.double(), 1)) == pytest.approx(degrees, rel=1e-6, abs=0)


def test_ends_are_on_the_chord_exactly():
    states = torch.randn(9, 4, 3, 3, generator=torch.Generator().manual_seed(0))
    vectors = off_chord_vectors(states)
    assert not vectors[0].any()
    assert not vectors[-1].any()
    chord = (states[-1].double() - states[0].double()).flatten()
    torch.testing.assert_close(vectors @ chord, torch.zeros(9).double())


def test_a_state_that_stays_has_no_turning_angle():
    angles = turning_angles(torch.tensor([[0.0, 0], [1, 0], [1, 0], [1, 1]]), 1)
    assert angles.isnan().all()


@pytest.mark.parametrize("size", [1, 7, 300])
def test_compact_points_have_the_distances_of_the_states(size):
    states = rotated(circle(9, 20), 300) + torch.linspace(0, 1, 300)
    points = compact(states.split(size, dim=1))
    assert points.shape == (9, 9)
    torch.testing.assert_close(torch.cdist(points, points), torch.cdist(states, states))
    torch.testing.assert_close(points.norm(dim=1), states.norm(dim=1))
    equal(turning_angles(points, 2), [40.0] * 5)
    torch.testing.assert_close(state_norms(points, 300), state_norms(states))


def test_compact_keeps_small_angles_that_products_would_lose():
    # 1e-9 degrees change a cosine by 1.5e-22: steps of length 1, each turned by so much.
    angle = torch.arange(5, dtype=torch.float64) * math.radians(1e-9)
    states = rotated(torch.stack([angle.cos(), angle.sin()], dim=1).cumsum(0), 50)
    found = turning_angles(compact([states]), 1)
    torch.testing.assert_close(found, torch.full((3,), 1e-9).double(), rtol=1e-3, atol=0)


def test_compact_holds_one_part_beside_that_being_made():
    alive = []

    def parts():
        for _ in range(5):
            assert sum(part() is not None for part in alive) <= 1
            part = torch.randn(4, 10)
            alive.append(weakref.ref(part))
            yield part
            del part

    compact(parts())


def test_the_rounding_floor_is_the_angle_at_a_rounded_middle():
    # The middle of (0, 0) and (2, 2 + 2^-7) is (1, 1 + 2^-8), half way between two numbers of
    # BF16, of which the even one is 1: the angle between (1, 1) and (1, 1 + 2^-7).
    states = torch.tensor([[0.0, 0], [9, 9], [2, 2 + 2**-7]])
    expected = math.degrees(math.atan(1 + 2**-7)) - 45
    equal(rounding_floor([states], 1, torch.bfloat16), [expected])
    parts = [states[:, :1], states[:, 1:]]
    equal(rounding_floor(parts, 1, torch.bfloat16), [expected])
    equal(rounding_floor([states], 1, torch.float32), [0])


@pytest.mark.parametrize(
    ("states", "message"),
    [
        (torch.zeros(1, 3), "at least 2 states, this run has 1"),
        (torch.tensor([[1.0, 2], [0, 0], [1, 2]]), "ends where it began"),
        (torch.tensor([[1.0, 2], [math.nan, 0], [1, 3]]), "state 1 of 3 has values that are not"),
    ],
)
def test_a_run_without_a_chord_is_an_error(states, message):
    for quantity in (chord_length, displacements, off_chord_distances):
        with pytest.raises(ValueError, match=message):
            quantity(states)


def test_states_that_are_not_finite_are_named_where_they_are_read():
    parts = [torch.zeros(4, 2), torch.tensor([0, 0, 0, math.inf])[:, None]]
    with pytest.raises(ValueError, match="state 3 of 4 has values that are not finite"):
        compact(parts)
    with pytest.raises(ValueError, match="there are no states"):
        compact([])


@pytest.mark.parametrize(("window", "needed"), [(5, 11), (2, 5), (0, 3)])
def test_a_window_that_does_not_fit_is_an_error(window, needed):
    message = f"a window of {window} steps .* at least {needed} states, the run has 4"
    with pytest.raises(ValueError, match=message):
        turning_angles(LINE, window)
    with pytest.raises(ValueError, match=message):
        rounding_floor([LINE], window)
