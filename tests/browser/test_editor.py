"""Shaping a schedule with pointer, keys, buttons and text: web/editor."""

import pytest

from .editor import Editor, serialized, settle, undo_depth
from .page import two_frames

TEN = "0-2,5,9/10"  # ooo..o...o


def test_the_cells_show_the_text(page):
    editor = Editor.open(page, TEN)
    assert editor.cells == "ooo..o...o"
    assert editor.find("figures").inner_text() == (
        "5 of 10 full · 5 cached, 50 % · up to 2× · longest gap 3"
    )


def test_a_click_toggles_one_cell_as_one_undo_step(page):
    editor = Editor.open(page, TEN)
    before = undo_depth(page)
    editor.click(7)
    assert (editor.cells, editor.text) == ("ooo..o.o.o", "0-2,5,7,9/10")
    assert undo_depth(page) == before + 1
    editor.click(1)
    assert editor.text == "0,2,5,7,9/10"
    assert undo_depth(page) == before + 2


@pytest.mark.both_pages
def test_dragging_paints_what_the_first_cell_became_and_is_one_undo_step(page):
    editor = Editor.open(page, TEN)
    before = undo_depth(page)
    place = serialized(page)["pos"]
    editor.drag(3, 8)
    assert editor.cells == "ooooooooo" + "o"
    editor.drag(9, 4)
    assert editor.cells == "oooo......"
    assert undo_depth(page) == before + 2
    assert serialized(page)["pos"] == place


def test_a_fast_pointer_skips_no_cell(page):
    editor = Editor.open(page, "0,29/30")
    editor.drag(1, 19, moves=1)
    assert editor.cells == "o" * 20 + "." * 9 + "o"


def test_painting_across_rows_paints_only_what_is_touched(page):
    editor = Editor.open(page, "0,29/30")  # two rows of at most 20
    editor.drag(5, 25)
    assert editor.text == "0,5,25,29/30"


def test_shift_drag_moves_a_full_step_as_one_undo_step(page):
    editor = Editor.open(page, TEN)
    before = undo_depth(page)
    editor.drag(5, 7, key="Shift")
    assert editor.cells == "ooo....o.o"
    assert undo_depth(page) == before + 1


def test_step_0_stays_full(page):
    editor = Editor.open(page, TEN)
    editor.click(0)
    editor.press("Delete", "c", " ")
    editor.use("cached")
    assert editor.cells == "o........."
    assert "always full" in editor.root.query_selector('[data-step="0"]').get_attribute("title")


@pytest.mark.parametrize("scale", [0.7, 1.8])
def test_a_click_hits_the_cell_under_it_at_every_zoom(page, scale):
    editor = Editor.open(page, "0,19/20", scale)
    for step in (1, 10, 18):
        editor.click(step)
    assert editor.text == "0-1,10,18-19/20"


def test_ctrl_drag_selects_a_range_for_buttons_and_keys(page):
    editor = Editor.open(page, TEN)
    before = undo_depth(page)
    editor.drag(3, 6, key="Control")
    assert "Steps 3 to 6 selected" in editor.messages
    assert undo_depth(page) == before
    editor.use("invert")
    assert editor.cells == "ooooo.o..o"
    editor.find("grid").focus()
    editor.press("c")
    assert editor.cells == "ooo......o"
    editor.press("Escape", "f")
    assert editor.cells == "ooo...o..o"


def test_ctrl_click_selects_from_the_last_cell(page):
    editor = Editor.open(page, TEN)
    editor.focus(2)
    editor.click(7, key="Control")
    assert "Steps 2 to 7 selected" in editor.messages


def test_each_button_changes_everything_as_one_undo_step(page):
    editor = Editor.open(page, TEN)
    shown = {  # each after the one before
        "right": "oooo..o...", "left": "ooo..o...o", "invert": "o..oo.ooo.", "cached": "o.........",
        "full": "oooooooooo",
    }  # fmt: skip
    for n, (button, cells) in enumerate(shown.items(), undo_depth(page) + 1):
        editor.use(button)
        assert (editor.cells, undo_depth(page)) == (cells, n), button


def test_fill_uniform_is_the_servers_rule(page):
    editor = Editor.open(page, "0-5/12")
    before = undo_depth(page)
    editor.use("uniform")
    # 0 and 11, and four more at floor(i * 11 / 5) for i = 1 to 4.
    editor.wait_for_text("0,2,4,6,8,11/12")
    assert undo_depth(page) == before + 1


def test_an_answer_of_a_proxy_is_reported(page):
    page.route("**/golden_path/uniform", lambda route: route.fulfill(status=503, body="<p>no"))
    try:
        editor = Editor.open(page, TEN)
        editor.use("uniform")
        page.get_by_text("without a reason").last.wait_for()
        assert editor.text == TEN
    finally:
        page.unroute("**/golden_path/uniform")


