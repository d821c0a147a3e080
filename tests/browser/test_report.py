"""The report panel on Golden Path Cache, of web/report, as the tests send its events."""

import re

import pytest

from .page import TRY, added, example, load, named, strip
from .report import NODE, OTHER, RECORD, panel, send, strip_titles

DECIDED = RECORD | {
    "schedule": "0,2,4/5", "origin": "SeaCache, threshold 0.2", "full_steps": [0, 2, 3, 4],
    "cached_steps": [1], "refused_steps": [3], "gate": "SeaCache(threshold=0.2)",
    "gate_values": [None, 0.15, 0.25, None, 0.05],
}  # fmt: skip


@pytest.fixture
def workflow(page):
    """The bundled workflow, opened under an id of its own."""
    workflow = named(page, example(TRY))
    load(page, workflow)
    return workflow


def test_a_run_fills_the_strip_step_by_step(page, workflow):
    send(page, "planned", schedule="0-1,3/5", origin="uniform spacing")
    assert strip(panel(page)) == ["waiting"] * 5
    for step, kind in enumerate(["full", "full", "cached"]):
        send(page, "running", step=step, kind=kind)
    assert strip(panel(page)) == ["full", "full", "cached", "waiting", "waiting"]
    assert "Step 3 of 5" in panel(page).inner_text()


def test_a_finished_run_shows_times_speed_memory_schedule_and_reasons(page, workflow):
    send(page, "done", record=RECORD)
    assert strip(panel(page)) == ["full", "full", "cached", "full", "refused"]
    text = panel(page).inner_text()
    for part in (
        "1.10× faster", "ideal 1.67×", "3 full", "1 forced full", "1.3 s (0.31 s each)", "1 cached",
        "0.13 s", "3.0 MiB cache", "uniform spacing", "residual reuse", "0-1,3/5",
        "step 4: a branch had no anchor",
    ):  # fmt: skip
        assert part in text
    assert "Step 4: forced full: planned as cached, but computed in full · noise 0.2" in [
        cell.get_attribute("title") for cell in panel(page).query_selector_all(".gph-cell")
    ]


def test_kinds_of_steps_differ_by_more_than_colour(page, workflow):
    send(page, "done", record=RECORD)
    looks = [
        cell.evaluate("c => [c.offsetHeight, getComputedStyle(c).backgroundImage]")
        for cell in panel(page).query_selector_all(".gph-strip .gph-cell")
    ]
    full, cached, refused = looks[0], looks[2], looks[4]
    assert cached[0] < full[0]
    assert "gradient" in refused[1]
    assert full[1] == "none"


def test_a_run_that_stopped_says_after_how_many_steps(page, workflow):
    stopped = RECORD | {"full_steps": [0, 1], "refused_steps": []}
    send(page, "done", record=stopped)
    assert "Stopped after 3 of 5 steps" in panel(page).inner_text()


def test_a_bypassed_node_shows_no_figures(page, workflow):
    send(page, "done", record=RECORD)
    bypass = "([id, mode]) => { app.rootGraph.getNodeById(id).mode = mode; app.canvas.%s(); }"
    for mode, words in ((4, "Bypassed: all steps are computed in full"), (0, "1.10× faster")):
        page.evaluate(bypass % "emitBeforeChange", [NODE, 0 if mode else 4])
        page.evaluate(bypass % "emitAfterChange", [NODE, mode])
        page.wait_for_function(
            "words => document.querySelector('.gph-report').innerText.startsWith(words)", arg=words
        )


def test_several_runs_of_a_prompt_can_be_looked_at(page, workflow):
    send(page, "done", run=0, record=RECORD)
    send(page, "done", run=1, record=OTHER)
    assert strip(panel(page)) == ["full", "cached"]
    panel(page).query_selector("[aria-label='Older run']").click()
    assert strip(panel(page))[4] == "refused"
    assert "Run 1 of 2" in panel(page).inner_text()
    panel(page).query_selector("[aria-label='Newer run']").click()
    assert strip(panel(page)) == ["full", "cached"]
    send(page, "done", prompt="q", record=RECORD)
    assert not panel(page).query_selector(".gph-report-runs")


