"""``polynomial``, ``sensitivities`` and ``residual_ratios``, on examples worked by hand."""

import math

import numpy as np
import pytest
import torch

from gph_core.calibration import polynomial, residual_ratios, sensitivities
from gph_core.calibration.residual_ratios import Ratios
from gph_core.calibration.samples import Observed
from gph_core.calibration.sensitivities import Sensitivity, Slopes, sample_of, sensitivity
from gph_core.gates.base import GateInput

LAST = torch.zeros(1)


def observed(branch, *, step=0, signal=None, output=None, residual=None):
    gate_input = GateInput(step, 1.0, modulated=signal)
    return Observed(branch, gate_input, output, residual, None, None)


# The polynomial


def test_changes_are_taken_between_steps_of_one_branch():
    changes = polynomial.Changes(3)
    signal = torch.empty(1, 2)
    for value, output in ((1.0, 10.0), (2.0, 15.0), (3.0, 15.0)):
        signal.fill_(value)  # in place, as blocks do
        changes.branch(observed(0, signal=signal, output=torch.full((1, 3), output)))
        other = torch.full((1, 2), 4 * value**2)
        changes.branch(observed(1, signal=other, output=torch.full((1, 3), 2 * output)))
    changes.branch(observed(2, signal=signal, output=signal))  # not there at each step
    sample = changes.tensors(LAST)
    x = torch.tensor([[1.0, 0.5], [3.0, 1.25]], dtype=torch.float64)
    y = torch.tensor([[0.5, 0.0], [0.5, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(sample["x"], x)
    torch.testing.assert_close(sample["y"], y)


def test_a_signal_of_time_takes_the_place_of_the_observed_one():
    changes = polynomial.Changes(2, torch.tensor([[1.0], [4.0]]))
    for step in range(2):
        changes.branch(observed(0, step=step, output=torch.ones(1, 3)))
    assert changes.tensors(LAST)["x"].tolist() == [[3.0]]


def test_a_run_without_a_whole_branch_cannot_be_fitted_to():
    changes = polynomial.Changes(3)
    with pytest.raises(ValueError, match="the input of the first block could not be observed"):
        changes.tensors(LAST)


def test_an_example_that_broke_down_is_refused_at_the_step():
    changes = polynomial.Changes(2)
    changes.branch(observed(0, signal=torch.ones(1, 2), output=torch.ones(1, 2)))
    broken = observed(0, signal=torch.ones(1, 2), output=torch.tensor([[1.0, math.nan]]))
    with pytest.raises(ValueError, match="at step 1 are not finite; leave this example out"):
        changes.branch(broken)


# c4 ... c0 with a maximum and a minimum in the range of x.
COEFFICIENTS = (8.0, -12.0, 5.0, -0.5, 0.25)


def horner(x):
    result = 0.0
    for coefficient in COEFFICIENTS:
        result = result * x + coefficient
    return result


def sample_at(x, shift=0.0):
    x = torch.tensor(x, dtype=torch.float64)
    return {"x": x, "y": horner(x) + shift}


def spread_samples(count, generator):
    draw = torch.rand(count, 2, 9, generator=generator, dtype=torch.float64)
    return [sample_at(x.tolist()) for x in draw]


def test_a_polynomial_is_found_exactly_highest_power_first():
    samples = spread_samples(10, torch.Generator().manual_seed(0))
    values, report = polynomial.fit(samples)
    torch.testing.assert_close(
        values["coefficients"], torch.tensor(COEFFICIENTS, dtype=torch.float64)
    )
    fitted = torch.stack([sample["x"] for sample in samples[:8]])
    assert values["x_range"] == [fitted.min().item(), fitted.max().item()]
    assert report["r2"] == pytest.approx(1)
    assert report["rmse"] == pytest.approx(0, abs=1e-12)
    assert report["num_points"] == 8 * 2 * 9


@pytest.mark.parametrize(
    ("count", "held_out"), [(50, 10), (49, 9), (10, 2), (9, 1), (5, 1), (2, 1)]
)
def test_a_fifth_of_the_examples_is_held_out_at_least_one(count, held_out):
    samples = spread_samples(count, torch.Generator().manual_seed(0))
    report = polynomial.fit(samples).report
    assert (report["num_fit"], report["num_held_out"]) == (count - held_out, held_out)


def test_errors_are_those_of_the_held_out_examples_alone():
    samples = spread_samples(4, torch.Generator().manual_seed(1))
    # Off the polynomial by 1, 1, -2 and 0: absolute mean 1, root of the mean square sqrt(6 / 4).
    x = torch.tensor([[0.1, 0.2, 0.3, 0.4]], dtype=torch.float64)
    y = horner(x) + torch.tensor([[1.0, 1.0, -2.0, 0.0]])
    report = polynomial.fit([*samples, {"x": x, "y": y}]).report
    assert report["mae"] == pytest.approx(1)
    assert report["rmse"] == pytest.approx(math.sqrt(1.5))
    assert report["r2"] == pytest.approx(1 - 6 / ((y - y.mean()) ** 2).sum().item())


def test_held_out_changes_that_are_all_the_same_have_no_r2():
    samples = spread_samples(4, torch.Generator().manual_seed(1))
    flat = {"x": samples[0]["x"], "y": torch.ones_like(samples[0]["y"])}
    assert polynomial.fit([*samples, flat]).report["r2"] is None


def test_of_a_signal_of_time_alone_the_outputs_are_averaged_per_step():
    # Six steps: the fitted examples lie 0.1 above and 0.1 below the polynomial, the held-out one
    # 0.2 above it in one branch and on it in the other, 0.1 on average.
    x = [[0.0, 0.2, 0.4, 0.6, 0.8, 1.0]] * 2
    samples = [sample_at(x, 0.1), sample_at(x, -0.1)]
    samples.append(sample_at(x, torch.tensor([[0.2], [0.0]])))
    values, report = polynomial.fit(samples, time_only=True)
    torch.testing.assert_close(
        values["coefficients"], torch.tensor(COEFFICIENTS, dtype=torch.float64)
    )
    assert report["num_points"] == 6
    assert report["mae"] == pytest.approx(0.1)


def test_a_signal_that_differs_between_examples_is_not_one_of_time_alone():
    samples = spread_samples(5, torch.Generator().manual_seed(0))
    with pytest.raises(ValueError, match="differ between examples or branches"):
        polynomial.fit(samples, time_only=True)


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([], "at least 2 examples, one to check it, got 0"),
        ([sample_at([[0.1, 0.2, 0.3, 0.4, 0.5]])], "at least 2 examples, one to check it, got 1"),
        ([sample_at([[0.1, 0.2, 0.3, 0.4]])] * 9, "at least 5 different changes .* got 4"),
        (
            [sample_at([np.linspace(0.5, 0.5 + 1e-9, 20).tolist()])] * 2,
            r"too close together for a polynomial of degree 4 \(from 0.5 to 0.5\)",
        ),
    ],
)
def test_too_few_or_too_narrow_points_are_refused(samples, message):
    with pytest.raises(ValueError, match=message):
        polynomial.fit(samples)


# The sensitivities


def test_slopes_are_ratios_of_distances():
    # The velocity 3 z + 5 t: the latent moves by (1, 1, 1, 1), a distance of 2, the velocity by 6;
    # 0.1 of time moves it by 0.5 in each of 4 places, a distance of 1, which is 10 per unit of
    # time and 5 per sqrt(4).
    def velocity(z, t):
        return 3 * z + 5 * t

    z, moved = torch.zeros(1, 4), torch.ones(1, 4)
    found = sensitivity(
        velocity(z, 0.5), velocity(moved, 0.5), velocity(z, 0.4), (z, moved), (0.5, 0.4)
    )
    assert found == pytest.approx((0.5, 3.0, 5.0))


def test_a_displacement_that_is_none_gives_no_slope():
    z, moved = torch.zeros(4), torch.ones(4)
    assert sensitivity(z, moved, moved, (z, z), (0.5, 0.4)).jx == 0
    assert sensitivity(z, moved, moved, (z, moved), (0.5, 0.5 - 1e-9)).jt == 0


def test_norms_of_half_precision_are_taken_in_float32():
    # A distance of 300 * 128 does not fit into float16.
    z, moved = torch.zeros(128, 128, dtype=torch.float16), torch.ones(128, 128, dtype=torch.float16)
    found = sensitivity(z, 300 * moved, z, (z, moved), (0.5, 0.4))
    assert found.jx == pytest.approx(300)


def test_tensors_of_several_shapes_are_refused():
    z = torch.zeros(4)
    with pytest.raises(ValueError, match=r"tensors of one shape, got \[\(4,\), \(5,\)\]"):
        sensitivity(z, z, torch.zeros(5), (z, z), (0.5, 0.4))


def test_the_slopes_of_the_last_step_are_those_of_the_pair_before_it():
    # The velocity z²: from 1 to 2 it moves by 3, from 2 to 4 by 12, either way.
    sample = Slopes(3)
    for value, sigma in ((1.0, 1.0), (2.0, 0.8), (4.0, 0.6)):
        z = torch.tensor([[value]])
        sample.branch(
            Observed(0, GateInput(0, sigma, z), z**2, None, None, lambda moved, _: moved**2)
        )
    assert sample.tensors(LAST)["jx"].tolist() == [3.0, 6.0, 6.0]


def slopes(jx, jt, sigma=0.5):
    return sample_of([Sensitivity(sigma, jx, jt), Sensitivity(sigma / 2, 2 * jx, 2 * jt)])


def test_tables_are_quantiles_over_the_examples():
    # Of 0, 10, ..., 100 the 0.9 quantile is 90; of 11 examples it is an example, in any order.
    samples = [slopes(float(v), v / 10) for v in (50, 10, 30, 100, 0, 70, 20, 60, 90, 40, 80)]
    values, report = sensitivities.table(samples)
    assert values["jx"].tolist() == pytest.approx([90, 180])
    assert values["jt"].tolist() == pytest.approx([9, 18])
    assert values["sigmas"].tolist() == [0.5, 0.25]
    assert report == {"num_examples": 11, "quantile": 0.9, "num_zero": 4}
    # Between two examples it is linear: 0.9 of the way from 1 to 2.
    assert sensitivities.table([slopes(1.0, 1.0), slopes(2.0, 2.0)]).values["jx"][0] == 1.9


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([], "at least 1 example, got none"),
        ([slopes(1.0, 1.0), slopes(1.0, math.nan)], "of example 2 are not finite"),
        ([slopes(1.0, 1.0, sigma=500.0)], "between 0 and 1, got 250 to 500"),
    ],
)
def test_tables_of_what_is_no_slope_are_refused(samples, message):
    with pytest.raises(ValueError, match=message):
        sensitivities.table(samples)


