"""Quality Compare, of web/quality: runs on images of one colour, and reports that tests send."""

import pytest

from .page import (
    added,
    back_to,
    executed,
    load,
    named,
    opened,
    run,
    tell,
    undone_and_redone,
    workflow_of,
)
from .quality import NODE, REPORT, SHOOTOUT, panel, send, table


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
    links = [[1, 1, 0, NODE, 0, "IMAGE"], [2, 2, 0, NODE, 1, "IMAGE"]]
    nodes = picture(1, 0), picture(2, 0x333333), compare
    workflow = named(page, workflow_of(*nodes, links=links))
    load(page, workflow)
    return workflow


def shown(page):
    """What the panel shows of the pictures."""
    return panel(page).evaluate("""e => {
      const [stage, verdict, number] = ["stage", "verdict", "number"]
        .map(name => e.querySelector(`.gph-${name}`));
      const images = [...stage.querySelectorAll("img")];
      return {
        verdict: verdict.innerText, number: number.innerText,
        line: stage.getAttribute("aria-valuetext"),
        isHeatMap: stage.dataset.mode === "difference",
        isZoomed: stage.classList.contains("gph-zoomed"),
        sizes: images.map(image => [image.naturalWidth, image.naturalHeight]),
        at: images.slice(0, 2).map(image => image.getBoundingClientRect().left),
      };
    }""")


def loaded_pictures(page, kind="reference"):
    page.wait_for_function(
        "kind => document.querySelector(`img.gph-${kind}`)?.naturalWidth", arg=kind
    )


def test_a_run_shows_its_pictures_under_a_verdict(page, workflow):
    page.evaluate("""() => [1, 2].forEach(id => {
      app.rootGraph.getNodeById(id).widgets.slice(0, 2).forEach(w => { w.value = 512; });
    })""")
    assert run(page) == "execution_success"
    loaded_pictures(page)
    loaded_pictures(page, "test")
    found = shown(page)
    # A fifth everywhere: -20 log10(0.2) dB; flat: SSIM is c / (0.04 + c) with c = 0.0001.
    assert found["verdict"].startswith("A different picture: 14.0 dB, SSIM 0.002.")
    # The heat map is not fetched before it is wanted.
    assert found["sizes"] == [[512, 512], [512, 512], [0, 0]]
    assert (found["number"], found["line"]) == ("1 / 2", "50 % reference")
    text = panel(page).inner_text()
    assert "PSNR 13.98 dB" in text
    assert "Mean of 2: PSNR 13.98 dB" in text
    assert " · worst tenth: PSNR 13.98 dB · hardly visible: 0\u00a0%" in text
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
    assert width == pytest.approx(512, abs=1)
    where = page.evaluate("JSON.stringify(app.rootGraph.getNodeById(3).pos)")
    page.mouse.move(box["x"] + 100, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 60, box["y"] + 100)
    page.mouse.up()
    assert shown(page)["at"] == pytest.approx([left - 40 for left in zoomed["at"]], abs=1)
    assert page.evaluate("JSON.stringify(app.rootGraph.getNodeById(3).pos)") == where
    assert page.evaluate(size) == before


@pytest.mark.both_pages
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


def test_of_two_sizes_and_of_one_input_the_node_says_what_it_did(page, workflow):
    page.evaluate("app.rootGraph.getNodeById(2).widgets[0].value = 128")
    assert run(page) == "execution_success"
    assert "Compared at 64 × 64 pixels; scaled down and distorted: test from 128 × 64" in (
        panel(page).inner_text()
    )
    page.evaluate("app.rootGraph.getNodeById(3).disconnectInput(0)")
    assert run(page) == "execution_success"
    loaded_pictures(page, "test")
    assert shown(page)["verdict"].startswith("Test alone. Connect images to “reference”")
    visible = panel(page).query_selector_all(".gph-stage > :not([hidden])")
    assert [e.get_attribute("class").split()[-1] for e in visible] == ["gph-test", "gph-tag-test"]
    buttons = panel(page).query_selector_all("[aria-pressed]:visible")
    assert [button.inner_text() for button in buttons] == ["1:1"]
    page.evaluate("app.rootGraph.getNodeById(3).disconnectInput(1)")
    assert run(page) == "execution_success"
    assert panel(page).inner_text().startswith("No images arrived.")


