"""The panel on Schedule Search, of web/search, in real searches of the demo model."""

import uuid

import pytest

from gph_core.schedule import Schedule

from .page import (
    back_to,
    heard,
    interrupt_when,
    listen,
    load,
    named,
    run,
    strip,
    two_frames,
    widget_value,
    workflow_of,
)
from .search import panel, status

EVENT = "golden_path.search"
# `inputs` are widget values of the search node.
DEMO = """([inputs, prompts]) => {
  const add = (type, pos, values = {}) => {
    const node = LiteGraph.createNode(type);
    node.pos = pos;
    app.rootGraph.add(node);
    for (const [name, value] of Object.entries(values)) {
      node.widgets.find(w => w.name === name).value = value;
    }
    return node;
  };
  const search = add("GPH_ScheduleSearch", [700, 0], inputs);
  const model = add("GPH_DemoModel", [0, 0]);
  const examples = add("GPH_ScoringExamples", [0, 120], { prompts, seeds: "1" });
  const latent = add("EmptyLatentImage", [0, 520], { width: 64, height: 64 });
  const sampler = add("KSamplerSelect", [350, 520], { sampler_name: "euler" });
  const sigmas = add("BasicScheduler", [350, 620], { scheduler: "simple", steps: 12 });
  const wire = (from, slot, to, name) =>
    from.connect(slot, to, to.inputs.findIndex(input => input.name === name));
  wire(model, 0, search, "model");
  wire(model, 1, search, "vae");
  wire(model, 2, examples, "clip");
  wire(model, 0, sigmas, "model");
  wire(examples, 0, search, "examples");
  wire(latent, 0, search, "latent");
  wire(sampler, 0, search, "sampler");
  wire(sigmas, 0, search, "sigmas");
  return search.id;
}"""
PROMPTS = "\n".join([
    "two red circles", "a blue square left of a pink diamond on striped purple background",
])  # fmt: skip
INPUTS = {
    "cfg": 5, "speed": "Balanced", "minutes": 1000, "evaluations": 4, "batch_size": 8,
    "algorithm": "hill climbing",
}  # fmt: skip


@pytest.fixture
def demo(page):
    """The id of a search node, wired to the demo model; its study is new."""
    load(page, named(page, workflow_of()))
    inputs = INPUTS | {"study": f"test {uuid.uuid4().hex}"}
    node = page.evaluate(DEMO, [inputs, PROMPTS])
    two_frames(page)
    listen(page, EVENT)
    return node


def test_a_search_of_the_demo_model_ends_with_the_best_schedule_that_it_hands_out(page, demo):
    page.evaluate("""id => {
      app.rootGraph.getNodeById(id).onExecuted =
        (original => function (output) {
          window.gphOutput = output;
          return original?.apply(this, arguments);
        })(app.rootGraph.getNodeById(id).onExecuted);
    }""", demo)  # fmt: skip
    assert run(page) == "execution_success"
    page.wait_for_function("window.gphOutput")
    (output,) = page.evaluate("gphOutput.gph_search")
    states = list(dict.fromkeys(event["state"] for event in heard(page, EVENT)))
    assert states == ["preparing", "searching", "validating", "done"]
    assert output == heard(page, EVENT)[-1]
    assert output["scored"] == 4
    assert status(panel(page, demo)) == "Done"
    text = panel(page, demo).inner_text()
    for part in (output["best"], output["policy"], "4 scored", "100 % used", "per minute"):
        assert part in text
    full = Schedule.parse(output["best"]).full_steps
    expected = ["full" if step in full else "cached" for step in range(12)]
    assert strip(panel(page, demo)) == expected
    assert expected.count("full") == 5  # of 12 at Balanced
    assert output["curve"][-1][1] == output["score"]
    assert f"{output['score']:.2f} dB" in text
    table = panel(page, demo).query_selector(".gph-search-result").text_content()
    assert table == output["table"]
    assert "4 schedules scored" in table


@pytest.mark.long
def test_an_interrupted_search_of_the_demo_model_goes_on_when_it_is_queued_again(page, demo):
    interrupt_when(page, EVENT, "detail.scored >= 2")
    assert run(page) == "execution_interrupted"
    reached = heard(page, EVENT)[-1]
    assert 2 <= reached["scored"] < 4
    assert status(panel(page, demo)) == "Stopped"
    text = panel(page, demo).inner_text()
    assert f"{reached['scored']} scored" in text
    assert reached["best"] in text

    assert widget_value(page, demo, "seed") == 0  # with another one it would begin anew
    listen(page, EVENT)
    assert run(page) == "execution_success"
    done = heard(page, EVENT)[-1]
    assert done["state"] == "done"
    assert done["scored"] == 4
    assert done["curve"][: len(reached["curve"])] == reached["curve"]
    assert status(panel(page, demo)) == "Done"


@pytest.mark.long
def test_a_result_comes_back_with_its_tab_and_from_a_search_that_need_not_run(page, demo):
    assert run(page) == "execution_success"
    here = {"id": page.evaluate("app.rootGraph.id")}
    load(page, named(page, workflow_of()), beside=True)
    back_to(page, here)
    assert status(panel(page, demo)) == "Done"
    assert run(page) == "execution_success"
    assert status(panel(page, demo)) == "Done"
