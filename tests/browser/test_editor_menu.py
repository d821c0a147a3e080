"""The menu of the Schedule Editor, of web/menu: with the right button, the keys, and its button."""

import pytest

from .editor import Editor, undo_depth
from .page import shortcut, two_frames

TEN = "0-2,5,9/10"  # ooo..o...o
OF_COMFYUI = ".litecontextmenu, .p-contextmenu, [role=menu]"


def commands(page):
    menu = page.locator('[data-testid="gph-commands"]')
    menu.wait_for()
    return menu


def right_click(page, editor, step):
    page.mouse.click(*editor.at(step), button="right")
    return commands(page)


def choose(page, menu, name):
    menu.locator(f'[data-command="{name}"]').click()
    menu.wait_for(state="detached")
    two_frames(page)


@pytest.mark.both_pages
def test_the_right_button_opens_the_editors_commands_and_elsewhere_comfyuis_own(page, renderer):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    editor = Editor.open(page, TEN)
    before = undo_depth(page)
    menu = right_click(page, editor, 4)
    two_frames(page)
    assert page.locator(OF_COMFYUI).count() == 0
    choose(page, menu, "copy")
    assert page.evaluate("navigator.clipboard.readText()") == TEN
    editor.drag(3, 6, key="Control")
    menu = right_click(page, editor, 8)
    assert "Steps 3 to 6 selected" in menu.inner_text()
    choose(page, menu, "invert")
    assert editor.cells == "ooooo.o..o"
    page.evaluate("navigator.clipboard.writeText('0,3/4')")
    choose(page, right_click(page, editor, 1), "paste")
    editor.wait_for_text("0,3/4")
    assert undo_depth(page) == before + 2
    page.mouse.click(1200, 800, button="right")
    two_frames(page)
    assert page.locator('[data-testid="gph-commands"]').count() == 0
    page.locator(OF_COMFYUI).first.wait_for()
    page.keyboard.press("Escape")
    page.mouse.click(1300, 900)


def test_the_menu_works_by_keys_alone(page):
    editor = Editor.open(page, TEN)
    editor.focus(3)
    editor.press("Shift+F10")
    menu = commands(page)
    name = "document.activeElement.dataset.command"
    assert page.evaluate(name) == "copy"
    editor.press("ArrowDown", "ArrowDown")
    assert page.evaluate(name) == "full"
    editor.press("Enter")
    menu.wait_for(state="detached")
    assert editor.cells == "o" * 10
    assert page.evaluate("document.activeElement.dataset.testid") == "gph-grid"
    editor.find("more").focus()
    editor.press("Enter")
    commands(page)
    editor.press("Escape")
    menu.wait_for(state="detached")
    assert page.evaluate("document.activeElement.dataset.testid") == "gph-more"
    assert editor.cells == "o" * 10


@pytest.mark.both_pages
def test_the_ends_of_a_run_become_full_by_percent(page):
    editor = Editor.open(page, "0/20")
    before = undo_depth(page)
    menu = right_click(page, editor, 4)
    assert "Full until  %, full from  %" in menu.inner_text()
    assert "Percent of the steps" in menu.inner_text()
    menu.get_by_role("button", name="Set").click()  # 15 and 95, as EasyCache has them
    two_frames(page)
    assert editor.text == "0-2,19/20"
    menu = right_click(page, editor, 4)
    menu.locator('[data-testid="gph-start"]').fill("0")
    menu.locator('[data-testid="gph-end"]').fill("80")
    menu.locator('[data-testid="gph-end"]').press("ArrowUp")  # changes the number, as everywhere
    menu.locator('[data-testid="gph-end"]').press("ArrowDown")
    menu.locator('[data-testid="gph-end"]').press("Enter")
    menu.wait_for(state="detached")
    two_frames(page)
    assert editor.text == "0-2,16-19/20"
    assert undo_depth(page) == before + 2
    shortcut(page, "Control", "z")
    assert editor.text == "0-2,19/20"


def test_what_cannot_be_done_is_off_in_the_menu_too(page):
    editor = Editor.open(page, TEN)
    editor.use("lock")
    menu = right_click(page, editor, 4)
    assert menu.locator('[data-command="invert"]').is_disabled()
    assert menu.locator('[data-command="lock"]').inner_text() == "Unlock the number of full steps"
    choose(page, menu, "lock")
    assert editor.find("lock").get_attribute("aria-pressed") == "false"
    editor.type("no schedule")
    menu = right_click(page, editor, 4)
    assert menu.locator('[data-command="full"]').is_disabled()
    assert menu.get_by_role("button", name="Set").is_disabled()
    assert menu.locator('[data-command="paste"]').is_enabled()
    page.keyboard.press("Escape")
