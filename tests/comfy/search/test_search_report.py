"""How *Schedule Search* writes what it found."""

import pytest
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.policies.fitted import Fitted
from golden_path_pack.gph_core.quality.objective import (
    CAPPED,
    FOR_SEARCHES,
    HARDLY,
    OBJECTIVES,
    standardized,
)
from golden_path_pack.gph_core.quality.verdict import Tally
from golden_path_pack.gph_core.reports import search_report
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.gph_core.search.proposals import Score
from golden_path_pack.gph_core.search.protocol import Delivery
from golden_path_pack.gph_core.search.selection import PlainSteps, Validated
from matplotlib.figure import Figure

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
    _, _, _, first, second, _ = search_report.table(found, is_validated=True).splitlines()
    assert first.strip().startswith(f"{values[0]}  ")
    assert second.strip().startswith(f"{values[1]}  ")
    assert second.strip() == f"{values[1]}  {ahead}  0-1,4/6, residual reuse (uniform)"


def test_the_joint_objective_is_in_standard_deviations():
    text = search_report.table(delivery(standardized(PROBED), (1.5,), (0.5,)), is_validated=True)
    assert "+1.50 σ" in text


def seen(name):
    """Found by an objective of PSNR: 31 and 60 dB, the baseline 29.5 and 31."""
    objective = FOR_SEARCHES[name]
    best, baseline = (
        tuple(objective.value({"psnr": psnr}) for psnr in pair)
        for pair in ((31.0, 60.0), (29.5, 31.0))
    )
    found = delivery(objective, best, baseline)
    (uniform,) = found.others
    return found._replace(
        best=found.best._replace(psnr=Tally(45.5, 31.0, 0.5)),
        others=[uniform._replace(psnr=Tally(30.25, 29.5, 0.0))],
    )


def test_the_table_has_what_a_mean_hides_in_columns_of_their_own():
    lines = search_report.table(seen(CAPPED), is_validated=True).splitlines()
    # Capped 31 and 40.2 against 29.5 and 31: gains 1.5 and 9.2, half the interval 12.706 * 7.7 / 2.
    assert lines[3:6] == [
        "                                    PSNR dB  worst tenth  hardly visible",
        "  35.60 dB                          45.50          31.00            50 %  0-1,3/6, "
        "residual reuse (searched)",
        "  30.25 dB  +5.35 (-43.6 to +54.3)  30.25          29.50             0 %  0-1,4/6, "
        "residual reuse (uniform)",
    ]
    assert lines[6].startswith("worst tenth: a tenth of the examples have this PSNR or less")
    assert lines[7].startswith("0 schedules scored")


@pytest.mark.parametrize(
    ("objective", "values"), [(CAPPED, ["35.60 dB", "30.25 dB"]), (HARDLY, ["50.0 %", "0.0 %"])]
)
def test_a_path_keeps_plain_psnr_whatever_counted_of_it(objective, values):
    found = seen(objective)
    lines = search_report.table(found, is_validated=True).splitlines()
    assert [line.strip().split("  ")[0] for line in lines[4:6]] == values
    known = {"model": "a model", "family": "FLUX", "architecture": {}}
    path = search_report.path_of(found, "mine", known, [1.0] * 6 + [0.0], {}, is_validated=True)
    assert path.quality == {
        "PSNR, mean of 2 validation examples": 45.5,
        "PSNR, worst tenth of 2 validation examples": 31.0,
        "hardly visible, % of 2 validation examples": 50.0,
        "the same, uniform": 30.25,
    }


def test_a_library_entry_has_a_distance_without_the_sign_of_the_search():
    found = delivery(OBJECTIVES["LPIPS"], (-0.05, -0.03), (-0.07, -0.05))
    known = {"model": "a model", "family": "FLUX", "architecture": {}}
    path = search_report.path_of(found, "mine", known, [1.0] * 6 + [0.0], {}, is_validated=True)
    assert path.quality == {
        "LPIPS, mean of 2 validation examples": pytest.approx(0.04),
        "the same, uniform": pytest.approx(0.06),
    }


def test_the_cost_is_told_as_a_number_of_plain_steps():
    stack, velocity, fitted = (
        search_report.cost(Validated(FOUND, policy, Score((30.0,)), ""))
        for policy in (Reuse(), Reuse(Site.GUIDED), Fitted())
    )
    assert stack == "3 of 6 steps full, about as long as 3 plain steps"
    assert velocity == "3 of 6 steps full, as long as 3 plain steps"
    assert fitted == ("3 of 6 steps full: 3 evaluations of the model, as long as 3 plain steps")


def test_plain_steps_are_explained_and_it_is_said_when_they_come_closer():
    def table(plain):
        found = delivery(OBJECTIVES["PSNR"], (30.0, 31.0), (20.0, 21.0))
        other = Validated(UNIFORM, PlainSteps(), Score((plain, plain)), "3 plain steps")
        return search_report.table(found._replace(others=[other]), is_validated=True)

    assert "3 plain steps: the same sampler on 3 of the noise levels" in table(29.0)
    assert "closer" not in table(29.0)
    assert "Here they come closer to the full run than the path" in table(31.0)


def test_a_path_names_the_policy_of_a_control_that_has_another():
    found = delivery(OBJECTIVES["PSNR"], (30.0, 31.0), (20.0, 21.0))
    others = [
        Validated(UNIFORM, Reuse(Site.GUIDED), Score((20.0, 21.0)), "uniform spacing"),
        Validated(UNIFORM, PlainSteps(), Score((25.0, 26.0)), "3 plain steps"),
    ]
    known = {"model": "a model", "family": "FLUX", "architecture": {}}
    levels = [1.0, 0.9, 0.7, 0.5, 0.4, 0.2, 0.0]
    path = search_report.path_of(found._replace(others=others), "mine", known, levels, {}, True)
    assert path.quality == {
        "PSNR, mean of 2 validation examples": 30.5,
        "the same, uniform spacing, velocity reuse": 20.5,
        "the same, 3 plain steps": 25.5,
    }


def test_the_strips_of_the_figure_are_numbered_by_whole_steps():
    axes = Figure().subplots()
    found = delivery(OBJECTIVES["PSNR"], (31.0, 33.0), (30.0, 31.0))
    search_report._strips(axes, [found.best, *found.others], found.objective)
    # Each number in the middle of its cell; matplotlib's own would be 0, 1, 2, ... at the edges.
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0", "1", "2", "3", "4", "5"]
    assert axes.get_xticks()[1] == pytest.approx(1.5, abs=0.1)