def test_keys_go_toggle_and_set(page):
    editor = Editor.open(page, "0,19,29/30")
    editor.focus()
    editor.press("ArrowRight", " ", "ArrowDown", "Enter", "ArrowLeft", "f", "ArrowUp", "ArrowUp")
    assert editor.text == "0-1,19-21,29/30"
    editor.press("End", "Delete", "Home", "ArrowLeft", "ArrowRight", "Backspace")
    assert editor.text == "0,19-21/30"


def test_shift_and_an_arrow_move_the_full_step_under_the_cursor(page):
    editor = Editor.open(page, TEN)
    editor.focus(5)
    before = undo_depth(page)
    editor.press("Shift+ArrowRight", "Shift+ArrowRight")
    assert editor.cells == "ooo....o.o"
    assert undo_depth(page) == before + 2
    editor.press(*["Shift+ArrowLeft"] * 5)  # it stops behind the last cached place
    assert editor.cells == "oooo.....o"


def test_shift_home_and_end_select_to_the_ends(page):
    editor = Editor.open(page, TEN)
    editor.focus(4)
    editor.press("Shift+End", "f")
    assert editor.cells == "ooo.oooooo"
    editor.press("Escape", "Shift+Home", "c")
    assert editor.cells == "o........."


def test_keys_of_the_page_do_not_reach_it_from_the_cells(page):
    editor = Editor.open(page, TEN)
    page.evaluate("app.canvas.selectNode(app.rootGraph.getNodeById(1))")
    editor.focus(5)
    editor.press("Delete", "w", "q", "m")
    assert page.evaluate("app.rootGraph.nodes.length") == 1
    assert page.evaluate("app.rootGraph.getNodeById(1).mode") == 0
    assert editor.cells == "ooo......o"


def test_locked_every_edit_is_a_swap(page):
    editor = Editor.open(page, TEN)
    editor.use("lock")
    for act in (
        lambda: editor.click(4),
        lambda: editor.click(2),
        lambda: editor.drag(4, 8),
        lambda: editor.drag(9, 6),
        lambda: editor.use("right"),
        lambda: editor.press("f", "ArrowLeft", "c", " "),
    ):
        act()
        assert editor.cells.count("o") == 5
    assert editor.text != TEN
    assert editor.find("invert").is_disabled()
    assert editor.find("steps").is_disabled()


def test_the_lock_is_an_undo_step_and_is_saved(page):
    editor = Editor.open(page, TEN)
    before = undo_depth(page)
    editor.use("lock")
    assert undo_depth(page) == before + 1
    saved = page.evaluate("app.rootGraph.serialize()")
    page.evaluate("saved => app.loadGraphData(saved)", saved)
    two_frames(page)
    assert editor.find("lock").get_attribute("aria-pressed") == "true"
    editor.use("lock")
    assert editor.find("lock").get_attribute("aria-pressed") == "false"


def test_more_steps_are_full_ones_and_fewer_cut_the_end(page):
    editor = Editor.open(page, "0,4/6")
    before = undo_depth(page)
    editor.find("steps").fill("8")
    editor.press("Tab")
    assert editor.cells == "o...o.oo"
    assert undo_depth(page) == before + 1
    editor.find("steps").fill("5")
    editor.press("Enter")
    assert editor.text == "0,4/5"


def test_rows_that_come_and_go_resize_the_node_within_the_same_undo_step(page):
    editor = Editor.open(page, "0/20", size=[400, 100])  # no room to spare
    two_frames(page)
    height = "app.rootGraph.getNodeById(1).size[1]"
    before = page.evaluate(height)
    depth = undo_depth(page)
    for _ in range(2):
        editor.find("steps").fill("100")  # five rows
        editor.press("Tab")
        assert page.evaluate(height) == before + 80
        editor.find("steps").fill("20")
        editor.press("Tab")
        assert page.evaluate(height) == before
    page.mouse.click(1300, 900)  # here the page would notice a change without a step
    assert undo_depth(page) == depth + 4


def test_drawing_anew_leaves_the_number_that_is_being_typed(page):
    editor = Editor.open(page, "0-1,3/4")
    editor.find("steps").fill("3")
    # As an answer of the server does, which may come at any time.
    page.evaluate("app.rootGraph.getNodeById(1).widgets[0].callback()")
    editor.press("Tab")
    editor.wait_for_text("0-1/3")


def test_an_impossible_number_of_steps_changes_nothing(page):
    editor = Editor.open(page, TEN)
    for count in ("0", "201", "", "2.5"):
        editor.find("steps").fill(count)
        editor.press("Tab")
        assert (editor.text, editor.find("steps").input_value()) == (TEN, "10"), count


def test_both_forms_of_text_are_understood_and_left_as_typed(page):
    editor = Editor.open(page, TEN)
    for text, cells in (("0,3/5", "o..o."), (" 00 1 1 0 ", "oo..o")):
        editor.type(text)
        assert editor.cells == cells
        editor.click(0)  # changes nothing
        assert editor.text.strip() == text.strip()


