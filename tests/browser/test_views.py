"""Views on nodes: web/shared/views.js and memory.js, among tabs, undo, renderers and subgraphs."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from .page import (
    added,
    back_to,
    executed,
    into_subgraph,
    load,
    named,
    opened,
    state,
    tell,
    there_and_back,
    two_frames,
    undone_and_redone,
    view,
)
from .quality import REPORT, SHOOTOUT
from .report import RECORD
from .search import FACTS

NODE, FOREIGN = 1, "<img id=foreign src=x>"


@dataclass(frozen=True)
class Kind:
    """A kind of node with a view, the event or the key of its output that tells it what."""

    node: str
    widget: str
    source: str
    says: Callable[[str], dict[str, Any]]

    def tell(self, page, words, node=NODE, workflow=None):
        detail = self.says(words) | {"workflow_id": workflow, "node_id": str(node)}
        if "." in self.source:
            tell(page, self.source, detail)
        else:
            executed(page, node, {self.source: [detail]})
        two_frames(page)

    def shows(self, page, node=NODE):
        return view(page, node, self.widget).text_content()


def record_of(words):
    return {"state": "done", "run": 0, "record": RECORD | {"origin": words, "notes": []}}


KINDS = {
    "report": Kind("GPH_Cache", "golden_path_report", "golden_path.run", record_of),
    "search": Kind(
        "GPH_ScheduleSearch", "golden_path_search", "golden_path.search",
        lambda words: FACTS | {"state": "searching", "policy": words},
    ),
    "shootout": Kind(
        "GPH_MethodShootout", "quality_table", "golden_path.shootout",
        lambda words: SHOOTOUT | {"absent": {"L2P": words}},
    ),
    "quality": Kind(
        "GPH_QualityCompare", "quality_table", "gph_quality",
        lambda words: {"parts": [REPORT | {"unavailable": {"ssim": words}}]},
    ),
    "summary": Kind(
        "GPH_Coverage", "golden_path_summary", "gph_summary", lambda words: {"text": words}
    ),
}  # fmt: skip


def of(*names, both=()):
    """Run a test for these kinds of nodes, for those in ``both`` on both pages."""
    marks = {name: [pytest.mark.both_pages] * (name in both) for name in names}
    kinds = [pytest.param(KINDS[name], id=name, marks=marks[name]) for name in names]
    return pytest.mark.parametrize("kind", kinds)


# A view takes its height from its content or from the node: one of each on both pages.
@of(*KINDS, both=("report", "search"))
def test_what_a_node_is_told_is_text_and_no_change_of_the_workflow(page, kind):
    opened(page, kind.node)
    idle = kind.shows(page)
    assert idle.startswith(("After a run:", "During a run:", "After the first example:"))
    kind.tell(page, FOREIGN, workflow="another")
    assert kind.shows(page) == idle
    before = state(page)
    kind.tell(page, FOREIGN)
    assert FOREIGN in kind.shows(page)
    assert page.locator("#foreign").count() == 0
    assert state(page) == before
    assert kind.widget not in json.dumps(page.evaluate("app.graphToPrompt()"))


@of("report", "search", "shootout")
def test_what_another_workflow_is_told_waits_for_its_tab(page, kind):
    saved = opened(page, kind.node)
    kind.tell(page, "earlier")
    load(page, named(page, saved), beside=True)
    idle = kind.shows(page)
    kind.tell(page, "later", workflow=saved["id"])
    assert kind.shows(page) == idle
    back_to(page, saved)
    assert "later" in kind.shows(page)


@pytest.mark.both_pages
@of("report")
def test_undo_and_redo_keep_it(page, kind):
    opened(page, kind.node)
    kind.tell(page, "kept")
    for _ in undone_and_redone(page, NODE, "schedule", "0-3/8"):
        assert "kept" in kind.shows(page)
        kind.tell(page, "another")  # what is on the page is not a leftover
        assert "another" in kind.shows(page)
        kind.tell(page, "kept")


@of("report", "quality")
def test_it_goes_with_a_change_of_renderer(page, renderer, kind):
    opened(page, kind.node)
    kind.tell(page, "kept")
    for place in there_and_back(page, renderer):
        page.locator(f"{place} [data-gph-widget={kind.widget}]").wait_for()
        assert "kept" in kind.shows(page)


@of("report")
def test_collapsing_and_expanding_keep_it(page, kind):
    opened(page, kind.node)
    kind.tell(page, "kept")
    collapse = "id => app.rootGraph.getNodeById(id).collapse()"
    page.evaluate(collapse, NODE)
    page.locator(".gph-view").wait_for(state="hidden")
    page.evaluate(collapse, NODE)
    assert "kept" in kind.shows(page)


@of("report", "search")
def test_each_node_shows_its_own_and_one_in_a_subgraph_too(page, kind):
    opened(page, kind.node)
    other = added(page, kind.node, (600, 0))
    kind.tell(page, "first")
    kind.tell(page, "second", node=other)
    assert "first" in kind.shows(page)
    assert "second" in kind.shows(page, other)
    outer, inner = into_subgraph(page, NODE, enter=kind.node)
    kind.tell(page, "inside", node=f"{outer}:{inner}")
    assert "inside" in kind.shows(page, inner)


@of("report")
def test_a_copy_shows_nothing_until_it_runs(page, kind):
    opened(page, kind.node)
    idle = kind.shows(page)
    kind.tell(page, "kept")
    page.evaluate("id => app.canvas.selectNode(app.rootGraph.getNodeById(id))", NODE)
    page.locator("#graph-canvas").press("Control+c")
    page.locator("#graph-canvas").press("Control+v")
    page.wait_for_function("app.rootGraph.nodes.length === 2")
    copy = page.evaluate("id => app.rootGraph.nodes.find(n => n.id != id).id", NODE)
    assert kind.shows(page, copy) == idle
    assert "kept" in kind.shows(page)


@of("report")
def test_a_workflow_that_is_opened_again_shows_nothing_of_its_other_tab(page, kind):
    saved = opened(page, kind.node)
    idle = kind.shows(page)
    kind.tell(page, "kept")
    load(page, saved, beside=True)
    assert kind.shows(page) == idle
    kind.tell(page, "another")
    assert "another" in kind.shows(page)
    back_to(page, saved)
    assert "kept" in kind.shows(page)
    again = named(page, saved)
    for _ in range(2):  # ComfyUI loads an open template into its own tab
        page.evaluate("w => app.loadGraphData(w, true, true, 'a template')", again)
        two_frames(page)
        assert kind.shows(page) == idle
        kind.tell(page, "kept")


@of("report")
def test_the_right_side_panel_does_not_narrow_it(page, kind):
    opened(page, kind.node)
    width = view(page, NODE, kind.widget).bounding_box()["width"]
    page.evaluate("id => app.canvas.selectNode(app.rootGraph.getNodeById(id))", NODE)
    page.evaluate("app.extensionManager.setting.set('Comfy.RightSidePanel.IsOpen', true)")
    page.locator("[data-testid=properties-panel]").wait_for()
    two_frames(page)
    assert view(page, NODE, kind.widget).bounding_box()["width"] == pytest.approx(width, abs=1)
    page.evaluate("app.extensionManager.setting.set('Comfy.RightSidePanel.IsOpen', false)")
