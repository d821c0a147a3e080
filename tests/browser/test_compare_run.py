"""The table on Compare Run, of web/quality, in a real run of the demo model."""

import pytest

from .page import added, connect, executed, load, named, run, two_frames, workflow_of
from .quality import panel, table
from .report import SEEDS


@pytest.fixture
def node(page):
    """The id of a comparison of two images at 12 steps, wired to the demo model and a prompt."""
    load(page, named(page, workflow_of()))
    settings = {"seed": next(SEEDS), "steps": 12, "cfg": 5, "sampler_name": "euler"}
    settings |= {"scheduler": "simple", "speed": "Custom", "schedule": "0,3,8,11/12"}
    compare = added(page, "GPH_CompareRun", (900, 0), **settings)
    model = added(page, "GPH_DemoModel")
    positive = added(page, "GPH_DemoPrompt", (0, 200), text="a red circle")
    negative = added(page, "GPH_DemoPrompt", (0, 400), text="")
    latent = added(page, "EmptyLatentImage", (0, 600), width=64, height=64, batch_size=2)
    wires = (
        (model, 0, "model"), (positive, 0, "positive"), (negative, 0, "negative"),
        (latent, 0, "latent_image"), (model, 1, "vae"),
    )  # fmt: skip
    for source, slot, name in wires:
        connect(page, source, slot, compare, name)
    return compare


def test_a_run_fills_the_table(page, node):
    assert panel(page, node).inner_text().startswith("After a run: what the cached run saves")
    assert run(page) == "execution_success"
    page.locator(".gph-quality table").wait_for()
    head, *rows = table(page, node)
    assert [title.split("\n")[0] for title in head] == [
        "run", "full steps", "time", "speed", "PSNR", "worst tenth", "hardly visible", "SSIM",
    ]  # fmt: skip
    assert [row[:2] for row in rows] == [
        ["full", "12 of 12"], ["cached (Custom)", "4 of 12"], ["uniform spacing", "4 of 12"],
        ["4 plain steps", "4 of 4"],
    ]  # fmt: skip
    assert rows[0][3:] == ["1.00×", "–", "–", "–", "–"]
    assert all(10 < float(row[5]) <= float(row[4]) for row in rows[1:])
    assert all(row[6] in ("0\u00a0%", "50\u00a0%", "100\u00a0%") for row in rows[1:])
    assert all(0 < float(row[7]) <= 1 for row in rows[1:])
    shown = panel(page, node).query_selector(".gph-quality")
    assert shown.evaluate("e => e.scrollWidth <= e.clientWidth")
    text = panel(page, node).inner_text()
    assert "Cached: your schedule: 0,3,8,11/12, policy residual reuse" in text
    closest = max(rows[1:], key=lambda row: float(row[4]))[0]
    assert f"Closest to the full run (PSNR): {closest}" in text
    assert panel(page, node).query_selector(".gph-quality-main").inner_text().startswith(closest)


TALLY = {"worst_tenth": 23.4, "hardly_visible": 0.25}
IMAGES = {"psnr": {"mean": 30.12, **TALLY}, "ssim": {"mean": 0.9123}, "lpips": {"mean": 0.0512}}
FRAMES = IMAGES | {
    "psnr": {"mean": 30.12}, "frame_psnr": {"mean": 33.2}, "frame_change": {"mean": 0.001},
}  # fmt: skip


@pytest.mark.both_pages
@pytest.mark.parametrize(
    ("metrics", "clips", "columns"),
    [(IMAGES, {}, 9), (FRAMES, {"psnr": {"mean": 29.5, **TALLY}}, 12)],
    ids=["images", "videos"],
)
def test_the_size_that_the_node_is_added_with_shows_the_whole_table(page, metrics, clips, columns):
    load(page, workflow_of())
    compare = added(page, "GPH_CompareRun")
    runs = [
        {
            "name": name, "steps": 50, "full_steps": 13, "seconds": 123.45, "speedup": 3.21,
            "schedule": "0-2,5,9,13,18,23,28,33,38,43,49/50", "notes": [],
            "metrics": {} if name == "full" else metrics, "clips": {} if name == "full" else clips,
        }
        for name in ("full", "cached", "uniform", "fewer")
    ]  # fmt: skip
    report = {
        "images": 4, "width": 1024, "height": 1024, "speed": "Balanced", "closest": "cached",
        "origin": "published path for FLUX.1-dev, 50 steps", "policy": "residual reuse",
        "lpips_network": "AlexNet", "unavailable": {}, "absent": {}, "runs": runs,
    }  # fmt: skip
    executed(page, compare, {"gph_compare": [report]})
    two_frames(page)
    head, *_ = table(page, compare)
    assert len(head) == columns
    shown = panel(page, compare).query_selector(".gph-quality")
    assert shown.evaluate(
        "e => [e.scrollWidth - e.clientWidth, e.scrollHeight - e.clientHeight]"
    ) == [0, 0]
