"""What the Schedule Editor learns from connected nodes: web/shared/links.js."""

import json
import random
import re

import pytest

from .editor import (
    Editor,
    back_to_tab,
    node,
    remove_path,
    settle,
    share_fitted,
    undo_depth,
)
from .page import (
    TRY,
    example,
    executed,
    into_subgraph,
    load,
    named,
    run,
    set_widget,
    two_frames,
    workflow_of,
)
from .report import RECORD, send

EDITOR, SELECTOR, CACHE, SAMPLER = 60, 61, 2, 6
FLUX = "0-4,6,8,10,14,19,30,43,49/50"


@pytest.fixture
def around(page):
    """Opens the bundled workflow with an editor and a policy selector before the cache node."""

    def opened(text=FLUX, *, steps=50, speed="Custom", policy="residual reuse", path="none"):
        whole = named(page, example(TRY))
        nodes = {n["id"]: n for n in whole["nodes"]}
        nodes[SAMPLER]["widgets_values"][2] = steps
        cache = nodes[CACHE]
        cache["widgets_values"][0] = speed
        slots = {slot["name"]: n for n, slot in enumerate(cache["inputs"])}
        cache["inputs"][slots["schedule"]]["link"] = 90
        cache["inputs"][slots["policy"]]["link"] = 91
        selector = {
            "id": SELECTOR, "type": "GPH_PolicySelector", "pos": [0, 420], "size": [300, 100],
            "flags": {}, "order": 0, "mode": 0, "inputs": [], "properties": {},
            "outputs": [{"name": "policy", "type": "GPH_POLICY", "links": [91]}],
            "widgets_values": [policy, 1, 0.5, 4, "", "recursive", 0, 0, path],
        }  # fmt: skip
        whole["nodes"] += [node(text, EDITOR, (-110, 0), link=90), selector]
        for other in (CACHE, 3, 4, 5, SAMPLER, 7, 8, 1):
            nodes[other]["pos"] = [nodes[other]["pos"][0] + 700, nodes[other]["pos"][1]]
        whole["links"] += [
            [90, EDITOR, 0, CACHE, slots["schedule"], "GPH_SCHEDULE"],
            [91, SELECTOR, 0, CACHE, slots["policy"], "GPH_POLICY"],
        ]
        whole |= {"last_node_id": 99, "last_link_id": 99}
        load(page, whole)
        return Editor(page, EDITOR)

    return opened


def wait_for_source(page, editor, words):
    page.wait_for_function(
        """([root, words]) =>
          root.querySelector('[data-testid="gph-source"]').textContent === words""",
        arg=[editor.root, words],
    )


def test_a_schedule_that_fits_all_around_has_no_warning(page, around):
    editor = around()
    wait_for_source(page, editor, "noise: nominal")
    assert editor.root.query_selector(".gph-warning") is None


def test_other_steps_of_the_sampler_are_warned_of_and_adapted_to(page, around):
    editor = around(steps=20)
    editor.wait_for_message("The sampler takes 20 steps, this schedule has 50.")
    settle(page)
    before = undo_depth(page)
    editor.root.query_selector("text=Adapt to 20").click()
    page.wait_for_function(
        "id => app.rootGraph.getNodeById(id).widgets[0].value.endsWith('/20')", arg=EDITOR
    )
    assert undo_depth(page) == before + 1
    page.wait_for_function("root => !root.innerText.includes('The sampler takes')", arg=editor.root)


def test_the_samplers_steps_are_followed_while_they_change(page, around):
    editor = around()
    set_widget(page, SAMPLER, "steps", 30)
    editor.wait_for_message("The sampler takes 30 steps")
    set_widget(page, SAMPLER, "denoise", 0.6)  # the last 30 of 50 steps
    page.wait_for_function("root => !root.innerText.includes('The sampler takes')", arg=editor.root)


def test_steps_from_a_wire_are_found(page, around):
    editor = around()
    page.evaluate("""id => {
      const number = LiteGraph.createNode("PrimitiveInt");
      app.rootGraph.add(number);
      number.widgets[0].value = 33;
      const sampler = app.rootGraph.getNodeById(id);
      app.canvas.emitBeforeChange();
      number.connect(0, sampler, sampler.inputs.findIndex(i => i.name === "steps"));
      app.canvas.emitAfterChange();
    }""", SAMPLER)  # fmt: skip
    editor.wait_for_message("The sampler takes 33 steps")


