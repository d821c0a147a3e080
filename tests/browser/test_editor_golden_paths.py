"""The menu of golden paths, of web/library: taken, adapted, saved, shared, imported."""

import json

import pytest

from .editor import OWN_PATHS, Editor, node, remove_path, settle, share_fitted, undo_depth
from .page import added, connect, load, two_frames, workflow_of


def open_menu(page, editor):
    editor.use("presets")
    menu = page.locator('[data-testid="gph-menu"]')
    menu.wait_for()
    return menu


def answer(page, text):
    """Fill in a dialog of ComfyUI's."""
    page.locator("[role=dialog] input").fill(text)
    page.locator("[role=dialog] input").press("Enter")
    page.locator("[role=dialog]").wait_for(state="detached")


def beside_a_loader(page, text):
    """An editor, and a node that loads the demo model."""
    outputs = [{"name": kind, "type": kind, "links": None} for kind in ("MODEL", "VAE", "CLIP")]
    loader = {"id": 2, "type": "GPH_DemoModel", "pos": [500, 0], "size": [240, 90]}
    loader |= {"outputs": outputs}
    load(page, workflow_of(node(text), loader))
    return Editor(page)


def test_a_published_path_of_the_same_steps_is_found_and_taken_as_it_is(page):
    editor = beside_a_loader(page, "0-49/50")
    settle(page)
    before = undo_depth(page)
    menu = open_menu(page, editor)
    groups = menu.locator("details")
    own_model = groups.filter(has_text="Golden Path Demo Model (this workflow's model) 15")
    assert own_model.locator(".gph-path").count() == 15
    other = groups.filter(has_text="Z-Image")
    assert other.locator(".gph-path").count() == 0  # those of other models are folded
    other.locator("summary").click()
    other.locator(".gph-path").nth(4).wait_for()
    assert other.locator(".gph-path").count() == 5
    page.keyboard.press("ArrowUp")
    menu.get_by_role("searchbox").fill("flux 13 of 50")
    path = menu.locator(".gph-path").first
    assert path.inner_text().splitlines()[-1] == (
        "13 of 50 full · PSNR 24.8 dB · residual reuse · published"
    )
    path.click()
    two_frames(page)
    assert editor.cells.count("o") == 13
    assert undo_depth(page) == before + 1
    assert menu.count() == 0


def test_a_path_of_other_steps_is_adapted(page):
    editor = Editor.open(page, "0-19/20")
    menu = open_menu(page, editor)
    menu.locator("summary", has_text="FLUX.1-dev").click()
    menu.get_by_text("adapted when chosen, not measured").first.wait_for()
    menu.locator(".gph-path", has_text="of 50 full").first.click()
    page.wait_for_function("app.rootGraph.getNodeById(1).widgets[0].value !== '0-19/20'")
    assert len(editor.cells) == 20
    page.get_by_text("not measured").first.wait_for()


def test_the_paths_that_speeds_take_are_marked_and_what_came_with_the_pack_says_so(page):
    load(page, workflow_of())
    loader = added(page, "GPH_DemoModel", [0, 420])
    cache = added(page, "GPH_Cache", [450, 0])
    sampler = added(page, "KSampler", [900, 0], cfg=5.0)
    editor = Editor(page, added(page, "GPH_ScheduleEditor", [0, 0]))  # of 50 steps
    connect(page, loader, 0, cache, "model")
    connect(page, cache, 0, sampler, "model")
    connect(page, editor.id, 0, cache, "schedule")
    menu = open_menu(page, editor)
    entries = [path.inner_text().splitlines() for path in menu.locator(".gph-path").all()]
    # The sampler has CFG 5; the speed stands beside the name.
    assert [name for name, *_ in entries if name.endswith(("Quality", "Balanced", "Fast"))] == [
        f"Golden Path Demo Model, {full} of 50, fitted, CFG 5 {speed}"
        for full, speed in ((21, "Quality"), (13, "Balanced"), (9, "Fast"))
    ]
    facts = [lines[-1] for lines in entries]
    assert "13 of 50 full · PSNR 41.7 dB · fitted · came with the pack" in facts
    assert [line for line in facts if not line.endswith("came with the pack")] == []
    page.keyboard.press("Escape")


def test_escape_closes_the_menu_and_gives_the_focus_back(page):
    editor = Editor.open(page, "0-19/20")
    menu = open_menu(page, editor)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    menu.wait_for(state="detached")
    assert page.evaluate("document.activeElement.dataset.testid") == "gph-presets"
    assert editor.text == "0-19/20"


def test_an_own_path_is_saved_shared_renamed_deleted_and_imported(page, renderer):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    mine, renamed = f"mine {renderer}", f"ours {renderer}"
    editor = Editor.open(page, "0-2,5,9/10")

    open_menu(page, editor).get_by_text("Save this schedule").click()
    answer(page, mine)
    page.get_by_text(f"Saved as {mine}").first.wait_for()

    open_menu(page, editor).get_by_label(f"Copy {mine} as text to share").click()
    page.get_by_text(f"Copied {mine} to the clipboard").first.wait_for()
    shared = page.evaluate("navigator.clipboard.readText()")
    assert json.loads(shared)["schedule"] == "0-2,5,9/10"

    open_menu(page, editor).get_by_label(f"Rename {mine}").click()
    answer(page, renamed)
    menu = open_menu(page, editor)
    assert menu.get_by_text(renamed, exact=True).count() == 1
    assert menu.get_by_text(mine, exact=True).count() == 0

    menu.get_by_label(f"Delete {renamed}").click()
    page.locator("[role=dialog]").get_by_role("button", name="Confirm").click()
    page.get_by_text(f"Deleted {renamed}").first.wait_for()

    open_menu(page, editor).get_by_text("Import from text…").click()
    answer(page, shared)
    page.get_by_text(f"Saved as {mine}").first.wait_for()
    editor.use("full")
    open_menu(page, editor).locator(".gph-own .gph-path", has_text=mine).click()
    editor.wait_for_text("0-2,5,9/10")

    open_menu(page, editor).get_by_label(f"Delete {mine}").click()
    page.locator("[role=dialog]").get_by_role("button", name="Confirm").click()
    page.get_by_text(f"Deleted {mine}").first.wait_for()


