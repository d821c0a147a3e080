"""The report panel on Golden Path Cache. Most tests send its events themselves."""

import json

import pytest

from .page import added, back_to, example, load, there_and_back, two_frames, undone_and_redone, view

NODE = 2  # the cache node of the bundled workflow
RECORD = {
    "schedule": "0-1,3/5",
    "origin": "uniform spacing",
    "policy": "residual reuse",
    "site": "stack residual",
    "full_steps": [0, 1, 3],
    "cached_steps": [2],
    "refused_steps": [4],
    "full_seconds": [0.5, 0.25, 0.25, 0.25],
    "cached_seconds": [0.125],
    "cache_bytes": 3 * 2**20,
    "sigmas": [1, 0.8, 0.6, 0.4, 0.2, 0],
    "notes": ["step 4: a branch had no anchor"],
    "speedup": 1.1,
    "ideal_speedup": 5 / 3,
}
OTHER = RECORD | {"schedule": "0/2", "full_steps": [0], "cached_steps": [1], "refused_steps": []}

DECIDED = RECORD | {
    "schedule": "0,2,4/5", "origin": "SeaCache, threshold 0.2", "full_steps": [0, 2, 3, 4],
    "cached_steps": [1], "refused_steps": [3], "gate": "SeaCache(threshold=0.2)",
    "gate_values": [None, 0.15, 0.25, None, 0.05],
}  # fmt: skip


@pytest.fixture
def workflow(page):
    """The bundled workflow, opened under an id of its own."""
    workflow = example("1_Try_Golden_Path_Cache")
    workflow["id"] = page.evaluate("crypto.randomUUID()")
    load(page, workflow)
    return workflow


def send(page, state, *, node=NODE, run=0, prompt="p", workflow=None, **detail):
    detail |= {"state": state, "node_id": str(node), "run": run, "prompt_id": prompt}
    page.evaluate(
        """([detail, workflow]) => {
          detail.workflow_id = workflow ?? app.rootGraph.id;
          app.api.dispatchEvent(new CustomEvent("golden_path.run", { detail }));
        }""",
        [detail, workflow],
    )


def panel(page, node=NODE):
    return view(page, node, "golden_path_report")


def strip(element):
    """What the strip shows: a kind for each step."""
    cells = element.query_selector_all(".gph-strip .gph-cell")
    return [cell.get_attribute("class").split()[1].removeprefix("gph-") for cell in cells]


def strip_titles(element):
    """What the strip says of each step."""
    return [
        cell.get_attribute("title") for cell in element.query_selector_all(".gph-strip .gph-cell")
    ]


def is_idle(element):
    return element.inner_text().startswith("After a run:")


def test_a_node_that_has_not_run_says_what_it_will_show(page, workflow):
    assert is_idle(panel(page))


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
        "1.10× faster", "ideal 1.67×", "3 full", "1 refused", "1.3 s (0.31 s each)", "1 cached",
        "0.13 s", "3.0 MiB cache", "uniform spacing", "residual reuse", "0-1,3/5",
        "step 4: a branch had no anchor",
    ):  # fmt: skip
        assert part in text
    assert "Step 4: planned as cached, computed in full · noise 0.2" in [
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
    assert "Run" not in panel(page).inner_text()


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
        "Step 0: full · noise 1 · SeaCache, threshold 0.2, full at any value",
        "Step 1: cached · noise 0.8 · SeaCache, threshold 0.2, value 0.15",
        "Step 2: full · noise 0.6 · SeaCache, threshold 0.2, value 0.25",
        "Step 3: computed in full, though the method did not ask for it · noise 0.4",
        "Step 4: full · noise 0.2 · SeaCache, threshold 0.2, value 0.05",
    ]
    assert "0,2,4/5" in panel(page, node).inner_text()


def test_each_cache_node_shows_its_own_runs(page, workflow):
    other = added(page, "GPH_Cache", [760, 300])
    send(page, "done", record=RECORD)
    send(page, "done", node=other, record=OTHER)
    assert len(strip(panel(page))) == 5
    assert len(strip(panel(page, other))) == 2


def test_a_node_in_a_subgraph_gets_its_runs(page, workflow):
    outer, inner = page.evaluate("""([id]) => {
      const nodes = new Set([app.rootGraph.getNodeById(id)]);
      const { node, subgraph } = app.rootGraph.convertToSubgraph(nodes);
      app.canvas.setGraph(subgraph);
      return [node.id, subgraph.nodes.find(n => n.type === "GPH_Cache").id].map(String);
    }""", [NODE])  # fmt: skip
    send(page, "done", node=f"{outer}:{inner}", record=RECORD)
    assert len(strip(panel(page, inner))) == 5
    page.evaluate("app.canvas.setGraph(app.rootGraph)")


