"""The panel on Schedule Search among tabs, undo, renderers and other nodes."""

import json

import pytest

from .page import added, back_to, load, there_and_back, two_frames, undone_and_redone
from .search import DONE, FACTS, NODE, OTHER, end, is_idle, opened, panel, send, status, strip


@pytest.fixture
def workflow(page):
    return opened(page)


def test_events_neither_resize_nor_change_the_workflow_nor_make_undo_steps(page, workflow):
    state = """() => {
      const { changeTracker } = app.extensionManager.workflow.activeWorkflow;
      changeTracker.captureCanvasState();
      return [changeTracker.undoQueue.length, JSON.stringify(app.rootGraph.serialize().nodes)];
    }"""
    before = page.evaluate(state)
    height = panel(page).bounding_box()["height"]
    long = FACTS | {"best": f"{','.join(str(n) for n in range(0, 200, 2))}/200"}
    for name, facts in (("preparing", OTHER), ("searching", long), ("done", long | DONE)):
        send(page, name, facts)
        two_frames(page)
        two_frames(page)
        assert panel(page).bounding_box()["height"] == pytest.approx(height, abs=0.5)
        assert page.evaluate(state) == before
    assert "golden_path_search" not in json.dumps(page.evaluate("app.graphToPrompt()"))


def test_each_search_node_shows_its_own_search(page, workflow):
    other = added(page, "GPH_ScheduleSearch", [600, 0])
    send(page, "searching")
    send(page, "searching", OTHER, node=other)
    assert len(strip(panel(page))) == 5
    assert len(strip(panel(page, other))) == 2


def test_a_node_in_a_subgraph_gets_its_search(page, workflow):
    outer, inner = page.evaluate("""([id]) => {
      const nodes = new Set([app.rootGraph.getNodeById(id)]);
      const { node, subgraph } = app.rootGraph.convertToSubgraph(nodes);
      app.canvas.setGraph(subgraph);
      return [node.id, subgraph.nodes[0].id].map(String);
    }""", [NODE])  # fmt: skip
    send(page, "searching", node=f"{outer}:{inner}")
    assert len(strip(panel(page, inner))) == 5
    page.evaluate("app.canvas.setGraph(app.rootGraph)")


def test_a_higher_node_gives_its_height_to_the_table_and_takes_it_back(page, workflow):
    send(page, "done", DONE)
    heights = []
    for more in (0, 150, -150):
        page.evaluate(
            """([id, more]) => {
              const node = app.rootGraph.getNodeById(id);
              node.setSize([node.size[0], node.size[1] + more]);
              node.setDirtyCanvas(true, true);
            }""",
            [NODE, more],
        )
        two_frames(page)
        two_frames(page)
        table = panel(page).query_selector(".gph-search-result")
        heights.append(table.bounding_box()["height"])
    assert heights[1] > heights[0] + 100
    assert heights[2] == pytest.approx(heights[0], abs=1)


def test_a_search_of_another_workflow_waits_for_its_tab(page, workflow):
    send(page, "searching", OTHER)
    load(page, workflow | {"id": page.evaluate("crypto.randomUUID()")})
    assert is_idle(panel(page))
    send(page, "done", DONE, workflow=workflow["id"])
    assert is_idle(panel(page))
    back_to(page, workflow)
    assert status(panel(page)) == "Done"
    assert len(strip(panel(page))) == 5


def test_a_search_that_is_interrupted_in_another_tab_is_stopped_in_its_own(page, workflow):
    send(page, "searching")
    load(page, workflow | {"id": page.evaluate("crypto.randomUUID()")})
    end(page, "execution_interrupted")
    assert is_idle(panel(page))
    back_to(page, workflow)
    assert status(panel(page)) == "Stopped"


def test_undo_and_redo_keep_the_search(page, workflow):
    send(page, "searching")
    for _ in undone_and_redone(page, NODE, "study", "another"):
        assert len(strip(panel(page))) == 5
        send(page, "searching", OTHER)  # what is on the page is not a leftover
        assert len(strip(panel(page))) == 2
        send(page, "searching")


def test_collapsing_and_expanding_keep_the_search(page, workflow):
    send(page, "searching")
    collapse = "id => app.rootGraph.getNodeById(id).collapse()"
    page.evaluate(collapse, NODE)
    page.locator(".gph-search").wait_for(state="hidden")
    page.evaluate(collapse, NODE)
    assert len(strip(panel(page))) == 5


def test_the_search_goes_with_a_change_of_renderer(page, workflow, renderer):
    send(page, "searching")
    for place in there_and_back(page, renderer):
        page.locator(f"{place} .gph-search-head").wait_for()
        assert len(strip(panel(page))) == 5


def test_a_copy_shows_nothing_until_it_runs(page, workflow):
    send(page, "searching")
    page.evaluate("id => app.canvas.selectNode(app.rootGraph.getNodeById(id))", NODE)
    page.locator("#graph-canvas").press("Control+c")
    page.locator("#graph-canvas").press("Control+v")
    page.wait_for_function("app.rootGraph.nodes.length === 2")
    copy = page.evaluate("id => app.rootGraph.nodes.find(n => n.id != id).id", NODE)
    assert is_idle(panel(page, copy))
    assert len(strip(panel(page))) == 5
