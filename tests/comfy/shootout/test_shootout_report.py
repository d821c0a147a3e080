"""What Method Shootout tells: times, the page during it, figure and table."""

import itertools
import json
from types import SimpleNamespace

import pytest
from golden_path_pack.nodes.schema import prompts
from golden_path_pack.nodes.shootout import candidate_runs

from ...support.comfy.shootouts import report_of, shootout

pytestmark = pytest.mark.usefixtures("in_a_run")


def test_times_begin_with_the_first_step(monkeypatch):
    # Of each run: before the model is loaded, when the sampler begins, at its end.
    clock = itertools.chain([0, 5, 15], [15, 20, 24], [24, 24, 36], [40, 41, 43])
    monkeypatch.setattr(candidate_runs, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    found, _ = report_of(["uniform"], vae=None)
    assert [found[name]["seconds"] for name in ("full", "uniform")] == [11, 3]  # of 10, 12; 4, 2
    assert found["uniform"]["speedup"] == pytest.approx(4.25)  # of 10 / 4 and 12 / 2


@pytest.fixture
def events(monkeypatch):
    """Events that the page gets."""
    sent = []
    server = SimpleNamespace(
        client_id="page",
        send_progress_text=lambda *_: None,
        send_sync=lambda event, data, client: sent.append((event, data, client)),
    )
    monkeypatch.setattr(prompts, "PromptServer", SimpleNamespace(instance=server))
    return sent


def test_after_each_example_the_page_gets_the_figures_so_far(events):
    output = shootout(["uniform"], vae=None)
    assert [(kind, client) for kind, _, client in events] == 2 * [("golden_path.shootout", "page")]
    reports = [report for _, report, _ in events]
    assert [(r["examples"], r["of_examples"]) for r in reports] == [(1, 2), (2, 2)]
    assert [r["node_id"] for r in reports] == 2 * ["7"]
    means = [r["rows"][1]["metrics"]["latent_mse"]["mean"] for r in reports]
    values = json.loads(output.result[2])["rows"][1]["metrics"]["latent_mse"]["values"]
    assert means == pytest.approx([values[0], sum(values) / 2])
    assert output.ui["gph_shootout"] == reports[-1:]


def test_figure_and_page_have_what_the_json_has():
    output = shootout(["uniform", "plain steps"])
    figure, table, text = output.result
    assert figure.shape[0] == 1
    assert figure.shape[3] == 3
    (shown,) = output.ui["gph_shootout"]
    report = json.loads(text)
    assert [entry["seed"] for entry in report.pop("prompts")] == [0, 1]
    assert report.pop("conditions")["device"]
    for row in report["rows"]:
        for means in row["metrics"].values():
            assert len(means.pop("values")) == 2
    assert shown == report | {"of_examples": 2, "node_id": "7", "workflow_id": None}
    head, titles, *_ = table.splitlines()
    assert head == (
        "10 steps, about 4 of them full, on 2 examples; means with 95 % intervals; best PSNR dB "
        "first"
    )
    assert titles.split() == [
        "cached", "steps", "seconds", "speed-up", "PSNR", "dB", "worst", "tenth", "hardly",
        "visible", "SSIM", "latent", "MSE", "ahead", "of", "uniform",
    ]  # fmt: skip
    assert "no LPIPS: off" in table