def test_an_own_path_is_shared_as_a_file(page, renderer, tmp_path):
    name = f"filed {renderer}"
    editor = Editor.open(page, "0-2,5,9/10")
    open_menu(page, editor).get_by_text("Save this schedule").click()
    answer(page, name)
    page.get_by_text(f"Saved as {name}").first.wait_for()

    with page.expect_download() as download:
        open_menu(page, editor).get_by_label(f"Save {name} as a file to share").click()
    assert download.value.suggested_filename == f"{name}.json"
    file = tmp_path / "shared.json"
    download.value.save_as(file)
    assert json.loads(file.read_text("utf-8"))["schedule"] == "0-2,5,9/10"
    remove_path(page, name)

    with page.expect_file_chooser() as chooser:
        open_menu(page, editor).get_by_text("Import from file…").click()
    chooser.value.set_files(file)
    editor.use("full")
    own = f".gph-own .gph-path:has-text('{name}')"
    page.wait_for_function(f"async () => (await fetch('{OWN_PATHS}/{name}')).ok")
    open_menu(page, editor).locator(own).click()
    editor.wait_for_text("0-2,5,9/10")
    remove_path(page, name)


def test_a_taken_name_is_replaced_only_when_confirmed(page, renderer):
    name = f"taken {renderer}"
    editor = Editor.open(page, "0-2,5,9/10")
    open_menu(page, editor).get_by_text("Save this schedule").click()
    answer(page, name)
    page.locator("[role=dialog]").wait_for(state="detached")
    editor.click(7)
    open_menu(page, editor).get_by_text("Save this schedule").click()
    page.locator("[role=dialog] input").fill(name)
    page.locator("[role=dialog] input").press("Enter")
    page.locator("[role=dialog]").get_by_role("button", name="Cancel").click()
    page.locator("[role=dialog]").get_by_text(f"{name} is kept as it is").wait_for()
    assert page.locator("[role=dialog] input").input_value() == name
    page.locator("[role=dialog] input").press("Enter")
    page.locator("[role=dialog]").get_by_role("button", name="Confirm").click()
    page.locator("[role=dialog]").wait_for(state="detached")
    saved = """async name => (await (await fetch(
      "/golden_path/user_paths/" + encodeURIComponent(name))).json()).schedule"""
    page.wait_for_function(f"async name => await ({saved})(name) === '0-2,5,7,9/10'", arg=name)
    remove_path(page, name)


@pytest.mark.both_pages
def test_a_refused_name_stays_in_the_dialog_with_the_reason(page, renderer):
    name = f"mended {renderer}"
    editor = Editor.open(page, "0-2,5,9/10")
    open_menu(page, editor).get_by_text("Save this schedule").click()
    dialog = page.locator("[role=dialog]")
    field = dialog.locator("input")
    field.fill(f"{name}/2")
    field.press("Enter")
    dialog.get_by_text("contains '/'; letters, digits").wait_for()
    assert field.input_value() == f"{name}/2"
    answer(page, name)
    page.get_by_text(f"Saved as {name}").first.wait_for()

    open_menu(page, editor).get_by_label(f"Rename {name}").click()
    field.fill("a:b")
    field.press("Enter")
    dialog.get_by_text("contains ':'; letters, digits").wait_for()
    assert field.input_value() == "a:b"
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    remove_path(page, name)


def test_a_broken_file_is_named_and_the_others_are_there(page):
    answer = {
        "paths": [{
            "id": "user/a", "name": "<b>a</b>", "model": "", "family": "", "schedule": "0,3/4",
            "num_steps": 4, "num_full": 2, "policy": "residual reuse", "origin": "published",
            "card": "card", "models": [], "speed": "", "fitted": "", "psnr": None,
        }],
        "broken": [{"file": "old.json", "reason": "it is no JSON"}],
    }  # fmt: skip
    page.route("**/golden_path/paths*", lambda route: route.fulfill(json=answer))
    try:
        editor = Editor.open(page, "0-2,5,9/10")
        words = open_menu(page, editor).inner_text()
        assert "old.json cannot be read: it is no JSON" in words
        assert "<b>a</b>" in words
        page.keyboard.press("Escape")
    finally:
        page.unroute("**/golden_path/paths*")


def test_fitted_weights_are_lost_when_the_schedule_is_edited_and_the_editor_says_so(page, renderer):
    name = f"fitted {renderer}"
    share_fitted(page, name)
    editor = Editor.open(page, "0-3/4")
    open_menu(page, editor).locator(".gph-own .gph-path", has_text=name).click()
    editor.wait_for_text("0,2/4")
    editor.wait_for_message(f"Fitted weights not in use: choose fitted and yours: {name} in")
    editor.click(1)
    editor.wait_for_message(f"Fitted weights lost: the weights of yours: {name} apply")
    editor.root.query_selector("text=Restore").click()
    editor.wait_for_text("0,2/4")
    editor.wait_for_message("not in use")
    remove_path(page, name)