def test_a_method_decides_step_by_step(page, workflow):
    node = added(page, "GPH_AdaptiveCache", [760, 300])
    send(
        page, "planned", node=node, schedule="0,4/5", is_open=True, origin="SeaCache, threshold 0.2"
    )
    titles = strip_titles(panel(page, node))
    assert titles == [
        f"Step {n}: {'undecided' if 0 < n < 4 else 'planned as full'}" for n in range(5)
    ]
    assert "0,4/5" not in panel(page, node).inner_text()
    send(page, "running", node=node, step=0, kind="full")
    send(page, "running", node=node, step=1, kind="cached")
    assert strip(panel(page, node)) == ["full", "cached", "waiting", "waiting", "waiting"]
    send(page, "done", node=node, record=DECIDED)
    assert strip_titles(panel(page, node)) == [
        "Step 0: full · noise 1 · SeaCache, threshold 0.2, full whatever the value",
        "Step 1: cached · noise 0.8 · SeaCache, threshold 0.2, value 0.15",
        "Step 2: full · noise 0.6 · SeaCache, threshold 0.2, value 0.25",
        "Step 3: forced full: computed in full, though the method did not ask for it · noise 0.4",
        "Step 4: full · noise 0.2 · SeaCache, threshold 0.2, value 0.05",
    ]
    assert "0,2,4/5" in panel(page, node).inner_text()


BESIDE = "EasyCache is also active on this model; remove it: two caches together spoil the image"


def test_why_nothing_was_cached_is_the_first_line_and_red(page, workflow):
    line = f"this node caches nothing: {BESIDE}"
    full = OTHER | {"full_steps": [0, 1], "cached_steps": [], "cached_seconds": [], "notes": [line]}
    for state, detail in (("refused", {"line": line}), ("done", {"record": full})):
        send(page, state, **detail)
        shown = panel(page).inner_text().split("\n")
        assert shown[:2] == [BESIDE, "Computed in full"]
        assert BESIDE not in shown[2:]
        colour = "e => getComputedStyle(e.querySelector('[role=alert]')).borderLeftColor"
        red, green, blue = re.findall(r"\d+", panel(page).evaluate(colour))[:3]
        assert int(red) > 2 * max(int(green), int(blue))
    send(page, "done", prompt="q", record=RECORD)
    assert not panel(page).query_selector("[role=alert]")


def test_words_of_the_report_are_explained_where_they_stand(page, workflow):
    send(page, "done", record=RECORD)
    assert "stack residual" not in panel(page).inner_text()
    plan = panel(page).query_selector_all(".gph-report-plan [title]")
    titles = [(part.inner_text(), part.get_attribute("title")) for part in plan]
    assert titles == [
        ("uniform spacing", "Where the schedule comes from"),
        ("residual reuse", "Cached steps repeat what the blocks added at the newest full step"),
    ]
    forced = panel(page).query_selector(".gph-report-legend [title]")
    assert forced.inner_text() == "1 forced full"
    assert forced.get_attribute("title").startswith("forced full: planned as cached")


@pytest.fixture
def clipboard(page):
    """Function that returns what the page has put into the clipboard since."""
    page.evaluate("""() => {
      window.gphCopied = [];
      navigator.clipboard.writeText = async (text) => { gphCopied.push(text); };
    }""")
    yield lambda: page.evaluate("gphCopied.splice(0)")
    page.evaluate("delete navigator.clipboard.writeText")


@pytest.mark.both_pages
def test_a_right_click_copies_the_report_or_its_schedule(page, workflow, clipboard):
    send(page, "done", record=RECORD)
    panel(page).query_selector(".gph-report-plan").click(button="right")
    menu = page.locator("[data-testid=gph-context-menu]")
    assert menu.get_by_role("menuitem").all_inner_texts() == ["Copy report", "Copy schedule"]
    assert page.locator(".litecontextmenu, [role=menu]:not([data-testid])").count() == 0
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert clipboard() == ["0-1,3/5"]
    assert menu.count() == 0
    report = panel(page).query_selector(".gph-report")
    report.focus()
    report.dispatch_event("contextmenu")  # as the menu key does
    page.keyboard.press("Escape")
    menu.wait_for(state="detached")
    assert report.evaluate("e => e === document.activeElement")
    report.dispatch_event("contextmenu")
    menu.get_by_role("menuitem", name="Copy report").click()
    assert clipboard() == [
        "1.10× faster ideal 1.67×\n3 full 1 forced full 1.3 s (0.31 s each)\n"
        "1 cached 0.13 s (0.13 s each)\n3.0 MiB cache\nuniform spacing · residual reuse 0-1,3/5\n"
        "step 4: a branch had no anchor"
    ]


def test_a_saved_image_brings_its_report_and_no_other(page, workflow):
    send(page, "done", record=OTHER)
    saved = workflow | {"extra": {"golden_path": {str(NODE): [RECORD, OTHER]}}}
    load(page, saved, beside=True)
    assert "from the saved image" in panel(page).inner_text()
    assert "Run 2 of 2" in panel(page).inner_text()
    assert strip(panel(page)) == ["full", "cached"]
    send(page, "done", record=RECORD)
    assert "from the saved image" not in panel(page).inner_text()
    load(page, saved, beside=True)
    assert "from the saved image" in panel(page).inner_text()
