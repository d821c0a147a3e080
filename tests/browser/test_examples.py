"""Every example workflow opens in the page, and the server accepts what the page makes of it."""

import pytest

from demo import examples
from demo.examples import inside
from tests.support.served import errors

from .page import TRY, example, load, run, two_frames

# Sampler steps that the page must send, by hand: the many-step branch of each template's switch.
STEPS = {
    "Compare_Full_and_Cached": 50,
    "Compare_Schedules_and_Methods": 20,
    "FLUX.1-dev_Golden_Path": 20,
    "FLUX.2_Golden_Path": 20,
    "Find_Sensitive_Steps": 20,
    "HunyuanVideo_1.5_Golden_Path": 20,
    "Look_Inside_a_Run": 20,
    "Qwen-Image-Edit_Golden_Path": 40,
    "Qwen-Image_Golden_Path": 50,
    "Search_a_Golden_Path": 20,
    "1_Try_Golden_Path_Cache": 50,
    "Try_Golden_Path_Cache_Two_Experts": 50,
    "Try_Golden_Path_Cache_Video": 50,
    "Wan_2.1_T2V_Golden_Path": 30,
    "Wan_2.2_14B_Two_Experts_Golden_Path": 20,
    "Z-Image_Golden_Path": 25,
}
SPEEDS = {built.name: built.speed for built in examples.EXAMPLES}
SPEEDS |= dict.fromkeys(("Search_a_Golden_Path", "Try_Golden_Path_Cache_Two_Experts"), "Custom")
# They sample in their analyses alone, without a cache node.
INSIDE = [example.name for example in inside.EXAMPLES]
COMPARED = (
    "Compare_Full_and_Cached", "1_Try_Golden_Path_Cache", "Try_Golden_Path_Cache_Two_Experts",
    "Try_Golden_Path_Cache_Video",
)  # fmt: skip
# How many images come of those that need no files. Of the analyses one runs here, all of them on
# the server alone (tests/comfy/analyze/test_inside_examples.py).
DEMO = {
    "Compare_Full_and_Cached": 8,
    "Compare_Schedules_and_Methods": 2,
    "Search_a_Golden_Path": 2,
    TRY: 1,
    "Try_Golden_Path_Cache_Two_Experts": 1,
    "Try_Golden_Path_Cache_Video": 1,
}
# Two prompts, and a search of four schedules of 12 steps: seconds each.
SHORTEN = """() => {
  const widgets = type => app.rootGraph.nodes.filter(node => node.type === type)
    .map(node => Object.fromEntries(node.widgets.map(widget => [widget.name, widget])));
  const first = (widget, between) => {
    widget.value = widget.value.split(between).slice(0, 2).join(between);
  };
  for (const { prompts, seeds } of widgets("GPH_ScoringExamples")) {
    first(prompts, "\\n");
    first(seeds, ", ");
  }
  for (const { evaluations } of widgets("GPH_ScheduleSearch")) {
    evaluations.value = 4;
    widgets("BasicScheduler")[0].steps.value = 12;
  }
}"""
# Pairs of nodes that lie over each other, by name, after what a run shows has made them higher.
OVERLAPS = """() => {
  const boxes = app.rootGraph.nodes.map(({ title, boundingRect: [x, y, width, height] }) =>
    ({ title, left: x, top: y, right: x + width, bottom: y + height }));
  return boxes.flatMap((one, n) => boxes.slice(n + 1).filter(other =>
    one.left < other.right && other.left < one.right
    && one.top < other.bottom && other.top < one.bottom).map(other => [one.title, other.title]));
}"""
MISSING = ("value_not_in_list", "custom_validation_failed")


@pytest.fixture(scope="module", params=STEPS)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def prompts():
    """What the page sends, by the names of the workflows that were open."""
    return {}


@pytest.fixture(scope="module")
def prompt(page, name, prompts):
    """What the page sends, with the workflow open."""
    prompts[name] = opened(page, name)
    return prompts[name]


def opened(page, name):
    load(page, example(name, whole=True))
    return page.evaluate("async () => (await app.graphToPrompt()).output")