PRESSED = """e => [...e.querySelectorAll(".gph-modes button")]
  .map(b => [b.innerText, b.ariaPressed, getComputedStyle(b).backgroundColor])"""


@pytest.mark.both_pages
def test_exactly_one_mode_looks_chosen_also_under_the_pointer(page, workflow):
    send(page, REPORT)
    for mode in ("Slider", "Side by side", "Difference", "Slider"):
        panel(page).query_selector(f"button:text('{mode}')").click()
        under_pointer = panel(page).evaluate(PRESSED)
        page.mouse.move(1300, 900)
        found = panel(page).evaluate(PRESSED)
        assert found == under_pointer
        assert [name for name, pressed, _ in found if pressed == "true"] == [mode]
        (color,) = (color for name, _, color in found if name == mode)
        assert all(other != color for name, _, other in found if name != mode)


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
    assert "PSNR: 1 of 3 identical; the mean covers the others" in panel(page).inner_text()


def test_a_node_that_ran_for_a_list_of_images_shows_each_of_its_runs(page, workflow):
    send(page, REPORT, REPORT | {"width": 32})
    text = panel(page).inner_text()
    assert "Images: 3, 64 × 48 pixels" in text
    assert "Images: 3, 32 × 48 pixels" in text
    assert len(table(page)) == 2 * 5
    assert shown(page)["number"] == "1 / 6"
    psnr = {"mean": 25, "values": [30, 20], "worst_tenth": 20, "hardly_visible": 0.5}
    send(page, REPORT, REPORT, all={"images": 6, "metrics": {"psnr": psnr}})
    line = "Whole list: Mean of 6: PSNR 25.00 dB · worst tenth: PSNR 20.00 dB · hardly visible: 50"
    assert line in panel(page).inner_text()


def long(count):
    """A report of many images."""
    figures = {
        "mean": 30, "identical": 0, "values": [30] * count, "worst_tenth": 30, "hardly_visible": 0,
    }  # fmt: skip
    return REPORT | {
        "images": count, "verdicts": ["visible"] * count, "metrics": {"psnr": figures},
    }  # fmt: skip


@pytest.mark.both_pages
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


def test_what_a_run_has_shown_comes_back_with_its_tab_and_with_undo(page, workflow):
    assert run(page) == "execution_success"
    page.locator(".gph-verdict").wait_for()
    load(page, named(page, workflow_of()), beside=True)
    back_to(page, workflow)
    assert len(table(page)) == 4
    for _ in undone_and_redone(page, NODE, "heat_map_max", 0.5):
        assert len(table(page)) == 4


def test_a_shootout_has_room_for_all_figures_of_a_method_in_one_line(page):
    load(page, workflow_of())
    node = added(page, "GPH_MethodShootout")
    executed(page, node, {"gph_shootout": [SHOOTOUT]})
    table = panel(page, node).query_selector(".gph-quality")
    assert table.evaluate("t => t.scrollWidth <= t.clientWidth")
    heights = "t => [...t.querySelectorAll('tbody td')].map(cell => cell.offsetHeight)"
    assert len(set(table.evaluate(heights))) == 1
    assert "31.25 ± 1.10\t23.45\t63\u00a0%" in table.inner_text()
    assert "-1.23 ± 1.22" in table.inner_text()


@pytest.fixture
def running(page):
    """A Method Shootout, and what it tells after three of eight examples."""
    workflow = opened(page, "GPH_MethodShootout")
    report = SHOOTOUT | {"examples": 3, "node_id": "1", "workflow_id": workflow["id"]}
    return workflow, report


def test_a_shootout_is_shown_while_it_runs(page, running):
    _, report = running
    tell(page, "golden_path.shootout", report)
    table = panel(page, 1)
    assert "examples so far: 3 of 8" in table.inner_text()
    strips = table.query_selector_all(".gph-strip")
    assert [len(strip.query_selector_all(".gph-full")) for strip in strips] == [6, 6]
    assert strips[0].get_attribute("title") == "0,9,19,29,39,49/50; residual reuse; threshold 0.2"


def test_of_a_shootout_that_ended_in_another_tab_nothing_older_is_shown(page, running):
    workflow, report = running
    tell(page, "golden_path.shootout", report)
    load(page, named(page, workflow_of()), beside=True)
    tell(page, "executed", {"node": "1", "output": {"gph_shootout": [report | {"examples": 8}]}})
    back_to(page, workflow)
    assert "examples so far" not in panel(page, 1).inner_text()
