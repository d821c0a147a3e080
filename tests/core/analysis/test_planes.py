"""Planes of runs and the angles between them: known shapes, and SciPy's subspace angles."""

import math

import numpy as np
import pytest
import scipy.linalg
import scipy.stats
import torch

from gph_core.analysis.planes import (
    angles_between,
    bases,
    plane_of,
    principal_angles,
    random_plane_angles,
)
from gph_core.analysis.trajectory import compact

from ...support.made_runs import helix, orthonormal


def test_the_plane_of_a_helix_is_that_in_which_it_turns():
    plane = plane_of(helix())
    # Nine states, the first one again at the end. Along axis 1 they are 1 - cos = 0, .29, 1, 1.71,
    # 2, 1.71, 1, .29, 0 with sum 8, sum of squares 12: variance 12 - 64/9; along axis 2 the sines,
    # halved, with sum 0 and sum of squares 1.
    first = 12 - 64 / 9
    assert plane.explained == pytest.approx((first / (first + 1), 1 / (first + 1)))
    expected = torch.stack([helix()[:, 1], helix()[:, 2].neg()], dim=1) / 4
    sign = torch.sign(plane.curve[2, 1] * expected[2, 1])
    torch.testing.assert_close(plane.curve * torch.stack([torch.ones(()), sign]), expected)
    assert (plane.curve.max(0).values >= -plane.curve.min(0).values - 1e-12).all()


def test_the_weighted_states_span_the_plane():
    plane = plane_of(helix())
    basis = (plane.weights @ helix()).abs()
    torch.testing.assert_close(basis, torch.eye(6).double()[1:3])
    turned = helix() @ orthonormal(6, 200)
    basis = plane_of(compact(turned.split(64, dim=1))).weights @ turned
    torch.testing.assert_close(basis @ basis.T, torch.eye(2).double())
    angles = principal_angles(basis, orthonormal(6, 200)[1:3])
    torch.testing.assert_close(angles, torch.zeros(2).double(), atol=1e-6, rtol=0)


def test_a_run_that_bends_in_one_direction_has_no_plane():
    arc = torch.stack([torch.linspace(0, 1, 7), torch.linspace(-1, 1, 7).square()], dim=1)
    plane = plane_of(torch.nn.functional.pad(arc, (0, 3)))
    assert plane.explained == (pytest.approx(1), 0)
    assert plane.weights is None
    assert not plane.curve[:, 1].any()


def test_a_straight_run_bends_nowhere():
    plane = plane_of(compact([torch.linspace(1, 5, 6)[:, None] * torch.ones(4)]))
    assert plane.weights is None
    assert all(map(math.isnan, plane.explained))
    assert not plane.curve.any()


@pytest.mark.parametrize("degrees", [0, 1e-9, 30, 89.999_999_9, 90])
def test_planes_of_runs_have_the_angle_by_which_one_is_tilted(degrees):
    # The tilted plane still holds axis 1, so the first angle is 0 and the second one the tilt.
    runs = [helix().split(2, dim=1), helix(degrees).split(2, dim=1)]
    one, other = bases(runs, [plane_of(compact(parts)) for parts in runs])
    expected = torch.tensor([0, degrees], dtype=torch.float64)
    torch.testing.assert_close(principal_angles(one, other), expected, atol=1e-13, rtol=1e-6)


def test_angles_are_those_of_scipy():
    planes = torch.stack([orthonormal(2, 12, seed=n) for n in range(4)])
    found = angles_between(planes)
    assert list(found) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    for (one, other), angle in found.items():
        expected = scipy.linalg.subspace_angles(planes[one].T.numpy(), planes[other].T.numpy())
        assert angle == pytest.approx(math.degrees(expected.min()))
        angles = principal_angles(planes[one], planes[other])
        assert angles.tolist() == pytest.approx(np.degrees(expected)[::-1])


def test_random_planes_are_as_far_apart_as_drawn_ones():
    random = np.random.default_rng(1)
    drawn = np.degrees([
        scipy.linalg.subspace_angles(*random.standard_normal((2, 9, 2)))[::-1] for _ in range(4000)
    ])  # fmt: skip
    found = random_plane_angles(9, 4000).numpy()
    for column in (0, 1):
        # Two samples of 4000 of one distribution are further apart in one of a thousand cases.
        test = scipy.stats.ks_2samp(found[:, column], drawn[:, column])
        assert test.pvalue > 0.001


@pytest.mark.parametrize("num_coordinates", [4, 50, 262_144])
def test_the_mean_square_cosines_of_random_planes_are_four_over_the_dimension(num_coordinates):
    # Each of the four products of unit vectors has the mean square 1 / d.
    squares = torch.deg2rad(random_plane_angles(num_coordinates, 20_000)).cos().square().sum(1)
    error = float(squares.std()) / math.sqrt(20_000)
    assert float(squares.mean()) == pytest.approx(4 / num_coordinates, abs=4 * error)


def test_random_planes_are_the_same_for_a_seed():
    assert torch.equal(random_plane_angles(10, 5, seed=3), random_plane_angles(10, 5, seed=3))
    assert not torch.equal(random_plane_angles(10, 5, seed=3), random_plane_angles(10, 5, seed=4))
    with pytest.raises(ValueError, match="the latent has 3 coordinates"):
        random_plane_angles(3)
