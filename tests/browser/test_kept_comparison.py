"""What a workflow keeps of Quality Compare, and the menu of its pictures, of web/quality."""

import json
from functools import partial

import pytest
from PIL import Image

from .page import added, connect, into_subgraph, load, named, run, shortcut, state, workflow_of
from .quality import panel

DEEP = {"width": 64, "height": 48, "batch_size": 1}
SUBJECTS = iter(range(0x100000, 0xFFFFFF, 0x10101))  # colours that no test has used


@pytest.fixture
def node(page):
    """The id of a comparison of two pictures of one colour."""
    load(page, named(page, workflow_of()))
    compare = added(page, "GPH_QualityCompare", (340, 0))
    for name, place in (("reference", (0, 0)), ("test", (0, 260))):
        picture = added(page, "EmptyImage", place, **DEEP, color=next(SUBJECTS))
        connect(page, picture, 0, compare, name)
    return compare


def files(page, node):
    """The names of the pictures that are shown."""
    return panel(page, node).evaluate(
        "e => [...e.querySelectorAll('img')].map(i => new URL(i.src || 'x:').search)"
    )[:2]


def saved(page):
    return json.loads(page.evaluate("JSON.stringify(app.rootGraph.serialize())"))


def changed(page, node):
    """Give the test another colour, and run."""
    page.evaluate(
        """([id, color]) => {
          const source = app.rootGraph.getNodeById(id).getInputNode(1);
          source.widgets.find(widget => widget.name === "color").value = color;
        }""",
        [node, next(SUBJECTS)],
    )
    assert run(page) == "execution_success"


def test_a_saved_workflow_shows_its_last_comparison_when_it_is_opened(page, node):
    assert run(page) == "execution_success"
    first = files(page, node)
    assert all("reference.png" in one or "test.png" in one for one in first)
    workflow = saved(page)
    kept = json.dumps(next(n["properties"] for n in workflow["nodes"] if str(n["id"]) == node))
    assert len(kept) < 300  # a name, no figures and no pixels
    changed(page, node)
    assert files(page, node) != first
    load(page, named(page, workflow))
    page.locator(".gph-verdict").wait_for()
    assert files(page, node) == first
    assert "golden_path_comparison" not in json.dumps(
        page.evaluate("async () => (await app.graphToPrompt()).output")
    )


@pytest.mark.both_pages
def test_a_run_is_no_edit_and_leaves_undo_and_redo_as_they_are(page, node):
    title = f"app.rootGraph.getNodeById({node}).title"
    for words in ("first", "second"):
        page.evaluate(
            "([id, words]) => { app.canvas.emitBeforeChange();"
            " app.rootGraph.getNodeById(id).title = words; app.canvas.emitAfterChange(); }",
            [node, words],
        )
    page.locator("#graph-canvas").focus()
    shortcut(page, "Control", "z")
    assert page.evaluate(title) == "first"
    assert run(page) == "execution_success"
    steps, _ = state(page)
    page.locator("#graph-canvas").focus()
    for key, words in (("y", "second"), ("z", "first")):
        shortcut(page, "Control", key)
        assert page.evaluate(title) == words
        assert panel(page, node).query_selector(".gph-verdict")
        (properties,) = (n["properties"] for n in saved(page)["nodes"] if str(n["id"]) == node)
        assert properties["golden_path_comparison"].endswith(".json")
    assert state(page)[0] == steps


def test_a_node_in_a_subgraph_keeps_its_own(page, node):
    _, inner = into_subgraph(page, node, enter="GPH_QualityCompare")
    steps, _ = state(page)
    page.evaluate(
        """id => app.canvas.graph.getNodeById(id)
          .onExecuted({ gph_quality: [{ parts: [], file: "inner.json" }] })""",
        inner,
    )
    assert state(page)[0] == steps
    (subgraph,) = page.evaluate(
        "app.extensionManager.workflow.activeWorkflow.changeTracker.activeState.definitions"
    )["subgraphs"]
    kept = [n["properties"].get("golden_path_comparison") for n in subgraph["nodes"]]
    assert kept == ["inner.json"]


def test_pictures_that_are_gone_are_said_to_be_gone(page, node):
    assert run(page) == "execution_success"
    workflow = saved(page)
    for one in workflow["nodes"]:
        if str(one["id"]) == node:
            one["properties"]["golden_path_comparison"] = "0.json"
    load(page, named(page, workflow))
    page.get_by_text("ComfyUI has deleted these pictures").wait_for()


def answer_with(text, route):
    route.fulfill(body=text)


def test_a_file_that_holds_no_comparison_is_said_to_be_gone(page, node):
    workflow = saved(page)
    (kept,) = (one for one in workflow["nodes"] if str(one["id"]) == node)
    for text in ("{", "{}"):
        page.unroute_all()
        page.route("**/view?*broken*", partial(answer_with, text))
        kept["properties"]["golden_path_comparison"] = "broken.json"
        load(page, named(page, workflow))
        page.get_by_text("ComfyUI has deleted these pictures").wait_for()
    page.unroute_all()


def entries(page):
    return page.locator(".gph-context-menu button").all_inner_texts()


@pytest.mark.both_pages
def test_pictures_are_opened_copied_and_saved_from_a_menu_of_their_own(page, node):
    assert run(page) == "execution_success"
    stage = panel(page, node).query_selector(".gph-stage")
    box = stage.bounding_box()
    stage.click(button="right")
    verbs = ("Open", "Copy", "Save")
    assert entries(page) == [f"{v} {kind}" for kind in ("reference", "test") for v in verbs]
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Save test").click()
    assert download.value.suggested_filename.endswith("_0_test.png")
    with Image.open(download.value.path()) as picture:
        assert picture.size == (64, 48)

    panel(page, node).query_selector("button:text('Side by side')").click()
    stage.click(button="right", position={"x": box["width"] * 5 / 6, "y": 50})
    assert entries(page) == [f"{verb} difference" for verb in verbs]
    with page.context.expect_page() as tab:
        page.get_by_role("menuitem", name="Open difference").click()
    assert "_0_difference.png" in tab.value.url
    tab.value.close()

    stage.focus()
    page.keyboard.press("ContextMenu")
    assert len(entries(page)) == 9
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")  # the second: Copy reference
    page.wait_for_function(
        "async () => (await navigator.clipboard.read())[0].types.includes('image/png')"
    )
    assert page.locator(".gph-context-menu").count() == 0

    # Elsewhere the node has ComfyUI's menu.
    left, top = page.evaluate("app.canvas.ds.convertOffsetToCanvas([360, -15])")
    canvas = page.locator("#graph-canvas").bounding_box()
    page.mouse.click(canvas["x"] + left, canvas["y"] + top, button="right")
    page.locator(":is(.litecontextmenu, [role=menu])", has_text="Copy").wait_for()
    page.keyboard.press("Escape")
    page.mouse.click(1300, 900)