def of_type(prompt, *kinds):
    return [node for node in prompt.values() if node["class_type"] in kinds]


def value(prompt, given):
    """An input's value, followed through switches that are set by a constant."""
    if not isinstance(given, list):
        return given
    node = prompt[given[0]]
    inputs = node["inputs"]
    if node["class_type"] == "ComfySwitchNode":
        chosen = "on_true" if value(prompt, inputs["switch"]) else "on_false"
        return value(prompt, inputs[chosen])
    return value(prompt, inputs["value"])


def is_cached(prompt, link):
    """Whether a MODEL link leads to a cache before it leads to a loader."""
    node = prompt[link[0]]
    if node["class_type"] == "GPH_Cache":
        return prompt.get(node["inputs"]["model"][0]) is not None
    model = node["inputs"].get("model")
    return model is not None and is_cached(prompt, model)


def test_no_node_is_missing(page, prompt):
    assert prompt
    unknown = page.evaluate("""() => {
      const graphs = [app.rootGraph, ...app.rootGraph.nodes.map(n => n.subgraph).filter(Boolean)];
      return graphs.flatMap(g => g.nodes).map(n => n.type)
        .filter(type => !(type in LiteGraph.registered_node_types));
    }""")
    assert unknown == []
    assert page.locator("[role=dialog]").count() == 0


def test_every_sampler_has_the_cached_model(prompt, name):
    kinds = ("KSampler", "KSamplerAdvanced", "SamplerCustom", "BasicGuider", "CFGGuider")
    models = [node["inputs"]["model"] for node in of_type(prompt, *kinds)]
    cached = [is_cached(prompt, model) for model in models]
    assert bool(cached) == (name not in INSIDE)
    # Those that compare have one without, on purpose.
    full = 2 if name == "Try_Golden_Path_Cache_Two_Experts" else 1
    assert cached.count(False) == full * (name in COMPARED)


def test_the_run_has_the_steps_and_speed_that_the_note_promises(prompt, name):
    sampling = of_type(prompt, "KSampler", "KSamplerAdvanced", "BasicScheduler", "Flux2Scheduler")
    assert {value(prompt, node["inputs"]["steps"]) for node in sampling} == {STEPS[name]}
    speeds = {node["inputs"]["speed"] for node in of_type(prompt, "GPH_Cache")}
    assert speeds == (set() if name in INSIDE else {SPEEDS.get(name, "Balanced")})


def test_the_speed_that_the_page_shows_reaches_the_cache(page, prompt):
    sent = page.evaluate("""async () => {
      const host = app.rootGraph.nodes.find(node => node.subgraph);
      const caches = app.rootGraph.nodes.filter(node => node.type === "GPH_Cache");
      const widgets = (host ? [host] : caches).flatMap(node => node.widgets)
        .filter(widget => /^speed/.test(widget.name));
      const before = widgets.map(widget => widget.value);
      for (const widget of widgets) widget.value = "Fast";
      const output = (await app.graphToPrompt()).output;
      widgets.forEach((widget, n) => { widget.value = before[n]; });
      return Object.values(output)
        .filter(node => node.class_type === "GPH_Cache").map(node => node.inputs.speed);
    }""")
    assert sent == ["Fast"] * len(of_type(prompt, "GPH_Cache"))


@pytest.mark.parametrize("name", [name for name in STEPS if name not in (*DEMO, *INSIDE)])
def test_the_server_misses_nothing_but_models_and_pictures(page, url, name, prompts):
    refused = errors(url, prompts.get(name) or opened(page, name))
    assert refused
    for error in refused:
        assert error["type"] in MISSING, error
        received = error["extra_info"].get("received_value", error["details"])
        assert ".safetensors" in received or "Invalid image file" in received, error


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (name != TRY)) for name in DEMO]
)
def test_a_workflow_of_the_demo_model_runs(page, name):
    load(page, example(name, whole=True))
    page.evaluate(SHORTEN)
    assert run(page) == "execution_success"
    images = "Object.values(app.nodeOutputs).flatMap(output => output.images ?? []).length"
    assert page.evaluate(images) == DEMO[name]
    two_frames(page)
    assert page.evaluate(OVERLAPS) == []
