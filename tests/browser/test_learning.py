"""What a report says of learning, and its buttons: web/report/learning.js."""

import itertools
import json
from urllib.parse import unquote

import pytest

from .page import (
    TRY,
    added,
    example,
    load,
    named,
    set_widget,
    state,
    tell,
    widget_value,
)
from .report import NODE, RECORD, SAMPLER, panel, send

NAMES = (f"learned, Demo, 13 of 50, CFG 5, a1b2c{n}" for n in itertools.count())
LEARN = "Learn from my next 2 images"
ROUTE = "**/golden_path/learned/*"


@pytest.fixture
def workflow(page):
    """The bundled workflow, opened under an id of its own."""
    workflow = named(page, example(TRY))
    load(page, workflow)
    return workflow


@pytest.fixture
def name():
    """Of something learned that no message is about yet."""
    return next(NAMES)


@pytest.fixture
def route(page):
    """What answers the route, at first with success; the names that were to be forgotten."""
    asked, answers = [], [(200, {})]

    def answer(route):
        assert route.request.method == "DELETE"
        asked.append(unquote(route.request.url.rpartition("/")[2]))
        status, body = answers[-1]
        route.fulfill(status=status, json=body)

    page.route(ROUTE, answer)
    yield asked, answers
    page.unroute(ROUTE)


def ran(page, node=NODE, prompt="p", run=0, **learning):
    """A run from its beginning to its end."""
    send(page, "planned", node=node, prompt=prompt, run=run, schedule="0-1,3/5", **learning)
    send(page, "running", node=node, prompt=prompt, run=run, step=0, kind="full")
    send(page, "done", node=node, prompt=prompt, run=run, record=RECORD)


def buttons(page, node=NODE):
    return [
        button.inner_text()
        for button in panel(page, node).query_selector_all(".gph-report-learning button")
    ]


def wait_for_buttons(page, *labels):
    page.wait_for_function(
        """([panel, labels]) => {
          const found = [...panel.querySelectorAll(".gph-report-learning button")];
          return JSON.stringify(found.map(button => button.innerText)) === labels;
        }""",
        arg=[panel(page), json.dumps(labels, separators=(",", ":"))],
    )


def press(page, label):
    """Press a button, which may be drawn anew meanwhile."""
    page.locator(f".gph-report-learning button:text-is('{label}')").first.click()


def answer(page, words, label):
    """Press a button of the dialog that asks with these words."""
    dialog = page.locator("[role=dialog]")
    assert words in dialog.inner_text()
    dialog.get_by_role("button", name=label).click()
    dialog.wait_for(state="detached")


@pytest.mark.both_pages
def test_a_press_lets_the_node_learn_from_the_next_images(page, workflow):
    ran(page, learnable=True)
    wait_for_buttons(page, LEARN)
    send(page, "planned", prompt="q", schedule="0-1,3/5", learnable=True)
    assert buttons(page) == []
    send(page, "done", prompt="q", record=RECORD)
    assert buttons(page) == [LEARN]
    before = state(page)[0]
    press(page, LEARN)
    assert widget_value(page, NODE, "learn") == "from 2 images"
    wait_for_buttons(page)
    assert state(page)[0] == before + 1
    set_widget(page, NODE, "learn", "off")
    wait_for_buttons(page, LEARN)


def test_the_report_offers_to_learn_only_where_that_counts(page, workflow):
    ran(page, learnable=True)
    wait_for_buttons(page, LEARN)
    ran(page, prompt="q")
    assert buttons(page) == []
    ran(page, prompt="r", learnable=True)
    assert buttons(page) == [LEARN]
    for name, value, usual in (
        ("learn", "from 4 images", "off"), ("speed", "Custom", "Fast"), ("speed", "Off", "Fast"),
    ):  # fmt: skip
        set_widget(page, NODE, name, value)
        wait_for_buttons(page)
        set_widget(page, NODE, name, usual)
        wait_for_buttons(page, LEARN)
    page.evaluate("""id => {
      const node = app.rootGraph.getNodeById(id);
      const source = LiteGraph.createNode("PrimitiveNode");
      app.rootGraph.add(source);
      app.canvas.emitBeforeChange();
      source.connect(0, node, node.inputs.findIndex(input => input.name === "learn"));
      app.canvas.emitAfterChange();
    }""", NODE)  # fmt: skip
    wait_for_buttons(page)


def test_the_report_follows_a_field_that_another_extension_sets(page, workflow):
    ran(page, learnable=True)
    wait_for_buttons(page, LEARN)
    page.evaluate("""id => {
      const widget = app.rootGraph.getNodeById(id).widgets.find(w => w.name === "learn");
      widget.value = "from 2 images";
      widget.callback(widget.value);
    }""", NODE)  # fmt: skip
    wait_for_buttons(page)


def test_adaptive_cache_has_nothing_to_learn(page, workflow, name):
    node = added(page, "GPH_AdaptiveCache", [760, 300])
    ran(page, node=node, learned=name, learnable=True)
    page.wait_for_timeout(200)
    assert "faster" in panel(page, node).inner_text()
    assert buttons(page, node) == []


@pytest.mark.both_pages
def test_forgetting_asks_then_deletes_and_learns_no_more(page, workflow, route, name):
    asked, _ = route
    set_widget(page, NODE, "learn", "from 4 images")
    ran(page, learned=name)
    wait_for_buttons(page, "Learn again", "Forget")
    press(page, "Forget")
    answer(page, name, "Cancel")
    assert asked == []
    assert widget_value(page, NODE, "learn") == "from 4 images"
    press(page, "Forget")
    answer(page, name, "Confirm")
    page.get_by_text(f"Forgotten: {name}").first.wait_for()
    assert asked == [name]
    assert widget_value(page, NODE, "learn") == "off"
    wait_for_buttons(page)
    ran(page, prompt="q", learned=name)
    wait_for_buttons(page, "Learn again", "Forget")


