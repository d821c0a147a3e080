"""Nothing is missing where the page and the reports show metrics."""

import re
from pathlib import Path

from gph_core.quality import metrics
from gph_core.quality.metric_table import BY_TITLE, METRICS
from gph_core.quality.objective import FOR_SEARCHES, JOINT
from gph_core.quality.semantic import scores

WEB = Path(__file__).parents[2] / "web"


def test_every_metric_that_is_written_has_a_row():
    written = {
        name
        for module in (metrics, scores)
        for name, value in vars(module).items()
        if getattr(value, "__module__", "") == module.__name__ and not name.startswith("_")
    }
    functions = {f for row in METRICS.values() for f in (row.compute, row.saved) if f}
    assert {function.__name__ for function in functions} == written
    assert all(row.compute.__name__ == key for key, row in METRICS.items())


def test_the_page_names_every_metric():
    for file in ("en_quality.js", "zh_quality.js"):
        page = (WEB / "locales" / file).read_text("utf-8")
        assert [key for key in METRICS if f'"quality.{key}"' not in page] == []


def test_the_page_knows_the_unit_of_every_objective():
    page = (WEB / "search" / "search_view.js").read_text("utf-8")
    assert set(re.findall(r'title: "(.+?)"', page)) == {*FOR_SEARCHES, JOINT} - BY_TITLE.keys()


def test_values_are_written_with_their_unit():
    assert METRICS["psnr"].text(30.126) == "30.13 dB"
    assert METRICS["lpips"].text(0.12346) == "0.1235"
    assert METRICS["clip_change"].text(0.126) == "+0.13"
    assert METRICS["latent_mse"].text(0.00012345) == "0.000123"
