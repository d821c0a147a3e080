"""What Quality Compare shows: real runs on images of one colour, and reports that tests send."""

import json

import pytest

from .editor import workflow as nodes
from .page import back_to, example, load, run, there_and_back, two_frames, undone_and_redone, view
from .search import empty, opened

NODE = 3
REPORT = {
    "images": 3,
    "width": 64,
    "height": 48,
    "lpips_network": "AlexNet",
    "verdicts": ["hardly visible", "identical", "visible"],
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
    """Reports as a run sends them, with pictures that are not there; the details are opened."""
    kinds = ("reference", "test", "difference")
    files = [{kind: f"lost_{n}_{kind}.png" for kind in kinds} for n in range(80)]
    pictures = {"pictures": {"subfolder": "elsewhere", "files": files}}
    reports = [report | pictures for report in reports]
    page.evaluate(
        "([id, reports]) => app.rootGraph.getNodeById(id).onExecuted({ gph_quality: reports })",
        [NODE, reports],
    )
    page.evaluate("document.querySelectorAll('.gph-details').forEach(d => { d.open = true; })")


def panel(page):
    return view(page, NODE, "quality_table")


def table(page):
    """The cells of each row, the head's first."""
    return panel(page).evaluate(
        "e => [...e.querySelectorAll('tr')].map(row => [...row.cells].map(c => c.innerText.trim()))"
    )


@pytest.mark.one_page("newest")
def test_a_node_that_has_not_run_says_what_it_will_show(page, workflow):
    assert panel(page).inner_text().startswith("After a run:")


def shown(page):
    """What the panel shows of the pictures."""
    return panel(page).evaluate("""e => {
      const [stage, verdict, number] = ["stage", "verdict", "number"]
        .map(name => e.querySelector(`.gph-${name}`));
      const images = [...stage.querySelectorAll("img")];
      return {
        verdict: verdict.innerText, number: number.innerText,
        line: stage.getAttribute("aria-valuetext"),
        isHeatMap: stage.classList.contains("gph-heat"),
        isZoomed: stage.classList.contains("gph-zoomed"),
        sizes: images.map(image => [image.naturalWidth, image.naturalHeight]),
        at: images.slice(0, 2).map(image => image.getBoundingClientRect().left),
      };
    }""")


def loaded_pictures(page, kind="reference"):
    page.wait_for_function(
        "kind => document.querySelector(`img.gph-${kind}`)?.naturalWidth", arg=kind
    )


@pytest.mark.one_page("pinned")
def test_a_run_shows_its_pictures_under_a_verdict(page, workflow):
    page.evaluate("""() => [1, 2].forEach(id => {
      app.rootGraph.getNodeById(id).widgets.slice(0, 2).forEach(w => { w.value = 1024; });
    })""")
    assert run(page) == "execution_success"
    loaded_pictures(page)
    loaded_pictures(page, "test")
    found = shown(page)
    # A fifth everywhere: -20 log10(0.2) dB; flat: SSIM is c / (0.04 + c) with c = 0.0001.
    assert found["verdict"].startswith("A different picture: 14.0 dB, SSIM 0.002.")
    # The heat map is not fetched before it is wanted.
    assert found["sizes"] == [[1024, 1024], [1024, 1024], [0, 0]]
    assert (found["number"], found["line"]) == ("1 / 2", "50 % reference")
    text = panel(page).inner_text()
    assert "PSNR 13.98 dB" in text
    assert "Mean of 2: PSNR 13.98 dB" in text
    assert "LPIPS" not in text

    stage = panel(page).query_selector(".gph-stage")
    box = stage.bounding_box()
    page.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 40)
    assert shown(page)["line"] == "25 % reference"
    size = "app.rootGraph.getNodeById(3).size[1]"
    before = page.evaluate(size)
    panel(page).query_selector("button:text('Difference')").click()
    loaded_pictures(page, "difference")
    assert shown(page)["isHeatMap"]
    panel(page).query_selector("button:text('Difference')").click()
    panel(page).query_selector("button:text('1:1')").click()
    zoomed = shown(page)
    assert (zoomed["isHeatMap"], zoomed["isZoomed"]) == (False, True)
    width = stage.query_selector("img").bounding_box()["width"]
    assert width == pytest.approx(1024, abs=1)
    where = page.evaluate("JSON.stringify(app.rootGraph.getNodeById(3).pos)")
    page.mouse.move(box["x"] + 100, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 60, box["y"] + 100)
    page.mouse.up()
    assert shown(page)["at"] == pytest.approx([left - 40 for left in zoomed["at"]], abs=1)
    assert page.evaluate("JSON.stringify(app.rootGraph.getNodeById(3).pos)") == where
    assert page.evaluate(size) == before