# The ratios


def ratios_of(*residuals):
    ratios = Ratios(len(residuals))
    for residual in residuals:
        ratios.branch(observed(0, residual=torch.tensor([residual])))
        ratios.branch(observed(1, residual=torch.tensor([residual]) ** 2))  # is not the leader
    return ratios.tensors(LAST)["0"].tolist()


def test_ratios_are_means_over_tokens():
    # Norms 5 and 1; 10 and 1: ratios 2 and 1; 1 and 0.5: ratios 0.1 and 0.5.
    steps = [[3.0, 4.0], [0.0, 1.0]], [[6.0, 8.0], [0.0, 1.0]], [[0.0, 1.0], [0.3, 0.4]]
    assert ratios_of(*steps) == pytest.approx([1, 1.5, 0.3])


def test_tokens_without_a_residual_before_do_not_count():
    assert ratios_of([[0.0], [2.0]], [[5.0], [1.0]]) == [1, 0.5]


@pytest.mark.parametrize("values", [(0.0, 1.0), (1.0, math.nan), (1.0, math.inf)])
def test_residuals_without_a_ratio_are_refused(values):
    with pytest.raises(ValueError, match="the residual at step 1 or before is not finite, or zero"):
        ratios_of(*([[value] * 3] * 2 for value in values))


def test_tables_of_ratios_are_means_over_examples():
    samples = [{"0": torch.tensor([1.0, 0.8])}, {"0": torch.tensor([1.0, 1.0])}]
    values, report = residual_ratios.table(samples)
    assert values["0"].tolist() == pytest.approx([1, 0.9])
    assert report["num_examples"] == 2
    assert report["largest_deviation"] == pytest.approx(0.1)
    with pytest.raises(ValueError, match="at least 1 example, got none"):
        residual_ratios.table([])
