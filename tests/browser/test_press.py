"""A button gets its click, whatever is drawn between press and release: web/shared/press.js."""

from contextlib import contextmanager

import pytest

from .editor import Editor
from .page import TRY, example, executed, load, named, two_frames
from .report import RECORD, panel, send

TEN = "0-2,5,9/10"


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


@pytest.mark.both_pages
def test_the_lock_while_an_output_comes(page):
    editor = Editor.open(page, TEN)
    with pressed(page, editor.find("lock")):
        executed(page, 1, {})
    assert editor.find("lock").get_attribute("aria-pressed") == "true"


def test_a_repair_while_what_is_wrong_changes(page):
    editor = Editor.open(page, TEN)
    editor.type("0,11/10")
    with pressed(page, editor.find("messages").query_selector("button")):
        editor.type("0,12/10")
        assert "11" in editor.messages  # until the click
    assert editor.text == TEN
    assert "12" not in editor.messages


def test_an_older_run_while_one_begins(page):
    load(page, named(page, example(TRY)))
    for run in (0, 1):
        send(page, "done", run=run, record=RECORD)
    with pressed(page, panel(page).query_selector('[data-gph-go="-1"]')):
        send(page, "done", run=2, record=RECORD)
    assert "Run 1 of 3" in panel(page).inner_text()