def test_keys_move_the_line_and_choose_image_heat_map_and_zoom(page, workflow):
    send(page, REPORT)
    stage = panel(page).query_selector(".gph-stage")
    stage.focus()
    for key, expected in (
        ("ArrowLeft", {"line": "48 % reference"}),
        ("ArrowRight", {"line": "50 % reference"}),
        ("End", {"line": "100 % reference"}),
        ("Home", {"line": "0 % reference"}),
        ("d", {"isHeatMap": True}),
        ("d", {"isHeatMap": False}),
        ("PageDown", {"number": "2 / 3", "verdict": "Identical: no pixel differs"}),
        ("PageUp", {"number": "1 / 3"}),
        ("PageUp", {"number": "3 / 3"}),
    ):
        page.keyboard.press(key)
        found = shown(page)
        assert {name: found[name] for name in expected} == expected, key
    assert stage.get_attribute("role") == "slider"
    assert "Arrow keys" in stage.get_attribute("aria-label")
    assert page.evaluate("app.rootGraph.nodes.length") == 3
    panel(page).query_selector("button:text('Worst')").click()
    assert shown(page)["number"] == "3 / 3"  # 30 dB
    page.wait_for_function("!document.querySelector('.gph-lost').hidden")
    assert "Run the workflow again" in panel(page).inner_text()


@pytest.mark.one_page("pinned")
def test_images_of_unequal_sizes_are_both_named(page, workflow):
    page.evaluate("app.rootGraph.getNodeById(2).widgets[0].value = 128")
    message = run(page)
    assert "2 images of 64 x 64 pixels" in message
    assert "2 images of 128 x 64 pixels" in message


@pytest.mark.one_page("pinned")
def test_every_figure_and_reason_of_a_report_is_shown(page, workflow):
    send(page, REPORT)
    head, *rows = table(page)
    assert [title.split("\n")[0] for title in head] == [
        "image", "PSNR", "LPIPS (AlexNet)", "LPIPS Δt (AlexNet)",
    ]  # fmt: skip
    assert rows == [
        ["mean", "30.50", "0.0500", "-0.0100"],
        ["1", "31.00", "0.1000", "–"],
        ["2", "identical", "0.0000", "+0.0100"],
        ["3", "30.00", "0.0500", "-0.0300"],
    ]
    assert "PSNR: 1 of 3 identical, the mean is of the others" in panel(page).inner_text()


@pytest.mark.one_page("newest")
def test_foreign_text_stays_text(page, workflow):
    send(page, REPORT)
    assert "SSIM not available: <img id=foreign src=x>" in panel(page).inner_text()
    assert page.locator("#foreign").count() == 0


@pytest.mark.one_page("newest")
def test_a_node_that_ran_for_a_list_of_images_shows_each_of_its_runs(page, workflow):
    send(page, REPORT, REPORT | {"width": 32})
    text = panel(page).inner_text()
    assert "Images: 3, 64 × 48 pixels" in text
    assert "Images: 3, 32 × 48 pixels" in text
    assert len(table(page)) == 2 * 5
    assert shown(page)["number"] == "1 / 6"


def test_a_result_of_another_workflow_is_not_shown(page, workflow):
    send(page, REPORT | {"workflow_id": "another"})
    assert panel(page).inner_text().startswith("After a run:")
    send(page, REPORT | {"workflow_id": workflow["id"]})
    assert len(table(page)) == 5


def long(count):
    """A report of many images."""
    figures = {"mean": 30, "identical": 0, "values": [30] * count}
    return REPORT | {
        "images": count, "verdicts": ["visible"] * count, "metrics": {"psnr": figures},
    }  # fmt: skip


def test_the_notes_of_six_images_are_not_cut_and_a_long_table_scrolls(page, workflow):
    send(page, long(6))
    details = "document.querySelector('.gph-details')"
    assert page.evaluate(f"{details}.scrollHeight <= {details}.clientHeight")
    send(page, long(80))
    scale = "() => app.canvas.ds.scale"
    before = page.evaluate(scale)
    summary = panel(page).query_selector(".gph-details summary")
    summary.focus()  # as a click on it, which opens the details
    summary.hover()
    page.mouse.wheel(0, 400)
    page.wait_for_function(f"{details}.scrollTop > 100")
    assert page.evaluate(scale) == before
    tops = page.evaluate(
        f"[{details}, {details}.querySelector('thead th')].map(x => x.getBoundingClientRect().top)"
    )
    assert tops[1] - tops[0] == pytest.approx(0, abs=4)