def test_wrong_text_is_marked_with_its_reason_and_kept(page):
    editor = Editor.open(page, TEN)
    editor.type("0-2,x/10")
    assert "'x' in '0-2,x/10' is not a step number" in editor.messages
    assert editor.root.query_selector("[role=alert]")
    assert editor.find("figures").inner_text() == editor.find("steps").input_value() == ""
    editor.click(4)
    editor.find("grid").focus()
    editor.press("f", "Delete")
    assert editor.text == "0-2,x/10"
    saved = page.evaluate("app.rootGraph.serialize()")
    page.evaluate("saved => app.loadGraphData(saved)", saved)
    two_frames(page)
    assert editor.text == "0-2,x/10"
    assert "'x' in '0-2,x/10' is not a step number" in editor.messages
    editor.type(TEN)
    editor.type("0-2,x/10")
    editor.root.query_selector("[role=alert] button").click()
    assert editor.text == TEN
    assert "is not a step number" not in editor.messages


def test_texts_that_are_schedules_for_nobody_or_elsewhere_say_why(page):
    editor = Editor.open(page, TEN)
    for text, why in (
        ("0/201", "at most 200 steps, this schedule has 201"), ("1/3", "step 0 is cached"),
        (" ", "has no step count"),
    ):  # fmt: skip
        editor.type(text)
        assert why in editor.messages


def test_200_steps_are_all_there_and_work(page):
    editor = Editor.open(page, "0/200")
    assert len(editor.cells) == 200
    editor.click(199)
    assert editor.text == "0,199/200"
    box, last = editor.root.bounding_box(), editor.at(199)
    assert box["y"] < last[1] < box["y"] + box["height"]


def test_copy_and_paste_of_the_text(page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    editor = Editor.open(page, TEN)
    before = undo_depth(page)
    editor.use("copy")
    assert page.evaluate("navigator.clipboard.readText()") == TEN
    page.evaluate("navigator.clipboard.writeText(' 0,3/4\\n')")
    editor.use("paste")
    editor.wait_for_text("0,3/4")
    assert undo_depth(page) == before + 1


@pytest.mark.both_pages
def test_a_pasted_text_that_is_no_schedule_leaves_the_present_one_and_says_why(page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    editor = Editor.open(page, TEN)
    settle(page)
    before = undo_depth(page)
    for text, why in (
        ("a cat on a mat", "'a cat on a mat' has no step count"),
        ("0/201", "the editor takes at most 200 steps"),
    ):
        page.evaluate("text => navigator.clipboard.writeText(text)", text)
        editor.use("paste")
        page.get_by_text(why).last.wait_for()
        assert (editor.text, editor.cells) == (TEN, "ooo..o...o")
    assert page.get_by_text("Nothing was pasted; the schedule stays").count()
    assert undo_depth(page) == before
    editor.click(7)
    editor.undo()
    assert editor.text == TEN


def test_without_the_clipboard_a_wrong_text_stays_in_the_dialog(page):
    editor = Editor.open(page, TEN)
    page.evaluate("""() => Object.defineProperty(navigator, "clipboard", {
      value: { readText: () => Promise.reject(new Error("no")) }, configurable: true })""")
    try:
        editor.use("paste")
        field = page.locator("[role=dialog] input")
        field.fill("0,3")
        field.press("Enter")
        page.locator("[role=dialog]").get_by_text("'0,3' has no step count").wait_for()
        assert field.input_value() == "0,3"
        field.fill("0,3/4")
        field.press("Enter")
        editor.wait_for_text("0,3/4")
    finally:
        page.evaluate("delete navigator.clipboard")


def test_full_and_cached_differ_by_more_than_colour(page):
    editor = Editor.open(page, TEN)
    image = "(cell) => getComputedStyle(cell, '::before').backgroundImage"
    full, cached = (editor.root.query_selector(f'[data-step="{n}"]') for n in (1, 3))
    assert full.evaluate(image) == "none"
    assert "gradient" in cached.evaluate(image)


def test_a_screen_reader_gets_a_list_of_steps_with_one_tab_stop(page):
    editor = Editor.open(page, TEN)
    grid = editor.find("grid")
    assert grid.get_attribute("role") == "listbox"
    assert grid.get_attribute("aria-label") == "Schedule of 10 steps"
    editor.focus(5)
    active = grid.get_attribute("aria-activedescendant")
    label = editor.root.query_selector(f'[id="{active}"]').get_attribute("aria-label")
    assert label == "Step 5 of 10: full"
    assert grid.evaluate("g => g.querySelectorAll('[tabindex]').length") == 0
    assert editor.find("figures").get_attribute("role") == "status"
    buttons = editor.root.query_selector_all("button")
    assert all(button.get_attribute("aria-label") for button in buttons)