def test_the_steps_of_a_custom_sampler_are_found(page, around):
    editor = around()
    page.evaluate("""([cache, sampler]) => {
      const graph = app.rootGraph;
      app.canvas.emitBeforeChange();
      graph.remove(graph.getNodeById(sampler));
      const [custom, scheduler] = ["SamplerCustom", "BasicScheduler"].map(type => {
        const node = LiteGraph.createNode(type);
        graph.add(node);
        return node;
      });
      const slot = (node, name) => node.inputs.findIndex(input => input.name === name);
      graph.getNodeById(cache).connect(0, custom, slot(custom, "model"));
      scheduler.connect(0, custom, slot(custom, "sigmas"));
      scheduler.widgets.find(w => w.name === "steps").value = 27;
      app.canvas.emitAfterChange();
    }""", [CACHE, SAMPLER])  # fmt: skip
    editor.wait_for_message("The sampler takes 27 steps")


def test_wires_are_followed_into_a_subgraph(page, around):
    editor = around(steps=40)
    into_subgraph(page, CACHE, SAMPLER)
    set_widget(page, EDITOR, "schedule", "0-3/30")
    editor.wait_for_message("The sampler takes 40 steps, this schedule has 30.")


def test_wires_are_followed_out_of_a_subgraph(page, around):
    around(steps=40)
    _, inner = into_subgraph(page, EDITOR, enter="GPH_ScheduleEditor")
    editor = Editor(page, inner)
    editor.click(7)
    editor.wait_for_message("The sampler takes 40 steps, this schedule has 50.")


def test_too_few_anchors_for_the_policy_are_warned_of(page, around):
    editor = around("0,2-5,49/50", policy="two-anchor (DiCache)")
    editor.wait_for_message("needs 2 full steps before the first cached step; step 1 is cached")
    editor.click(1)
    page.wait_for_function("root => !root.innerText.includes('Refused')", arg=editor.root)


def test_a_schedule_that_the_cache_node_does_not_use_is_warned_of(page, around):
    editor = around(speed="Fast")
    editor.wait_for_message("Not used: Golden Path Cache is set to Fast.")
    editor.root.query_selector("text=Set to Custom").click()
    assert page.evaluate(f"app.rootGraph.getNodeById({CACHE}).widgets[0].value") == "Custom"
    page.wait_for_function("root => !root.innerText.includes('Not used')", arg=editor.root)


def test_a_cached_last_step_is_warned_of(page):
    editor = Editor.open(page, "0-2,5/10")
    assert "The last step (9) is cached" in editor.messages


def test_the_curve_is_exact_after_a_run_until_the_scheduler_changes(page, around):
    editor = around("0-1,3/4", steps=4)
    wait_for_source(page, editor, "noise: nominal")
    record = RECORD | {"schedule": "0-1,3/4", "sigmas": [1, 0.9, 0.7, 0.4, 0]}
    send(page, "done", node=CACHE, record=record)
    wait_for_source(page, editor, "noise: last run")
    label = editor.root.query_selector('[data-step="1"]').get_attribute("aria-label")
    assert label == "Step 1 of 4: full, noise level 0.900"
    set_widget(page, SAMPLER, "scheduler", "karras")
    wait_for_source(page, editor, "noise: nominal")


def sensitive(page, text, gains):
    """An editor that knows how sensitive the steps are."""
    source = {
        "id": 2, "type": "GPH_PropagationGain", "pos": [0, 420], "size": [400, 400], "flags": {},
        "order": 0, "mode": 0, "inputs": [], "properties": {}, "widgets_values": [],
        "outputs": [{"name": "sensitivity", "type": "GPH_SENSITIVITY", "links": [5]}],
    }  # fmt: skip
    wired = {"name": "sensitivity", "type": "GPH_SENSITIVITY", "link": 5, "shape": 7}
    middle = node(text)
    middle["inputs"].append(wired)
    load(page, workflow_of(middle, source, links=[[5, 2, 0, 1, 2, "GPH_SENSITIVITY"]]))
    editor = Editor(page)
    assert editor.root
    executed(page, 1, {"gph_sigmas": [], "gph_sensitivity": [gains]})
    two_frames(page)
    return editor