def test_the_table_comes_back_with_its_tab(page, workflow):
    assert run(page) == "execution_success"
    page.locator(".gph-verdict").wait_for()
    load(page, example("1_Try_Golden_Path_Cache") | {"id": page.evaluate("crypto.randomUUID()")})
    back_to(page, workflow)
    assert len(table(page)) == 4


def test_undo_and_redo_keep_the_table(page, workflow):
    assert run(page) == "execution_success"
    page.locator(".gph-verdict").wait_for()
    for _ in undone_and_redone(page, NODE, "heat_map_max", 0.5):
        assert len(table(page)) == 4


def test_the_table_goes_with_a_change_of_renderer(page, workflow, renderer):
    send(page, REPORT)
    for place in there_and_back(page, renderer):
        page.locator(f"{place} .gph-verdict").wait_for()
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


SHOOTOUT = {
    "steps": 50, "full_steps": 13, "examples": 8, "of_examples": 8, "metric": "psnr",
    "lpips_network": "AlexNet", "absent": {}, "unavailable": {},
    "rows": [
        {
            "name": name, "steps": 50, "cached": {"mean": 36.4, "spread": 1.2}, "seconds": 12.34,
            "full": 13.6, "comparable": name == "full", "speedup": 2.5, "notes": [], "runs": 8,
            "policy": "residual reuse", "origin": "threshold 0.2",
            "schedules": [{"schedule": "0,9,19,29,39,49/50", "share": 0.75}],
            "ahead": {"psnr": {"mean": -1.234, "low": -2.456, "high": -0.012}}, "metrics": {
                "psnr": {"mean": 31.25, "low": 30.15}, "ssim": {"mean": 0.9712, "low": 0.9612},
                "lpips": {"mean": 0.05, "low": 0.04}, "latent_mse": {"mean": 0.001, "low": 0.0009},
            },
        }
        for name in ("full", "First Block Cache")
    ],
}  # fmt: skip


def test_a_shootout_has_room_for_all_figures_of_a_method_in_one_line(page):
    load(page, nodes())
    node = page.evaluate("""report => {
      const node = LiteGraph.createNode("GPH_MethodShootout");
      app.rootGraph.add(node);
      node.onExecuted({ gph_shootout: [report] });
      return node.id;
    }""", SHOOTOUT)  # fmt: skip
    table = view(page, node, "quality_table").query_selector(".gph-quality")
    assert table.evaluate("t => t.scrollWidth <= t.clientWidth")
    heights = "t => [...t.querySelectorAll('tbody td')].map(cell => cell.offsetHeight)"
    assert len(set(table.evaluate(heights))) == 1
    assert "31.25 ± 1.10" in table.inner_text()
    assert "-1.23 ± 1.22" in table.inner_text()


def tell(page, event, detail):
    """An event of the server."""
    page.evaluate(
        "([type, detail]) => app.api.dispatchEvent(new CustomEvent(type, { detail }))",
        [event, detail],
    )


@pytest.fixture
def running(page):
    """A Method Shootout, and what it tells after three of eight examples."""
    workflow = opened(page, "GPH_MethodShootout")
    report = SHOOTOUT | {"examples": 3, "node_id": "1", "workflow_id": workflow["id"]}
    return workflow, report


def test_a_shootout_is_shown_while_it_runs_and_again_in_its_tab(page, running):
    workflow, report = running
    tell(page, "golden_path.shootout", report | {"workflow_id": "another"})
    assert view(page, 1, "quality_table").inner_text().startswith("After the first example:")
    tell(page, "golden_path.shootout", report)
    table = view(page, 1, "quality_table")
    assert "examples so far: 3 of 8" in table.inner_text()
    strips = table.query_selector_all(".gph-strip")
    assert [len(strip.query_selector_all(".gph-full")) for strip in strips] == [6, 6]
    assert strips[0].get_attribute("title") == "0,9,19,29,39,49/50; residual reuse; threshold 0.2"
    load(page, empty(page))
    back_to(page, workflow)
    assert "examples so far: 3 of 8" in view(page, 1, "quality_table").inner_text()


def test_of_a_shootout_that_ended_in_another_tab_nothing_older_is_shown(page, running):
    workflow, report = running
    tell(page, "golden_path.shootout", report)
    load(page, empty(page))
    tell(page, "executed", {"node": "1", "output": {"gph_shootout": [report | {"examples": 8}]}})
    back_to(page, workflow)
    assert "examples so far" not in view(page, 1, "quality_table").inner_text()
