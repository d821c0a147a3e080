"""The table on Compare Run, of web/quality, in a real run of the demo model."""

import pytest

from .page import added, connect, load, named, run, workflow_of
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
