"""``table``: the methods, and the page that describes them."""

import re
from pathlib import Path

import pytest
import torch

from gph_core.gates.accumulating import DeltaMinus, DiCache
from gph_core.gates.base import Gate
from gph_core.gates.coefficients import Polynomial, magnitudes, polynomials
from gph_core.methods.method import Setting
from gph_core.methods.rules import L2P_OWN
from gph_core.methods.table import (
    ALL,
    BASELINES,
    GREEDY,
    METHODS,
    VARIANTS,
)
from gph_core.policies.extrapolation import Hermite
from gph_core.policies.two_anchor import TwoAnchor
from gph_core.schedule import Schedule

ROOT = Path(__file__).parents[3]


def table():
    """The rows of the page by method: heading to cell."""
    lines = (ROOT / "docs" / "methods.md").read_text("utf-8").splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("| Method | Rule"))
    head = [cell.strip() for cell in lines[first].strip("|").split("|")]
    rows = {}
    for line in lines[first + 2 :]:
        if not line.startswith("|"):
            break
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        rows[cells[0]] = dict(zip(head, cells, strict=True))
    return rows


def test_the_ten_methods_of_the_source_paper_are_there():
    assert list(METHODS)[:10] == [
        "SeaCache", "TeaCache", "SenCache", "DiCache", "TaylorSeer", "HiCache", "L2P", "DPCache",
        "BudCache", "MeanCache",
    ]  # fmt: skip


def test_the_page_has_a_whole_row_for_each_method():
    rows = table()
    assert list(rows) == list(METHODS)
    for name, row in rows.items():
        assert all(row.values()), name
        assert row["Source"] == METHODS[name].source


def test_every_test_that_the_page_names_exists():
    known = {path.stem for path in (ROOT / "tests").rglob("test_*.py")}
    named = {test for row in table().values() for test in re.findall(r"test_\w+", row["Tests"])}
    assert named <= known, named - known


@pytest.mark.parametrize("name", METHODS)
def test_a_method_either_decides_in_the_run_or_plans_before_it(name):
    assert (METHODS[name].select is None) != (METHODS[name].plan is None)


@pytest.mark.parametrize(
    ("family", "num_full", "num_steps", "first"),
    # A fifth of the steps and one more; a tenth at the highest of the GPH paper's ratios, on Wan
    # at the middle one too.
    [
        ("FLUX", 21, 50, 11), ("FLUX", 13, 50, 11), ("FLUX", 9, 50, 6), ("FLUX", 5, 28, 3),
        ("FLUX", 7, 28, 6), ("FLUX", None, 50, 11),
        ("Wan", 21, 50, 11), ("Wan", 13, 50, 6), ("Wan", 9, 50, 6),
    ],
)  # fmt: skip
def test_dicache_begins_with_more_full_steps_the_more_there_are(family, num_full, num_steps, first):
    forced = METHODS["DiCache"].forced(Setting(num_steps, num_full, family))
    assert forced.full_steps == (*range(first), num_steps - 1)


def test_a_policy_may_need_more_full_steps_than_the_rule():
    forced = METHODS["SeaCache"].forced(Setting(10), Hermite(2))
    assert forced == Schedule.parse("0-2,9/10")
    assert METHODS["SeaCache"].forced(Setting(10)) == Schedule.parse("0,9/10")


@pytest.mark.parametrize(
    ("family", "num_steps", "num_full", "limits"),
    [
        # The GPH paper's settings at 50 steps: in a row, window, its threshold.
        ("FLUX", 50, 21, (10, 10, 0.005)),
        ("FLUX", 50, 13, (39, 10, 0.005)),
        ("Wan", 50, 9, (43, 6, 0.005)),
        ("HunyuanVideo", 50, 21, (10, 10, 0.2)),
        ("HunyuanVideo", 50, 13, (10, 10, 0.2)),
        ("HunyuanVideo", 50, 9, (10, 10, 1.2)),
        ("HunyuanVideo", 50, None, (10, 10, 0.2)),
        # Half of them, and where 0 to 2, one more and the last are full, 11 and 12 of the other 23.
        ("HunyuanVideo", 25, 11, (5, 5, 0.2)),
        ("HunyuanVideo", 28, 5, (12, 6, 1.2)),
    ],
)
def test_sencache_takes_its_limits_by_family_and_cache_ratio(family, num_steps, num_full, limits):
    values = {name: torch.tensor([0.5]) for name in ("sigmas", "jx", "jt")}
    fit = METHODS["SenCache"].read(values)
    gate = METHODS["SenCache"].select(0.3, Setting(num_steps, num_full, family, fit=fit))
    assert (gate.max_cached, gate.start_steps, gate.start_threshold) == limits


