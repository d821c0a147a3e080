"""The table on Compare Run: a real run of the demo model."""

import itertools

import pytest

from .page import load, run, view

NODE = 5
SEEDS = itertools.count(2**33)  # the server would not run an equal prompt again


def node(id, type, widgets=(), inputs=(), outputs=()):
    """Links are named by where they come from: the node, and its slot."""
    return {
        "id": id, "type": type, "pos": [360 * (id - 1), 0], "size": [340, 300], "flags": {},
        "order": id, "mode": 0, "properties": {}, "widgets_values": list(widgets),
        "inputs": [
            {"name": n, "type": t, "link": 10 * source + slot} for n, t, source, slot in inputs
        ],
        "outputs": [
            {"name": t, "type": t, "links": [10 * id + n], "slot_index": n}
            for n, t in enumerate(outputs)
        ],
    }  # fmt: skip


@pytest.fixture
def workflow(page):
    """The demo model, a prompt, and a comparison at 12 steps, under an id of its own."""
    wired = [
        ("model", "MODEL", 1, 0), ("positive", "CONDITIONING", 2, 0),
        ("negative", "CONDITIONING", 3, 0), ("latent_image", "LATENT", 4, 0), ("vae", "VAE", 1, 1),
    ]  # fmt: skip
    settings = [
        next(SEEDS), "fixed", 12, 5, "euler", "simple", 1, "Custom", "0,3,8,11/12", "off",
    ]  # fmt: skip
    workflow = {
        "id": page.evaluate("crypto.randomUUID()"), "revision": 0, "last_node_id": NODE,
        "last_link_id": 100, "groups": [], "config": {}, "extra": {}, "version": 0.4,
        "nodes": [
            node(1, "GPH_DemoModel", outputs=("MODEL", "VAE", "CLIP")),
            node(2, "GPH_DemoPrompt", ["a red circle"], outputs=("CONDITIONING",)),
            node(3, "GPH_DemoPrompt", [""], outputs=("CONDITIONING",)),
            node(4, "EmptyLatentImage", [64, 64, 1], outputs=("LATENT",)),
            node(NODE, "GPH_CompareRun", settings, wired),
        ],
        "links": [
            [10 * source + slot, source, slot, NODE, n, kind]
            for n, (_, kind, source, slot) in enumerate(wired)
        ],
    }  # fmt: skip
    load(page, workflow)
    return workflow


def panel(page):
    return view(page, NODE, "quality_table")


@pytest.mark.one_page("newest")
def test_a_run_fills_the_table(page, workflow):
    assert panel(page).inner_text().startswith("After a run: what the cached run saves")
    assert run(page) == "execution_success"
    page.locator(".gph-quality table").wait_for()
    head, *rows = panel(page).evaluate(
        "e => [...e.querySelectorAll('tr')].map(row => [...row.cells].map(c => c.innerText.trim()))"
    )
    assert [title.split("\n")[0] for title in head] == [
        "run", "full steps", "time", "speed", "PSNR", "SSIM",
    ]  # fmt: skip
    assert [row[:2] for row in rows] == [
        ["full", "12 of 12"], ["cached (Custom)", "4 of 12"], ["uniform spacing", "4 of 12"],
        ["4 plain steps", "4 of 4"],
    ]  # fmt: skip
    assert rows[0][3:] == ["1.00×", "–", "–"]
    assert all(float(row[4]) > 10 and 0 < float(row[5]) <= 1 for row in rows[1:])
    text = panel(page).inner_text()
    assert "Cached: your schedule: 0,3,8,11/12, policy residual reuse" in text
    closest = max(rows[1:], key=lambda row: float(row[4]))[0]
    assert f"Closest to the full run (PSNR): {closest}" in text
    assert panel(page).query_selector(".gph-quality-main").inner_text().startswith(closest)