def test_learning_again_deletes_and_learns_from_as_many_images_as_before(page, workflow, route):
    asked, _ = route
    names = [next(NAMES), next(NAMES)]
    for name, before, after in zip(
        names, ("off", "from 8 images"), ("from 2 images", "from 8 images"), strict=True
    ):
        set_widget(page, NODE, "learn", before)
        ran(page, prompt=name, learned=name)
        wait_for_buttons(page, "Learn again", "Forget")
        press(page, "Learn again")
        answer(page, name, "Confirm")
        page.get_by_text(f"Forgotten: {name}").first.wait_for()
        assert widget_value(page, NODE, "learn") == after
        wait_for_buttons(page)
    assert asked == names


def test_what_is_forgotten_is_so_on_every_node_and_in_every_run(page, workflow, route, name):
    other = added(page, "GPH_Cache", [760, 300])
    ran(page, node=other, learned=name)
    for run, other_name in enumerate((name, "another", name)):
        ran(page, run=run, learned=other_name)
    wait_for_buttons(page, "Learn again", "Forget")
    press(page, "Forget")
    answer(page, name, "Confirm")
    wait_for_buttons(page)
    assert buttons(page, other) == []
    panel(page).query_selector("[aria-label='Older run']").click()
    assert buttons(page) == ["Learn again", "Forget"]


def test_what_the_server_refuses_to_forget_stays(page, workflow, route, name):
    asked, answers = route
    answers.append((400, {"error": "it was not learned here"}))
    set_widget(page, NODE, "learn", "from 2 images")
    ran(page, learned=name)
    wait_for_buttons(page, "Learn again", "Forget")
    press(page, "Forget")
    answer(page, name, "Confirm")
    page.get_by_text("it was not learned here").first.wait_for()
    assert asked == [name]
    assert buttons(page) == ["Learn again", "Forget"]
    assert widget_value(page, NODE, "learn") == "from 2 images"


def test_the_server_forgets_by_the_name_of_the_report(page, workflow, name):
    ran(page, learned=name)
    wait_for_buttons(page, "Learn again", "Forget")
    press(page, "Forget")
    with page.expect_response(ROUTE) as response:
        answer(page, name, "Confirm")
    assert response.value.json() == {}
    wait_for_buttons(page)


def test_a_button_keeps_the_focus_while_the_report_is_drawn_anew(page, workflow, name):
    ran(page, learned=name)
    wait_for_buttons(page, "Learn again", "Forget")
    panel(page).query_selector("button:text('Forget')").evaluate(
        "b => { b.focus(); b.id = 'old'; }"
    )
    set_widget(page, NODE, "learn", "from 2 images")
    page.wait_for_function("!document.getElementById('old')")
    assert page.evaluate("document.activeElement.innerText") == "Forget"


def title(page):
    return panel(page).query_selector("[role=status]").inner_text()


def test_the_title_says_that_weights_are_fitted(page, workflow):
    """Before the first run, between the last step and the end, and before the next run."""
    line = "fitting: 64 evaluations, about 12 s"
    send(page, "fitting", prompt=None, line=line)
    assert panel(page).inner_text() == line
    send(page, "planned", schedule="0-1,3/5")
    assert title(page) == "About to start"
    send(page, "running", step=0, kind="full")
    send(page, "fitting", line=line)
    assert title(page) == line
    send(page, "done", record=RECORD | {"refused_steps": [], "cached_steps": [2, 4]})
    assert title(page) == "1.10× faster"
    send(page, "fitting", line="<b>fitting</b>")
    assert title(page) == "<b>fitting</b>"
    send(page, "fitting", line={"no": "text"})
    assert title(page) == "1.10× faster"


@pytest.fixture
def queue(page):
    """Function that queues the workflow under an id, on a server that computes nothing."""
    ids = []

    def answer(route):
        route.fulfill(json={"prompt_id": ids[-1], "number": 1, "node_errors": {}})

    def queue(prompt):
        ids.append(prompt)
        assert page.evaluate("app.queuePrompt(0, 1)")

    page.route("**/api/prompt", answer)
    yield queue
    page.unroute("**/api/prompt")


@pytest.mark.parametrize("told", [None, "p"], ids=["no prompt", "its prompt"])
def test_a_fit_that_was_cancelled_is_over(page, workflow, queue, told):
    """Before the first run, whether or not the server names its prompt."""
    queue("p")
    send(page, "fitting", prompt=told, line="fitting")
    assert title(page) == "fitting"
    end = {"prompt_id": "p", "node_id": str(SAMPLER), "node_type": "KSampler", "executed": []}
    tell(page, "execution_interrupted", end | {"workflow_id": workflow["id"]})
    assert title(page) == "Cancelled before the first step"
    queue("q")
    assert title(page) == "About to start"


def test_a_report_of_a_saved_image_offers_nothing_to_learn(page, workflow, name):
    record = RECORD | {"learned": name, "learnable": True}
    load(page, workflow | {"extra": {"golden_path": {str(NODE): [record]}}}, beside=True)
    page.wait_for_timeout(200)
    assert "from the saved image" in panel(page).inner_text()
    assert buttons(page) == []
    ran(page, learnable=True)
    wait_for_buttons(page, LEARN)