def test_a_connected_sensitivity_is_drawn_over_the_cells(page):
    editor = sensitive(page, "0-1/4", [None, 0.5, 2, 0])
    line = editor.root.query_selector(".gph-sensitivity").get_attribute("d")
    # Through the middles of cells 1 to 3; the highest at 0.06, nothing at 1.
    numbers = [float(number) for number in re.findall(r"[0-9.]+", line)]
    assert numbers == pytest.approx([1.5, 0.765, 2.5, 0.06, 3.5, 1])
    assert editor.find("source").inner_text() == "orange: sensitivity"
    labels = [
        cell.get_attribute("aria-label") for cell in editor.root.query_selector_all(".gph-step")
    ]
    assert labels[0] == "Step 0 of 4: full"
    assert labels[2] == "Step 2 of 4: cached, sensitivity 2.00"


def test_a_sensitivity_of_other_steps_is_named_and_not_drawn(page):
    editor = sensitive(page, "0-1/4", [None, 0.5, 2])
    assert editor.root.query_selector(".gph-sensitivity") is None
    assert "measured on 3 steps, this schedule has 4" in editor.messages


def test_connected_sigmas_draw_the_curve_after_a_run_and_after_a_tab_switch(page):
    # Levels of their own, as ComfyUI sends nothing for nodes that did not change.
    source = {
        "id": 2, "type": "ManualSigmas", "pos": [0, 420], "size": [300, 60], "flags": {},
        "order": 0, "mode": 0, "inputs": [], "properties": {},
        "widgets_values": [f"1, {random.random()}, 0.1, 0"],
        "outputs": [{"name": "SIGMAS", "type": "SIGMAS", "links": [5]}],
    }  # fmt: skip
    shown = {
        "id": 3, "type": "PreviewAny", "pos": [500, 0], "size": [200, 100], "flags": {},
        "order": 2, "mode": 0, "inputs": [{"name": "source", "type": "*", "link": 6}],
        "outputs": [], "properties": {}, "widgets_values": [],
    }  # fmt: skip
    middle = node("0-1/4")
    middle["inputs"][0]["link"], middle["outputs"][1]["links"] = 5, [6]
    links = [[5, 2, 0, 1, 0, "SIGMAS"], [6, 1, 1, 3, 0, "STRING"]]
    load(page, workflow_of(middle, source, shown, links=links))
    editor = Editor(page)
    assert run(page) == "execution_success"
    editor.wait_for_message("The sampler takes 3 steps, this schedule has 4.")
    editor.find("steps").fill("3")
    editor.press("Tab")
    wait_for_source(page, editor, "noise: SIGMAS")
    first = page.evaluate("app.rootGraph.id")
    Editor.open(page, "0,3/4", beside=True)
    back_to_tab(page, first)
    wait_for_source(page, editor, "noise: SIGMAS")


def test_a_run_with_a_wrong_text_is_refused_with_its_reason(page):
    shown = {
        "id": 3, "type": "PreviewAny", "pos": [500, 0], "size": [200, 100], "flags": {},
        "order": 2, "mode": 0, "inputs": [{"name": "source", "type": "*", "link": 6}],
        "outputs": [], "properties": {}, "widgets_values": [],
    }  # fmt: skip
    wrong = node("0,x/4")
    wrong["outputs"][1]["links"] = [6]
    load(page, workflow_of(wrong, shown, links=[[6, 1, 1, 3, 0, "STRING"]]))
    assert run(page) == "refused"
    errors = json.dumps(page.evaluate("app.extensionManager.lastNodeErrors"))
    assert "'x' in '0,x/4' is not a step number" in errors
    page.keyboard.press("Escape")
    page.evaluate("app.extensionManager.lastNodeErrors = null")


def test_an_edit_is_refused_by_connected_weights_and_can_be_taken_back(page, around, renderer):
    name = f"weights {renderer}"
    share_fitted(page, name)
    editor = around("0-3/4", steps=4, policy="fitted (golden path)", path=f"yours: {name}")
    editor.use("presets")
    page.locator(".gph-own .gph-path", has_text=name).click()
    editor.wait_for_text("0,2/4")
    two_frames(page)
    assert "eights" not in editor.messages  # they are in use
    editor.use("right")
    editor.wait_for_message("Refused by the policy: the weights were fitted for the schedule 0,2/4")
    editor.root.query_selector("text=Restore").click()
    page.wait_for_function("root => !root.innerText.includes('eights')", arg=editor.root)
    assert editor.text == "0,2/4"
    remove_path(page, name)
