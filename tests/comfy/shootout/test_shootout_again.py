"""What a shootout takes from an earlier one of its name, in short."""

import pytest
from golden_path_pack.gph_core.quality import metrics
from golden_path_pack.nodes.schema import prompts

from ...support.comfy.demo_examples import examples
from ...support.comfy.shootouts import calibrate, report_of

pytestmark = pytest.mark.usefixtures("in_a_run")
ONE = examples()[:1]


def metrics_of(name, thresholds, study):
    given = calibrate({name: thresholds})
    return report_of([name], examples=ONE, name=study, **given)[0][name]["metrics"]


def test_another_threshold_is_another_candidate():
    loose = metrics_of("SeaCache", 0.5, "one")
    strict = metrics_of("SeaCache", 0.1, "one")
    assert strict == metrics_of("SeaCache", 0.1, "other")
    assert strict != loose


def test_a_metric_that_can_be_measured_by_now_is_measured(monkeypatch):
    def missing():
        raise ImportError("SSIM needs scikit-image")

    with monkeypatch.context() as patch:
        patch.setattr(metrics, "_structural_similarity", missing)
        before = report_of(["uniform"], examples=ONE)[0]["uniform"]["metrics"]
    now = report_of(["uniform"], examples=ONE)[0]["uniform"]["metrics"]
    assert now.keys() - before.keys() == {"ssim"}


def test_until_all_have_run_an_example_counts_for_none(monkeypatch):
    report_of(["uniform"])
    events = []
    monkeypatch.setattr(prompts, "tell", lambda kind, event: events.append(event))
    report_of(["uniform", "TaylorSeer"])
    counts = [{row["runs"] for row in event["rows"]} for event in events]
    assert counts == [{1}, {2}]
