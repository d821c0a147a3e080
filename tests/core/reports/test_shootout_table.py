"""Table and figure of Method Shootout."""

from gph_core.reports.shootout.figure import figure
from gph_core.reports.shootout.table import table


def test_the_table_has_columns_as_wide_as_they_need_and_names_everybody_once():
    long = 10 * "1234567 "
    means = {"mean": 1e9, "low": 1.0, "high": 3e9, "identical": 0, "values": []}
    row = {
        "name": "full", "origin": "every step", "policy": None, "steps": 10, "runs": 1,
        "cached": {"mean": 0, "spread": 0}, "full": 10, "comparable": True, "seconds": 1.0,
        "speedup": 1.0, "schedules": [{"schedule": "0-9/10", "share": 1.0}], "metrics": {},
        "different_schedules": 1, "ahead": {}, "notes": [],
    }  # fmt: skip
    other = row | {"name": long, "origin": f"{long}, threshold 1", "metrics": {"latent_mse": means}}
    report = {
        "steps": 10, "full_steps": 4, "examples": 1, "metric": "latent_mse", "rows": [row, other],
        "absent": {"L2P": "L2P needs A", "DiCache": "needs B", "SeaCache": "needs B"},
        "unavailable": {},
    }  # fmt: skip
    lines = table(report).splitlines()
    assert len({len(line) for line in (lines[1], lines[3])}) == 1
    assert "  1e+09 ± 1e+09" in lines[3]
    assert f"{long}: 0-9/10; threshold 1" in lines
    assert lines[-2:] == ["left out: L2P needs A", "left out: DiCache, SeaCache: needs B"]
    assert figure(report).shape[0] == 1