def test_runs_of_another_workflow_wait_for_their_tab(page, workflow):
    send(page, "done", record=OTHER)
    elsewhere = example("1_Try_Golden_Path_Cache") | {"id": page.evaluate("crypto.randomUUID()")}
    load(page, elsewhere)
    assert is_idle(panel(page))
    send(page, "done", prompt="q", workflow=workflow["id"], record=RECORD)
    assert is_idle(panel(page))
    back_to(page, workflow)
    assert len(strip(panel(page))) == 5


def test_undo_and_redo_keep_the_report(page, workflow):
    send(page, "done", record=RECORD)
    two_frames(page)  # its notes make the node taller, which is not to be a step of its own
    for _ in undone_and_redone(page, NODE, "schedule", "0-3/8"):
        assert len(strip(panel(page))) == 5
        send(page, "done", record=OTHER)  # what is on the page is not a leftover
        assert len(strip(panel(page))) == 2
        send(page, "done", record=RECORD)
        two_frames(page)


def test_collapsing_and_expanding_keep_the_report(page, workflow):
    send(page, "done", record=RECORD)
    collapse = "id => app.rootGraph.getNodeById(id).collapse()"
    page.evaluate(collapse, NODE)
    page.locator(".gph-report").wait_for(state="hidden")
    page.evaluate(collapse, NODE)
    assert len(strip(panel(page))) == 5


def test_the_report_goes_with_a_change_of_renderer(page, workflow, renderer):
    send(page, "done", record=RECORD)
    for place in there_and_back(page, renderer):
        page.locator(f"{place} .gph-report-title").wait_for()
        assert len(strip(panel(page))) == 5


def test_the_right_side_panel_does_not_narrow_the_report(page, workflow):
    send(page, "done", record=RECORD)
    width = panel(page).bounding_box()["width"]
    page.evaluate("id => app.canvas.selectNode(app.rootGraph.getNodeById(id))", NODE)
    page.evaluate("app.extensionManager.setting.set('Comfy.RightSidePanel.IsOpen', true)")
    page.locator("[data-testid=properties-panel]").wait_for()
    two_frames(page)
    assert panel(page).bounding_box()["width"] == pytest.approx(width, abs=1)
    page.evaluate("app.extensionManager.setting.set('Comfy.RightSidePanel.IsOpen', false)")


def test_a_copy_has_no_report_until_it_runs(page, workflow):
    send(page, "done", record=RECORD)
    page.evaluate("id => app.canvas.selectNode(app.rootGraph.getNodeById(id))", NODE)
    page.locator("#graph-canvas").press("Control+c")
    page.locator("#graph-canvas").press("Control+v")
    page.wait_for_function("app.rootGraph.nodes.filter(n => n.type === 'GPH_Cache').length === 2")
    copy = page.evaluate("app.rootGraph.nodes.find(n => n.type === 'GPH_Cache' && n.id != 2).id")
    assert is_idle(panel(page, copy))
    assert len(strip(panel(page))) == 5


def test_a_saved_image_brings_its_report_and_no_other(page, workflow):
    send(page, "done", record=OTHER)
    saved = workflow | {"extra": {"golden_path": {str(NODE): [RECORD, OTHER]}}}
    load(page, saved)
    assert "from the saved image" in panel(page).inner_text()
    assert "Run 2 of 2" in panel(page).inner_text()
    assert strip(panel(page)) == ["full", "cached"]
    send(page, "done", record=RECORD)
    assert "from the saved image" not in panel(page).inner_text()
    load(page, saved)
    assert "from the saved image" in panel(page).inner_text()


def test_a_template_that_is_opened_again_shows_no_report_of_its_other_tab(page, workflow):
    send(page, "done", record=RECORD)
    load(page, workflow)
    assert is_idle(panel(page))
    send(page, "done", record=OTHER)
    assert len(strip(panel(page))) == 2
    back_to(page, workflow)
    assert len(strip(panel(page))) == 5
    again = workflow | {"id": page.evaluate("crypto.randomUUID()")}
    for _ in range(2):  # ComfyUI loads an open template into its own tab
        page.evaluate("w => app.loadGraphData(w, true, true, 'a template')", again)
        two_frames(page)
        assert is_idle(panel(page))
        send(page, "done", record=RECORD)


def test_a_report_changes_neither_the_workflow_nor_its_undo_steps(page, workflow):
    state = """() => {
      const { changeTracker } = app.extensionManager.workflow.activeWorkflow;
      changeTracker.captureCanvasState();
      return [changeTracker.undoQueue.length, JSON.stringify(app.rootGraph.serialize().nodes)];
    }"""
    before = page.evaluate(state)
    send(page, "done", record=RECORD | {"notes": []})
    two_frames(page)
    assert page.evaluate(state) == before
    assert "golden_path_report" not in json.dumps(page.evaluate("app.graphToPrompt()"))


def test_foreign_text_stays_text(page, workflow):
    send(page, "done", record=RECORD | {"notes": ["<img id=foreign src=x>"]})
    assert "<img id=foreign src=x>" in panel(page).inner_text()
    assert page.locator("#foreign").count() == 0
