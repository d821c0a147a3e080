"""The table on Quality Compare: real runs on images of one colour, and reports that tests send."""

import json

import pytest

from .page import back_to, example, load, run, there_and_back, two_frames, undone_and_redone, view

NODE = 3
REPORT = {
    "images": 3,
    "width": 64,
    "height": 48,
    "lpips_network": "AlexNet",
    "metrics": {
        "psnr": {"mean": 30.5, "identical": 1, "values": [31, "identical", 30]},
        "lpips": {"mean": 0.05, "identical": 0, "values": [0.1, 0, 0.05]},
        "frame_change": {"mean": -0.01, "identical": 0, "values": [0.01, -0.03]},
    },
    "unavailable": {"ssim": "<img id=foreign src=x>"},
    "heat_map": {"to": 0.25},
}


def picture(node, color, width=64):
    slot = {"name": "IMAGE", "type": "IMAGE", "links": [node], "slot_index": 0}
    return {
        "id": node, "type": "EmptyImage", "pos": [0, 260 * (node - 1)], "size": [270, 130],
        "flags": {}, "order": node, "mode": 0, "inputs": [], "outputs": [slot], "properties": {},
        "widgets_values": [width, 64, 2, color],
    }  # fmt: skip


@pytest.fixture
def workflow(page):
    """Black images as the reference, grey ones as the test, under an id of its own."""
    inputs = [
        {"name": name, "type": "IMAGE", "link": link}
        for link, name in enumerate(("reference", "test"), 1)
    ]
    compare = {
        "id": NODE, "type": "GPH_QualityCompare", "pos": [340, 0], "size": [420, 420], "flags": {},
        "order": 3, "mode": 0, "inputs": inputs, "properties": {},
        "outputs": [], "widgets_values": ["off", False, 0],
    }  # fmt: skip
    workflow = {
        "id": page.evaluate("crypto.randomUUID()"), "revision": 0, "last_node_id": 3,
        "last_link_id": 2, "nodes": [picture(1, 0), picture(2, 0x333333), compare],
        "links": [[1, 1, 0, NODE, 0, "IMAGE"], [2, 2, 0, NODE, 1, "IMAGE"]],
        "groups": [], "config": {}, "extra": {}, "version": 0.4,
    }  # fmt: skip
    load(page, workflow)
    return workflow


def send(page, *reports):
    page.evaluate(
        "([id, reports]) => app.rootGraph.getNodeById(id).onExecuted({ gph_quality: reports })",
        [NODE, reports],
    )


def panel(page):
    return view(page, NODE, "quality_table")


def table(page):
    """The cells of each row, the head's first."""
    return panel(page).evaluate(
        "e => [...e.querySelectorAll('tr')].map(row => [...row.cells].map(c => c.innerText.trim()))"
    )


def test_a_node_that_has_not_run_says_what_it_will_show(page, workflow):
    assert panel(page).inner_text().startswith("After a run:")


def test_a_run_fills_the_table(page, workflow):
    assert run(page) == "execution_success"
    page.locator(".gph-quality table").wait_for()
    head, *rows = table(page)
    assert [title.split("\n")[0] for title in head] == ["image", "PSNR", "PSNR 8-bit", "SSIM"]
    # A fifth everywhere: -20 log10(0.2) dB; flat: SSIM is c / (0.04 + c) with c = 0.0001.
    assert rows == [[label, "13.98", "13.98", "0.0025"] for label in ("mean", "0", "1")]
    text = panel(page).inner_text()
    assert "Images: 2, 64 × 64 pixels" in text
    assert "pale yellow 0.2" in text
    assert "LPIPS not available: off; choose a file of weights" in text


def test_images_of_unequal_sizes_are_both_named(page, workflow):
    page.evaluate("app.rootGraph.getNodeById(2).widgets[0].value = 128")
    message = run(page)
    assert "2 images of 64 x 64 pixels" in message
    assert "2 images of 128 x 64 pixels" in message


def test_every_figure_and_reason_of_a_report_is_shown(page, workflow):
    send(page, REPORT)
    head, *rows = table(page)
    assert [title.split("\n")[0] for title in head] == [
        "image", "PSNR", "LPIPS (AlexNet)", "Δt (AlexNet)",
    ]  # fmt: skip
    assert rows == [
        ["mean", "30.50", "0.0500", "-0.0100"],
        ["0", "31.00", "0.1000", "–"],
        ["1", "identical", "0.0000", "+0.0100"],
        ["2", "30.00", "0.0500", "-0.0300"],
    ]
    assert "PSNR: 1 of 3 identical, the mean is of the others" in panel(page).inner_text()


def test_foreign_text_stays_text(page, workflow):
    send(page, REPORT)
    assert "SSIM not available: <img id=foreign src=x>" in panel(page).inner_text()
    assert page.locator("#foreign").count() == 0


def test_a_node_that_ran_for_a_list_of_images_shows_each_of_its_runs(page, workflow):
    send(page, REPORT, REPORT | {"width": 32})
    text = panel(page).inner_text()
    assert "Images: 3, 64 × 48 pixels" in text
    assert "Images: 3, 32 × 48 pixels" in text
    assert len(table(page)) == 2 * 5


def test_a_result_of_another_workflow_is_not_shown(page, workflow):
    send(page, REPORT | {"workflow_id": "another"})
    assert panel(page).inner_text().startswith("After a run:")
    send(page, REPORT | {"workflow_id": workflow["id"]})
    assert len(table(page)) == 5


def test_a_long_table_scrolls_below_its_head(page, workflow):
    send(page, {**REPORT, "images": 80, "metrics": {
        "ssim": {"mean": 1, "identical": 0, "values": [1] * 80},
    }})  # fmt: skip
    scale = "() => app.canvas.ds.scale"
    before = page.evaluate(scale)
    panel(page).click()
    page.mouse.wheel(0, 400)
    page.wait_for_function("document.querySelector('.gph-quality').scrollTop > 100")
    assert page.evaluate(scale) == before
    tops = panel(page).evaluate(
        "e => [e, e.querySelector('thead th')].map(x => x.getBoundingClientRect().top)"
    )
    assert tops[1] - tops[0] == pytest.approx(0, abs=4)


def test_the_table_comes_back_with_its_tab(page, workflow):
    assert run(page) == "execution_success"
    page.locator(".gph-quality table").wait_for()
    load(page, example("Try_Golden_Path_Cache") | {"id": page.evaluate("crypto.randomUUID()")})
    back_to(page, workflow)
    assert len(table(page)) == 4


def test_undo_and_redo_keep_the_table(page, workflow):
    assert run(page) == "execution_success"
    page.locator(".gph-quality table").wait_for()
    for _ in undone_and_redone(page, NODE, "heat_map_max", 0.5):
        assert len(table(page)) == 4


def test_the_table_goes_with_a_change_of_renderer(page, workflow, renderer):
    send(page, REPORT)
    for place in there_and_back(page, renderer):
        page.locator(f"{place} .gph-quality table").wait_for()
        assert len(table(page)) == 5


def test_a_result_changes_neither_the_workflow_nor_its_undo_steps(page, workflow):
    state = """() => {
      const { changeTracker } = app.extensionManager.workflow.activeWorkflow;
      changeTracker.captureCanvasState();
      return [changeTracker.undoQueue.length, JSON.stringify(app.rootGraph.serialize().nodes)];
    }"""
    before = page.evaluate(state)
    send(page, REPORT)
    two_frames(page)
    assert page.evaluate(state) == before
    assert "quality_table" not in json.dumps(page.evaluate("app.graphToPrompt()"))
