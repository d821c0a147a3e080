"""After a reload the workflow is as it was left, and its views (web/shared/views.js) work."""

import pytest

from .editor import Editor, serialized
from .page import (
    READY,
    TRY,
    added,
    connect,
    example,
    load,
    named,
    run,
    strip,
    two_frames,
    workflow_of,
)
from .report import SEEDS, is_idle, panel, sampler

REPORTS = "**/golden_path/reports/**"


@pytest.fixture
def keeping(page):
    """A page that keeps drafts, as it does unless a test says otherwise."""
    keep = "on => app.extensionManager.setting.set('Comfy.Workflow.Persist', on)"
    page.evaluate(keep, True)
    yield
    page.evaluate(keep, False)


def reload(page, text):
    """Load the page anew once its draft has this text."""
    page.wait_for_function(
        """text => [localStorage, sessionStorage].some(storage =>
          Object.values(storage).some(value => value.includes(text)))""",
        arg=text,
    )
    page.reload()
    page.wait_for_function(READY)
    two_frames(page)


def test_an_edited_schedule_is_still_there_and_editable(page, keeping):
    editor = Editor.open(page, "0-2,5,9/10")
    editor.click(4)
    assert editor.text == "0-2,4-5,9/10"
    reload(page, editor.text)
    assert editor.cells == "ooo.oo...o"
    editor.click(7)
    assert editor.text == "0-2,4-5,7,9/10"
    assert serialized(page)["widgets_values"] == [editor.text]
    editor.undo()
    assert editor.cells == "ooo.oo...o"


@pytest.mark.long
def test_the_last_comparison_is_shown_again(page, keeping):
    load(page, named(page, workflow_of()), beside=True)
    compare = added(page, "GPH_QualityCompare", (340, 0))
    for name, color in (("reference", 0x123456), ("test", 0x654321)):
        picture = added(page, "EmptyImage", width=64, height=64, batch_size=1, color=color)
        connect(page, picture, 0, compare, name)
    assert run(page) == "execution_success"
    reload(page, "golden_path_comparison")
    page.locator(".gph-verdict").wait_for()
    page.wait_for_function("document.querySelector('img.gph-test').naturalWidth === 64")


def test_the_report_is_there_again_though_an_equal_prompt_runs_nothing(page, keeping):
    workflow = named(page, example(TRY))
    settings = sampler(workflow)
    settings[0], settings[2] = next(SEEDS), 12
    load(page, workflow, beside=True)  # the draft of a new tab is kept at once
    assert run(page) == "execution_success"
    before = panel(page).inner_text()
    assert strip(panel(page)).count("full") == 5
    page.route(REPORTS, lambda route: route.fulfill(status=503))
    with page.expect_response(REPORTS):
        reload(page, workflow["id"])
    two_frames(page)
    assert is_idle(panel(page))
    page.unroute_all()
    load(page, workflow)  # asks again
    is_before = "text => document.querySelector('.gph-report')?.innerText === text"
    page.wait_for_function(is_before, arg=before)  # what can be learned follows the settings
    assert run(page) == "execution_success"
    assert panel(page).inner_text() == before
