"""How *Schedule Search* writes what it found."""

import pytest
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.quality.objective import OBJECTIVES, standardized
from golden_path_pack.gph_core.reports import search_report
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.gph_core.search.proposals import Score
from golden_path_pack.gph_core.search.protocol import Delivery, Validated

FOUND, UNIFORM = Schedule.parse("0-1,3/6"), Schedule.parse("0-1,4/6")
PROBED = [[{"psnr": 20.0, "lpips": 0.2}], [{"psnr": 30.0, "lpips": 0.1}]]


def delivery(objective, best: tuple[float, ...], baseline: tuple[float, ...]) -> Delivery:
    return Delivery(
        Validated(FOUND, Reuse(), Score(best), ""),
        [Validated(UNIFORM, Reuse(), Score(baseline), "uniform")],
        objective,
        {},
        "the search is complete",
    )


@pytest.mark.parametrize(
    ("name", "best", "baseline", "values", "ahead"),
    [
        # Two paired gains a, b: mean (a + b) / 2, half the interval t(0.975, 1) |a - b| / 2
        # = 12.706 |a - b| / 2.
        ("PSNR", (31.0, 33.0), (30.0, 31.0), ("32.00 dB", "30.50 dB"), "+1.5 (-4.85 to +7.85)"),
        ("SSIM", (0.97, 0.99), (0.95, 0.97), ("0.9800", "0.9600"), "+0.02 (+0.02 to +0.02)"),
        ("LPIPS", (-0.05, -0.03), (-0.07, -0.05), ("0.0400", "0.0600"), "+0.02 (+0.02 to +0.02)"),
        ("latent MSE", (-1e-5, -3e-5), (-4e-5, -6e-5), ("2e-05", "5e-05"),
         "+3e-05 (+3e-05 to +3e-05)"),
    ],
)  # fmt: skip
def test_values_have_the_sign_and_the_digits_of_their_metric(name, best, baseline, values, ahead):
    found = delivery(OBJECTIVES[name], best, baseline)
    _, _, first, second, _ = search_report.table(found, is_validated=True).splitlines()
    assert first.strip().startswith(f"{values[0]}  ")
    assert second.strip().startswith(f"{values[1]}  ")
    assert ahead in second


def test_the_joint_objective_is_in_standard_deviations():
    text = search_report.table(delivery(standardized(PROBED), (1.5,), (0.5,)), is_validated=True)
    assert "+1.50 σ" in text


def test_a_library_entry_has_a_distance_without_the_sign_of_the_search():
    found = delivery(OBJECTIVES["LPIPS"], (-0.05, -0.03), (-0.07, -0.05))
    known = {"model": "a model", "family": "FLUX", "architecture": {}}
    path = search_report.path_of(found, "mine", known, [1.0] * 6 + [0.0], {}, is_validated=True)
    assert path.quality == {
        "LPIPS, mean of 2 validation examples": pytest.approx(0.04),
        "the same, uniform": pytest.approx(0.06),
    }
