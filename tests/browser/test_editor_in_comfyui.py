"""The Schedule Editor, of web/editor, in ComfyUI: undo, files, zoom, subgraphs, tabs, panels."""

import pytest

import dev

from .editor import Editor, back_to_tab, node, prompt, serialized
from .page import (
    READY,
    into_subgraph,
    load,
    state,
    there_and_back,
    two_frames,
    workflow_of,
)

TEN = "0-2,5,9/10"  # ooo..o...o


@pytest.mark.both_pages
def test_undo_and_redo_leave_a_working_editor_with_the_focus(page):
    editor = Editor.open(page, TEN)
    editor.click(7)
    editor.undo()
    assert editor.text == TEN
    assert editor.cells == "ooo..o...o"
    editor.redo()
    assert editor.text == "0-2,5,7,9/10"
    assert editor.cells == "ooo..o.o.o"
    editor.press("ArrowLeft", "f")  # the focus is on step 7 as before
    assert editor.text == "0-2,5-7,9/10"
    editor.click(4)  # what is shown is not a leftover
    assert editor.text == "0-2,4-7,9/10"


def test_another_workflow_does_not_get_the_focus(page):
    Editor.open(page, TEN).click(7)
    editor = Editor.open(page, TEN, beside=True)
    two_frames(page)  # the focus comes back two frames after an undo
    editor.press("f")
    assert editor.text == TEN


def test_looking_at_an_editor_changes_nothing(page):
    editor = Editor.open(page, TEN)
    before = state(page)
    editor.find("figures").hover()
    editor.focus(3)
    two_frames(page)
    assert state(page) == before


def test_a_copied_node_is_independent(page):
    editor = Editor.open(page, TEN)
    page.evaluate("app.canvas.selectNode(app.rootGraph.getNodeById(1))")
    page.locator("#graph-canvas").press("Control+c")
    page.locator("#graph-canvas").press("Control+v")
    page.wait_for_function("app.rootGraph.nodes.length === 2")
    copy = Editor(page, page.evaluate("app.rootGraph.nodes.find(n => n.id != 1).id"))
    page.evaluate(
        "id => { app.rootGraph.getNodeById(id).pos = [500, 0]; app.canvas.setDirty(true, true); }",
        copy.id,
    )
    two_frames(page)
    copy.click(3)
    assert (copy.text, editor.text) == ("0-3,5,9/10", TEN)
    editor.click(8)
    assert (copy.cells, editor.cells) == ("oooo.o...o", "ooo..o..oo")


def test_file_and_prompt_hold_the_text_alone(page):
    editor = Editor.open(page, TEN)
    editor.click(3)
    assert serialized(page)["widgets_values"] == ["0-3,5,9/10"]
    assert prompt(page)["1"]["inputs"] == {"schedule": "0-3,5,9/10"}


@pytest.mark.parametrize("values", [[{}], [], [TEN, "and", "more"], None])
def test_any_value_in_a_file_leaves_an_editor(page, values):
    editor = Editor.open(page, TEN, widgets_values=values)
    editor.type("0,3/4")
    assert editor.cells == "o..o"
    editor.click(1)
    assert editor.text == "0-1,3/4"


def test_a_linked_schedule_makes_the_cells_inert_and_the_prompt_holds_the_link(page):
    second = node(TEN, 2, (500, 0))
    second["inputs"][1]["link"] = 5
    load(page, workflow_of(node("0,3/4", link=5), second, links=[[5, 1, 0, 2, 1, "GPH_SCHEDULE"]]))
    editor = Editor(page, 2)
    editor.wait_for_message("comes from the connected node")
    assert editor.find("editor").evaluate("e => e.inert")
    editor.click(7)
    assert editor.text == TEN
    assert prompt(page)["2"]["inputs"]["schedule"] == ["1", 0]
    page.evaluate("app.rootGraph.getNodeById(2).disconnectInput('schedule')")
    two_frames(page)
    assert not editor.find("editor").evaluate("e => e.inert")
    editor.click(7)
    assert editor.text == "0-2,5,7,9/10"


def test_only_schedules_and_strings_connect(page):
    Editor.open(page, TEN)
    accepted = page.evaluate("""() => {
      const input = app.rootGraph.getNodeById(1).inputs.find(i => i.name === "schedule");
      return ["GPH_SCHEDULE", "STRING", "INT", "GPH_POLICY"].filter(
        type => LiteGraph.isValidConnection(type, input.type));
    }""")
    assert accepted == ["GPH_SCHEDULE", "STRING"]


@pytest.mark.both_pages
def test_the_wheel_zooms_over_the_cells_as_over_the_canvas(page):
    editor = Editor.open(page, TEN)
    zoom = "app.canvas.ds.scale"
    page.mouse.move(1200, 800)
    page.mouse.wheel(0, -120)
    two_frames(page)
    over_the_canvas = page.evaluate(zoom)
    assert over_the_canvas > 1
    editor = Editor.open(page, TEN)
    page.mouse.move(*editor.at(4))
    page.mouse.wheel(0, -120)
    two_frames(page)
    assert page.evaluate(zoom) == pytest.approx(over_the_canvas)


def test_the_middle_button_pans_over_the_cells(page):
    editor = Editor.open(page, TEN)
    before = page.evaluate("[...app.canvas.ds.offset]")
    x, y = editor.at(4)
    page.mouse.move(x, y)
    page.mouse.down(button="middle")
    page.mouse.move(x + 60, y + 40, steps=6)
    page.mouse.up(button="middle")
    two_frames(page)
    moved = page.evaluate("[...app.canvas.ds.offset]")
    assert [b - a for a, b in zip(before, moved, strict=True)] == pytest.approx([60, 40], abs=12)
    assert editor.text == TEN


