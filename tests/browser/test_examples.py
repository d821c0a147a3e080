"""Every example workflow opens in the page, and the server accepts what the page makes of it."""

import pytest

from demo import examples
from demo.examples import compare, experts, inside, search, video
from tests.support.served import errors

from .page import TRY, example, load, run, two_frames, workflow_of

# Sampler steps that the page must send, by hand.
STEPS = {
    "01_Try_It_on_the_Demo_Model": 50,
    "02_Compare_the_Speeds": 50,
    "03_Speed_Up_FLUX.1-dev": 20,
    "04_Speed_Up_FLUX.2": 20,
    "05_Speed_Up_Qwen-Image": 50,
    "06_Speed_Up_Qwen-Image-Edit": 40,
    "07_Speed_Up_Z-Image": 25,
    "08_Speed_Up_Wan_2.1": 30,
    "09_Speed_Up_Wan_2.2_Two_Experts": 20,
    "10_Speed_Up_HunyuanVideo_1.5": 20,
    "11_Try_It_on_a_Video": 50,
    "12_Share_a_Schedule_between_Two_Experts": 50,
    "13_Search_for_the_Best_Schedule": 20,
    "14_See_What_Happens_in_a_Run": 20,
    "15_Find_the_Sensitive_Steps": 20,
    "16_Compare_Schedules_and_Methods": 20,
    "17_Speed_Up_Z-Image-Turbo": 8,
    "18_Speed_Up_Wan_2.2_with_Lightning": 4,
}
SPEEDS = {built.name: built.speed for built in examples.EXAMPLES}
SPEEDS |= dict.fromkeys((search.NAME, experts.NAME), "Custom")
# They sample in their analyses alone, without a cache node.
INSIDE = [compare.NAME, *(example.name for example in inside.EXAMPLES)]
# How many samplers have no cache, on purpose.
COMPARED = {TRY: 1, video.NAME: 1, experts.NAME: 2}
# How many images come of those that need no files. Of the analyses one runs here, all of them on
# the server alone (tests/comfy/analyze/test_inside_examples.py).
DEMO = {
    TRY: 1,
    compare.NAME: 1,
    video.NAME: 1,
    experts.NAME: 1,
    search.NAME: 2,
    "16_Compare_Schedules_and_Methods": 2,
}
# The window of a small laptop with a browser's bars, and of a full HD screen with them.
WINDOWS = ({"width": 1600, "height": 1000}, {"width": 1920, "height": 950})
# The widest and the highest, of the demo model and of a released one.
LARGEST = (experts.NAME, "09_Speed_Up_Wan_2.2_Two_Experts", "16_Compare_Schedules_and_Methods")
# As a click on a template opens it; then the zoom, whether the page has no room to draw texts of
# classic nodes, and what is not wholly inside the window, below the bar of the page.
OPENED = """async ([workflow, name]) => {
  await app.loadGraphData(workflow, true, true, name, { openSource: "template" });
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  const { scale, offset } = app.canvas.ds;
  const outside = app.rootGraph.nodes.filter(({ boundingRect: [x, y, width, height] }) => {
    const [left, top] = [(x + offset[0]) * scale, (y + offset[1]) * scale];
    return left < 60 || top < 80
      || left + width * scale > innerWidth || top + height * scale > innerHeight;
  });
  return [scale, app.canvas.low_quality, outside.map(node => node.title)];
}"""
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
      return app.rootGraph.nodes.map(n => n.type)
        .filter(type => !(type in LiteGraph.registered_node_types));
    }""")
    assert unknown == []
    assert page.locator("[role=dialog]").count() == 0


def test_every_sampler_has_the_cached_model(prompt, name):
    kinds = ("KSampler", "KSamplerAdvanced", "SamplerCustom", "BasicGuider", "CFGGuider")
    models = [node["inputs"]["model"] for node in of_type(prompt, *kinds)]
    cached = [is_cached(prompt, model) for model in models]
    assert bool(cached) == (name not in INSIDE)
    assert cached.count(False) == COMPARED.get(name, 0)


def test_the_run_has_the_steps_and_speed_that_the_note_promises(prompt, name):
    sampling = of_type(
        prompt, "KSampler", "KSamplerAdvanced", "BasicScheduler", "Flux2Scheduler",
        "GPH_CompareRun",
    )  # fmt: skip
    assert {node["inputs"]["steps"] for node in sampling} == {STEPS[name]}
    speeds = {node["inputs"]["speed"] for node in of_type(prompt, "GPH_Cache")}
    assert speeds == (set() if name in INSIDE else {SPEEDS.get(name, "Balanced")})


@pytest.fixture
def windows(page, renderer, request):
    """The names to open in each size of the page: all with --all, but Nodes 2.0 opens slowly."""
    names = STEPS if request.config.getoption("all") and renderer == "classic" else LARGEST

    def each():
        for window in WINDOWS:
            page.set_viewport_size(window)
            two_frames(page)
            yield window, names
            load(page, workflow_of())  # closes the other tabs

    yield each()
    page.set_viewport_size(WINDOWS[0])


def test_each_opens_whole_in_the_window_and_large_enough_to_read(page, windows):
    for window, names in windows:
        for name in names:
            scale, is_low, outside = page.evaluate(OPENED, [example(name, whole=True), name])
            assert (is_low, outside) == (False, []), (name, window)
            assert scale > 0.64, name  # classic nodes lose their texts below 8 / 14


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