@pytest.mark.parametrize(
    ("family", "first"), [("HunyuanVideo", 5), ("FLUX", 5), ("Wan", 10), ("Wan VACE", 10)]
)
def test_easycache_begins_with_as_many_full_steps_as_its_own_code(family, first):
    forced = ALL["EasyCache"].forced(Setting(50, family=family))
    assert forced.full_steps == (*range(first), 49)


@pytest.mark.parametrize(
    ("num_full", "limits"),
    # Published ones of Qwen-Image at a threshold of the user's; for a speed those that leave room.
    [(None, (2, 10)), (21, (5, 5)), (13, (45, 5)), (9, (45, 5))],
)
def test_magcache_takes_wider_limits_for_a_speed(num_full, limits):
    row = next(row for row in magnitudes() if row.model == "Qwen-Image")
    setting = Setting(50, num_full, row.family, row.architecture)
    schedule = ALL["MagCache"].select(1e9, setting)
    longest = max(len(run) for run in schedule.bits.split("0"))
    assert (longest, schedule.cached_steps[0]) == limits


@pytest.mark.parametrize("name", ["TeaCache", "SenCache", "MagCache"])
def test_a_method_that_was_not_calibrated_says_so(name):
    words = rf"{name} needs .* of this model \(SD3\); run Calibrate for it, .* input calibration"
    with pytest.raises(ValueError, match=words):
        ALL[name].select(0.1, Setting(20, family="SD3"))


def test_published_polynomials_serve_the_models_they_were_fitted_for():
    row = next(row for row in polynomials() if row.model == "FLUX.1-dev")
    setting = Setting(50, family="FLUX", architecture=row.architecture)
    gate = METHODS["TeaCache"].select(0.4, setting)
    assert isinstance(gate, Gate)
    # Worked by hand from the published coefficients at a change of 0.1.
    assert gate.polynomial(0.1) == pytest.approx(0.2068, abs=5e-5)


def test_a_signal_of_time_alone_gives_the_schedule_before_the_run():
    values = {
        "coefficients": torch.tensor([1.0, 0.0]), "x_range": [0.0, 1.0],
        "signal": "time projection",
    }  # fmt: skip
    fit = METHODS["TeaCache"].read(values)
    times = (0.0, *[0.1] * 11)
    found = METHODS["TeaCache"].select(0.25, Setting(12, fit=fit, time_changes=lambda: times))
    # Five first steps and the last; 0.1 and 0.2 are below the threshold, 0.3 is not.
    assert found == Schedule.parse("0-4,7,10-11/12")


def test_a_variant_is_named_by_its_row_and_its_form():
    assert list(VARIANTS) == [
        "TeaCache (as published)", "DiCache (as published for Wan)", "DiCache (delta minus)",
        L2P_OWN, GREEDY,
    ]  # fmt: skip
    assert all(variant.name in METHODS for variant in VARIANTS.values())
    assert not any(row.form for row in (METHODS | BASELINES).values())


def test_the_published_teacache_takes_the_polynomial_as_it_is():
    # 1 - 10 x, fitted up to 0.05: at 0.5 it is 0.5 with the guard and -4 without.
    fit, row = Polynomial((-10.0, 1.0), fitted=(0.02, 0.05)), ALL["TeaCache (as published)"]
    assert row.select(0.3, Setting(20, fit=fit)).exact
    assert not METHODS["TeaCache"].select(0.3, Setting(20, fit=fit)).exact
    wan = Setting(10, family="Wan", fit=fit, time_changes=lambda: (0.0, *[0.5] * 9))
    assert METHODS["TeaCache"].select(0.3, wan).bits == "0000000000"
    # Five first steps are full, the last one as the rule says.
    assert row.select(0.3, wan).bits == "0000011111"
    assert row.forced(wan).full_steps == (0, 1, 2, 3, 4)
    assert row.forced(Setting(10, fit=fit)).full_steps == (0, 9)


def test_dicache_has_the_forms_of_its_own_code():
    wan, minus = ALL["DiCache (as published for Wan)"], ALL["DiCache (delta minus)"]
    for num_full in (None, 21, 9):  # whatever the ratio
        setting = Setting(50, num_full, "Wan")
        assert wan.forced(setting).full_steps == tuple(range(10))
        assert minus.forced(setting).full_steps == (0, 1, 49)  # two-anchor needs the second
    assert (wan.policy, minus.policy) == (TwoAnchor(max_gamma=2.0), TwoAnchor())
    assert isinstance(wan.select(0.3, Setting(50)), DiCache)
    assert isinstance(minus.select(0.3, Setting(50)), DeltaMinus)
