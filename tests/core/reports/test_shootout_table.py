"""``reports/shootout``: table and figure."""

from gph_core.reports.shootout.figure import figure, label_of, shown_metrics
from gph_core.reports.shootout.table import table


def test_the_table_has_columns_as_wide_as_they_need_and_names_everybody_once():
    long = r"$x^{ 100 $ " + 8 * "1234567 "  # for matplotlib a broken formula
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


def test_psnr_of_several_examples_is_shown_with_what_its_mean_hides():
    means = {"mean": 33.0, "low": None, "high": None, "identical": 0, "values": []}
    psnr = means | {"worst_tenth": 21.5, "hardly_visible": 0.625}
    full = {
        "name": "full", "origin": "every step", "policy": None, "steps": 10, "runs": 8,
        "cached": {"mean": 0, "spread": 0}, "full": 10, "comparable": True, "seconds": 1.0,
        "speedup": 1.0, "schedules": [{"schedule": "0-9/10", "share": 1.0}], "metrics": {},
        "different_schedules": 1, "ahead": {}, "notes": [],
    }  # fmt: skip
    row = full | {"name": "uniform", "metrics": {"psnr": psnr, "ssim": means}}
    _, titles, *rows, _, legend = table({
        "steps": 10, "full_steps": 4, "examples": 8, "metric": "psnr", "rows": [full, row],
        "absent": {}, "unavailable": {},
    }).split("\n\n")[0].splitlines()  # fmt: skip
    assert titles.endswith("  PSNR dB  worst tenth  hardly visible     SSIM")
    assert rows[1].endswith("    33.00        21.50            63 %  33.0000")
    assert legend.startswith("worst tenth: a tenth of the examples have this PSNR or less")


def test_beside_the_strips_stand_the_first_metric_and_the_change_from_frame_to_frame():
    means = {"mean": 30.0, "low": 29.0, "high": 31.0}, {"mean": 41.5, "low": None, "high": None}
    of_image = {"psnr": means[0], "latent_mse": means[1]}
    full = {"name": "full", "comparable": True, "metrics": {}}
    row = full | {"name": "uniform", "metrics": of_image}
    shown = shown_metrics({"metric": "psnr", "rows": [full, row]})
    assert label_of(row, shown) == "uniform\n30.00 ± 1.00"
    row = row | {"metrics": of_image | {"frame_psnr": means[1]}}
    shown = shown_metrics({"metric": "psnr", "rows": [full, row]})
    assert label_of(row, shown) == "uniform\n30.00 ± 1.00 · 41.50"
    assert label_of(full, shown) == "full"
    tally = {"worst_tenth": 21.5, "hardly_visible": 0.625}
    row = row | {"metrics": {"psnr": means[0] | tally}}
    assert label_of(row, ["psnr"]) == "uniform\n30.00 ± 1.00 · 63 % hardly visible"
    assert label_of(row, []) == "uniform"
    assert shown_metrics({"metric": None, "rows": [full]}) == []
