"""A button gets its click, whatever is drawn between press and release: web/shared/press.js."""

from contextlib import contextmanager
from functools import partial

import pytest

from .editor import Editor
from .page import TRY, added, example, executed, load, named, two_frames, view, workflow_of
from .quality import REPORT
from .report import RECORD, panel, send

TEN = "0-2,5,9/10"
COUNT_CLICKS = """button => {
  window.gphClicks = 0;
  const count = event => { gphClicks += 1; event.stopImmediatePropagation(); };
  button.addEventListener("click", count, { capture: true, once: true });
}"""


@contextmanager
def pressed(page, button):
    """The pointer is down on the button, in the middle of a click."""
    button.wait_for_element_state("stable")
    box = button.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    yield
    page.mouse.up()
    two_frames(page)


@contextmanager
def pressed_by_key(page, button):
    """The space bar is down on the button."""
    button.focus()
    page.keyboard.down(" ")
    yield
    page.keyboard.up(" ")
    two_frames(page)


def editor(page):
    root = Editor.open(page, TEN).root
    return root, partial(executed, page, 1, {})


def report(page):
    load(page, named(page, example(TRY)))
    for run in (0, 1):
        send(page, "done", run=run, record=RECORD)
    return panel(page), partial(send, page, "done", run=1, record=RECORD)


def comparison(page):
    load(page, workflow_of())
    node = added(page, "GPH_QualityCompare")
    show = partial(executed, page, node, {"gph_quality": [{"parts": [REPORT]}]})
    show()
    return view(page, node, "quality_table"), show


@pytest.mark.both_pages
@pytest.mark.parametrize("opened", [editor, report, comparison])
def test_every_button_while_its_view_is_drawn(page, opened):
    root, draw = opened(page)

    def buttons():
        found = root.query_selector_all("button:enabled")
        return [button for button in found if button.is_visible()]

    count = len(buttons())
    assert count > 1
    for n in range(count):
        button = buttons()[n]
        button.evaluate(COUNT_CLICKS)
        with pressed(page, button):
            draw()
        assert page.evaluate("gphClicks") == 1, button.get_attribute("title")


def test_a_repair_while_what_is_wrong_changes(page):
    editor = Editor.open(page, TEN)
    editor.type("0,11/10")
    with pressed(page, editor.find("messages").query_selector("button")):
        editor.type("0,12/10")
        assert "11" in editor.messages  # until the click
    assert editor.text == TEN
    assert "12" not in editor.messages


@pytest.mark.parametrize("end", ["contextmenu", "blur"])
def test_a_press_whose_release_never_comes_holds_nothing_up(page, end):
    """The browser's menu, or another window, has it."""
    load(page, named(page, example(TRY)))
    for run in (0, 1):
        send(page, "done", run=run, record=RECORD)
    panel(page).query_selector(".gph-report").dispatch_event("pointerdown", {"button": 0})
    page.evaluate("end => dispatchEvent(new Event(end))", end)
    send(page, "done", run=2, record=RECORD)
    assert "Run 3 of 3" in panel(page).inner_text()


@pytest.mark.parametrize("press", [pressed, pressed_by_key])
def test_an_older_run_while_one_begins(page, press):
    load(page, named(page, example(TRY)))
    for run in (0, 1):
        send(page, "done", run=run, record=RECORD)
    with press(page, panel(page).query_selector('[data-gph-go="-1"]')):
        send(page, "done", run=2, record=RECORD)
    assert "Run 1 of 3" in panel(page).inner_text()