def test_collapsing_and_expanding_keeps_a_working_editor(page):
    editor = Editor.open(page, TEN)
    for _ in range(2):
        page.evaluate("app.rootGraph.getNodeById(1).collapse()")
        two_frames(page)
        two_frames(page)
    editor.click(7)
    assert editor.text == "0-2,5,7,9/10"


def test_switching_the_renderer_keeps_a_working_editor(page, renderer):
    editor = Editor.open(page, TEN)
    expected = {7: "ooo..o.o.o", 3: "oooo.o.o.o"}
    places = there_and_back(page, renderer)
    for place, (step, cells) in zip(places, expected.items(), strict=True):
        editor.wait_for_place(place)
        editor.click(step)
        assert editor.cells == cells


@pytest.mark.both_pages
def test_the_side_panel_leaves_the_width_and_its_field_reaches_the_cells(page):
    editor = Editor.open(page, "0,19/20")
    width = editor.find("grid").bounding_box()["width"]
    toggle = "on => app.extensionManager.setting.set('Comfy.RightSidePanel.IsOpen', on)"
    page.evaluate("app.canvas.selectNode(app.rootGraph.getNodeById(1))")
    page.evaluate(toggle, True)
    panel = page.locator('[data-testid="properties-panel"]')
    try:
        panel.wait_for()
        panel.element_handle().wait_for_element_state("stable")
        assert editor.find("grid").bounding_box()["width"] == pytest.approx(width, abs=1)
        field = panel.locator("input:not([type=number])").last
        field.fill("0,3/4")
        field.press("Tab")
        editor.wait_for_text("0,3/4")
        two_frames(page)
        assert editor.cells == "o..o"
    finally:
        page.evaluate(toggle, False)
    panel.wait_for(state="hidden")


@pytest.mark.both_pages
def test_an_editor_in_a_subgraph_works_and_reaches_the_prompt(page):
    Editor.open(page, TEN)
    outer, inner = into_subgraph(page, 1, enter="GPH_ScheduleEditor")
    editor = Editor(page, inner)
    editor.click(7)
    assert editor.text == "0-2,5,7,9/10"
    assert prompt(page)[f"{outer}:{inner}"]["inputs"]["schedule"] == "0-2,5,7,9/10"


def test_a_field_of_the_subgraph_node_takes_over(page):
    Editor.open(page, TEN)
    outer, inner = page.evaluate("""() => {
      const nodes = new Set([app.rootGraph.getNodeById(1)]);
      const { node, subgraph } = app.rootGraph.convertToSubgraph(nodes);
      const [inside] = subgraph.nodes;
      const slot = inside.inputs.findIndex(input => input.name === "schedule");
      subgraph.addInput("schedule", "STRING,GPH_SCHEDULE").connect(inside.inputs[slot], inside);
      const field = node.widgets.find(widget => widget.name === "schedule");
      field.value = "0,3/4";
      field.callback?.("0,3/4");
      app.canvas.setGraph(subgraph);
      return [node.id, inside.id].map(String);
    }""")
    assert prompt(page)[f"{outer}:{inner}"]["inputs"]["schedule"] == "0,3/4"
    editor = Editor(page, inner)
    editor.wait_for_message("comes from the connected node")
    assert editor.find("editor").evaluate("e => e.inert")


def test_another_tab_and_back_keeps_a_working_editor(page):
    editor = Editor.open(page, TEN)
    editor.click(7)
    first = page.evaluate("app.rootGraph.id")
    Editor.open(page, "0,3/4", beside=True)
    back_to_tab(page, first)
    two_frames(page)
    assert editor.cells == "ooo..o.o.o"
    editor.click(3)
    assert editor.text == "0-3,5,7,9/10"


def test_a_saved_workflow_opens_in_the_size_it_had(page):
    editor = Editor.open(page, TEN)
    editor.find("steps").fill("120")
    editor.press("Tab")
    two_frames(page)
    saved = page.evaluate("app.rootGraph.serialize()")
    page.evaluate("saved => app.loadGraphData(saved)", saved)
    two_frames(page)
    two_frames(page)
    assert page.evaluate("[...app.rootGraph.getNodeById(1).size]") == saved["nodes"][0]["size"]


@pytest.mark.long
def test_without_the_packs_scripts_the_text_field_works(page, url, browser):
    context = browser.new_context(viewport={"width": 1600, "height": 1000})
    bare = context.new_page()
    bare.route(f"**/extensions/{dev.PACK_NAME}/**", lambda route: route.abort())
    bare.goto(url, timeout=60_000)
    bare.wait_for_function(READY, timeout=60_000)
    load(bare, workflow_of(node(TEN)))
    assert bare.locator(".gph-editor").count() == 0
    editor = Editor(bare)
    editor.type("0,3/4")
    assert serialized(bare)["widgets_values"] == ["0,3/4"]
    assert prompt(bare)["1"]["inputs"] == {"schedule": "0,3/4"}
    context.close()


def test_the_help_page_is_there(page):
    status, text = page.evaluate(
        """async pack => {
          const found = await fetch(`/extensions/${pack}/docs/GPH_ScheduleEditor.md`);
          return [found.status, await found.text()];
        }""",
        dev.PACK_NAME,
    )
    assert status == 200
    assert text.startswith("# Schedule Editor")
