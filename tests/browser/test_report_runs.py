"""The report panel of web/report in real runs of the bundled workflow."""

import io
import json
import time

import pytest
from PIL import Image

import dev

from .page import (
    TRY,
    added,
    back_to,
    connect,
    example,
    heard,
    interrupt_when,
    into_subgraph,
    listen,
    load,
    named,
    run,
    set_widget,
    strip,
    there_and_back,
    two_frames,
    view,
    widget_value,
)
from .report import NODE, RECORD, SAMPLER, SEEDS, is_idle, panel, sampler, send, strip_titles

PROMPT = 3
STEPS = 12


@pytest.fixture
def workflow(page):
    """The bundled workflow with few steps, under an id and with a seed of its own."""
    workflow = named(page, example(TRY))
    settings = sampler(workflow)
    settings[0], settings[2] = next(SEEDS), STEPS
    return workflow


@pytest.fixture(scope="module")
def listening(page):
    listen(page, "golden_path.run")


def events(page):
    """What the server has sent of the newest run of the newest prompt."""
    sent = heard(page, "golden_path.run")
    newest = sent[-1]
    return [e for e in sent if (e["prompt_id"], e["run"]) == (newest["prompt_id"], newest["run"])]


def kinds(record):
    """A record's steps in words."""
    words = dict.fromkeys(record["full_steps"], "full")
    words |= dict.fromkeys(record["cached_steps"], "cached")
    words |= dict.fromkeys(record["refused_steps"], "refused")
    return [words[step] for step in sorted(words)]


def test_the_strip_is_what_happened_and_the_image_keeps_it(page, url, listening, workflow):
    load(page, workflow)
    assert run(page) == "execution_success"
    planned, *steps, done = events(page)
    assert [planned["state"], done["state"]] == ["planned", "done"]
    assert [(e["step"], e["kind"]) for e in steps] == list(enumerate(strip(panel(page))))
    assert strip(panel(page)) == kinds(done["record"])
    # Balanced: 26 % of 12 steps would be 3, at least 5 stay full.
    assert strip(panel(page)).count("full") == 5
    assert done["record"]["schedule"] in panel(page).inner_text()

    outputs = history(url, done["prompt_id"])["outputs"]
    (saved,) = [image for output in outputs.values() for image in output.get("images", [])]
    with dev.LOCAL.open(f"{url}/view?filename={saved['filename']}") as response:
        inside = json.loads(Image.open(io.BytesIO(response.read())).info["workflow"])
    assert inside["extra"]["golden_path"] == {str(NODE): [done["record"]]}
    load(page, inside, beside=True)
    assert "from the saved image" in panel(page).inner_text()
    assert strip(panel(page)) == kinds(done["record"])


def test_the_steps_of_a_method_are_open_until_they_are_decided(page, listening, workflow):
    cache = next(n for n in workflow["nodes"] if n["id"] == NODE)
    cache |= {"type": "GPH_AdaptiveCache", "widgets_values": ["SeaCache", "Threshold", 1.6, "none"]}
    cache["inputs"] = [slot for slot in cache["inputs"] if slot["name"] == "model"]
    load(page, workflow)
    page.evaluate("""() => {
      window.gphOpen = [];
      app.api.addEventListener("golden_path.run", function count({ detail }) {
        gphOpen.push(document.querySelectorAll(".gph-report .gph-waiting.gph-plan-open").length);
        if (detail.state === "done") app.api.removeEventListener("golden_path.run", count);
      });
    }""")
    assert run(page) == "execution_success"
    planned, *steps, done = events(page)
    record = done["record"]
    assert planned["is_open"]
    # SeaCache has no say in the first and the last step.
    opened = page.evaluate("gphOpen")
    assert opened[0] == STEPS - 2
    assert opened[-1] == 0
    assert [(e["step"], e["kind"]) for e in steps] == list(enumerate(strip(panel(page))))
    assert strip(panel(page)) == kinds(record)
    assert set(strip(panel(page))) == {"full", "cached"}
    assert record["schedule"] in panel(page).inner_text()
    for step in record["cached_steps"]:
        assert "SeaCache, threshold 1.6, value" in strip_titles(panel(page))[step]


# Another sampler behind one, with so many steps; its id.
SECOND_SAMPLER = """([cache, sampler, steps]) => {
  const graph = app.rootGraph;
  const first = graph.getNodeById(sampler);
  const second = first.clone();
  graph.add(second);
  [cache, 3, 4, sampler].forEach((id, slot) => graph.getNodeById(id).connect(0, second, slot));
  second.widgets.find(w => w.name === "steps").value = steps;
  second.connect(0, graph.nodes.find(n => n.type === "VAEDecode"), 0);
  return second.id;
}"""


@pytest.mark.long
def test_equal_cache_nodes_each_show_their_run_and_one_with_two_samplers_both(
    page, listening, workflow
):
    load(page, workflow)
    other = page.evaluate("""id => {
      const first = app.rootGraph.getNodeById(id);
      const other = first.clone();
      other.pos = [760, 300];
      app.rootGraph.add(other);
      app.rootGraph.getNodeById(1).connect(0, other, 0);
      return other.id;
    }""", NODE)  # fmt: skip
    second = page.evaluate(SECOND_SAMPLER, [NODE, SAMPLER, 8])
    page.evaluate(SECOND_SAMPLER, [other, second, 9])
    assert run(page) == "execution_success"
    assert [len(strip(panel(page, node))) for node in (NODE, other)] == [8, 9]
    assert "Run 2 of 2" in panel(page).inner_text()
    panel(page).query_selector("[aria-label='Older run']").click()
    assert len(strip(panel(page))) == STEPS


def begin_on_a_cached_step(workflow):
    """Let the negative prompt begin in the middle, where the schedule has no full step."""
    next(n for n in workflow["nodes"] if n["id"] == NODE)["widgets_values"][:2] = [
        "Custom", f"0-2,{STEPS - 1}/{STEPS}"
    ]  # fmt: skip
    link = next(link for link in workflow["links"] if link[3] == SAMPLER and link[4] == 2)
    workflow["nodes"].append({
        "id": 90, "type": "ConditioningSetTimestepRange", "pos": [0, 600], "size": [270, 82],
        "flags": {}, "order": 4, "mode": 0, "properties": {}, "widgets_values": [0.5, 1.0],
        "inputs": [{"name": "conditioning", "type": "CONDITIONING", "link": 90}],
        "outputs": [{"name": "CONDITIONING", "type": "CONDITIONING", "links": [link[0]]}],
    })  # fmt: skip
    workflow["links"].append([90, link[1], 0, 90, 0, "CONDITIONING"])
    link[1:3] = 90, 0
    source = next(n for n in workflow["nodes"] if n["id"] == workflow["links"][-1][1])
    source["outputs"][0]["links"] = [90]
    workflow["last_node_id"] = workflow["last_link_id"] = 90


def test_a_refused_step_is_marked_and_explained(page, listening, workflow):
    begin_on_a_cached_step(workflow)
    load(page, workflow)
    assert run(page) == "execution_success"
    *_, done = events(page)
    assert done["record"]["refused_steps"] != []
    assert strip(panel(page)) == kinds(done["record"])
    for note in done["record"]["notes"]:
        assert note in panel(page).inner_text()


def test_a_run_that_cannot_be_cached_says_why(page, listening, workflow):
    sampler(workflow)[4] = "dpm_adaptive"
    load(page, workflow)
    assert run(page) == "execution_success"
    refused = events(page)[0]
    assert refused["state"] == "refused"
    text = panel(page).inner_text()
    assert "Computed in full" in text
    assert refused["line"].partition(": ")[2] in text
    assert set(strip(panel(page))) == {"full"}


def test_the_report_says_what_became_of_the_last_run(page, listening, workflow):
    """Off, refused, failed and cancelled runs show no figures of an earlier one."""
    load(page, workflow)
    assert run(page) == "execution_success"
    assert "faster" in panel(page).inner_text()
    used = panel(page).query_selector(".gph-report-plan code").inner_text()
    wait_for_field(page, used)
    set_widget(page, NODE, "speed", "Off")
    page.wait_for_function("!document.querySelector('.gph-report').innerText.includes('faster')")
    assert panel(page).inner_text() == "Off: all steps are computed in full"
    wait_for_field(page, "all steps are full")
    assert run(page) == "execution_success"
    set_widget(page, NODE, "speed", "Fast")
    two_frames(page)
    assert panel(page).inner_text() == "Off: all steps are computed in full"  # nothing ran since
    wait_for_field(page, "chosen when it runs")

    set_widget(page, PROMPT, "text", "a zebra")
    before = page.evaluate("id => [...app.rootGraph.getNodeById(id).size]", PROMPT)
    assert run(page) == "refused"
    assert "'zebra'" in view(page, PROMPT, "golden_path_failure").inner_text()
    set_widget(page, PROMPT, "text", "a red square")
    set_widget(page, NODE, "speed", "Custom")
    set_widget(page, NODE, "schedule", "0-3,5/8")
    wait_for_field(page, "0-3,5/8")
    page.wait_for_function(
        "document.querySelector('.gph-report').innerText.includes('takes 12 steps')"
    )
    assert "Off" in panel(page).inner_text()  # still the last run
    assert "the schedule covers 8 steps but the sampler runs 12" in run(page)
    assert not page.query_selector(".gph-failure-line")
    assert page.evaluate("id => [...app.rootGraph.getNodeById(id).size]", PROMPT) == before
    said = panel(page).inner_text()
    assert "Failed" in said
    assert "the schedule covers 8 steps but the sampler runs 12" in said
    assert "faster" not in said
    panel(page).query_selector("button").click()
    page.wait_for_function(
        "id => app.rootGraph.getNodeById(id).widgets[1].value.endsWith('/12')", arg=NODE
    )
    assert run(page) == "execution_success"
    said = panel(page).inner_text()
    assert "Failed" not in said
    assert "faster" in said


def test_the_field_follows_a_change_at_once_and_shows_the_schedule_of_a_wire(page, renderer):
    load(page, named(page, example(TRY)))  # no test has run it
    set_widget(page, NODE, "schedule", "0-3,5/8")
    set_widget(page, NODE, "speed", "Off")
    wait_for_field(page, "all steps are full")
    set_widget(page, NODE, "speed", "Custom")
    if renderer == "classic":  # the canvas is drawn anew, though nothing else changes
        page.evaluate("""() => new Promise(done => {
          const pen = CanvasRenderingContext2D.prototype;
          const draw = pen.fillText;
          pen.fillText = function (text) {
            if (text === "0-3,5/8") done(pen.fillText = draw);
            return draw.apply(this, arguments);
          };
        })""")
    wait_for_field(page, "0-3,5/8")

    editor = added(page, "GPH_ScheduleEditor", [-500, 0], schedule="0,3/4")
    connect(page, editor, 0, str(NODE), "schedule")
    set_widget(page, editor, "schedule", "0-1,3/4")
    for _ in there_and_back(page, renderer):
        for speed, words in (
            ("Custom", "0-1,3/4"), ("Fast", "chosen when it runs"), ("Custom", "0-1,3/4"),
            ("Off", "all steps are full"), ("Custom", "0-1,3/4"),
        ):  # fmt: skip
            set_widget(page, NODE, "speed", speed)
            wait_for_field(page, words)
    set_widget(page, editor, "schedule", "0,3/4")  # as a paste does
    wait_for_field(page, "0,3/4")


def wait_for_field(page, words):
    """Until the schedule field shows these words, in either renderer."""
    page.wait_for_function(
        """([id, words]) => {
          const node = app.rootGraph.getNodeById(id);
          const shown = document.querySelector(`.lg-node[data-node-id="${id}"]`);
          const field = shown?.querySelector("input[aria-label=schedule]");
          if (field) return field.value === words;
          const widget = node.widgets.find(w => w.name === "schedule");
          node.updateComputedDisabled();
          return widget._displayValue === words;
        }""",
        arg=[NODE, words],
    )


def test_an_interrupted_run_shows_what_was_done(page, listening, workflow):
    sampler(workflow)[2] = 300
    load(page, workflow)
    interrupt_when(page, "golden_path.run", "detail.step === 20")
    assert run(page) == "execution_interrupted"
    *_, done = events(page)
    reached = len(kinds(done["record"]))
    assert 20 < reached < 300
    assert f"Stopped after {reached} of 300 steps" in panel(page).inner_text()


def history(url, prompt):
    """What the server keeps of a finished prompt; it tells the page of its end a moment before."""
    for _ in range(100):
        with dev.LOCAL.open(f"{url}/history/{prompt}") as response:
            if entry := json.load(response).get(prompt):
                return entry
        time.sleep(0.1)
    raise TimeoutError(f"the server keeps nothing of prompt {prompt}")


def pixels(page, url, prompt):
    """The image that a prompt has saved, and the nodes of the prompt."""
    entry = history(url, prompt)
    images = [i for output in entry["outputs"].values() for i in output.get("images", [])]
    (saved,) = [image for image in images if image["type"] == "output"]
    with dev.LOCAL.open(f"{url}/view?filename={saved['filename']}") as response:
        return Image.open(io.BytesIO(response.read())).tobytes(), entry["prompt"][2]


def finished(page, begin):
    """Do what queues a prompt, and wait for its end; its id."""
    page.evaluate("""() => {
      delete window.gphFinished;
      const keep = (event) => { window.gphFinished = event.detail.prompt_id; };
      app.api.addEventListener("execution_success", keep, { once: true });
    }""")
    begin()
    page.wait_for_function("window.gphFinished")
    return page.evaluate("gphFinished")


def queued(url, prompt):
    """Workflow and outputs that a prompt was queued with."""
    _, _, _, extra, outputs = history(url, prompt)["prompt"]
    return extra["extra_pnginfo"]["workflow"], outputs


def press_full(page, node=NODE):
    panel(page, node).query_selector("[data-gph-go=full]").click()


def test_a_seed_runs_again_in_full_as_if_the_node_were_bypassed(page, url, listening, workflow):
    load(page, workflow)
    seed = sampler(workflow)[0]
    draft, _ = pixels(page, url, finished(page, lambda: run(page)))
    said = panel(page).inner_text()
    set_widget(page, SAMPLER, "seed", 7)  # as where it is randomized after each run
    again = finished(page, lambda: press_full(page))
    full, nodes = pixels(page, url, again)
    assert nodes[str(SAMPLER)]["inputs"]["seed"] == seed
    saved, _ = queued(url, again)
    assert [node["mode"] for node in saved["nodes"] if node["id"] == NODE] == [4]
    assert (widget_value(page, SAMPLER, "seed"), widget_value(page, NODE, "speed")) == (
        7,
        "Balanced",
    )
    assert panel(page).inner_text() == said

    set_widget(page, SAMPLER, "seed", seed)
    page.evaluate("""id => {
      app.rootGraph.getNodeById(id).mode = 4;
      const save = app.rootGraph.nodes.find(n => n.type === "SaveImage");
      save.widgets[0].value += "_"; // or nothing runs
    }""", NODE)  # fmt: skip
    bypassed, _ = pixels(page, url, finished(page, lambda: run(page)))
    assert full == bypassed
    assert full != draft


@pytest.mark.long
def test_a_cache_node_in_a_subgraph_runs_again_in_full(page, url, listening, workflow):
    load(page, workflow)
    _, inner = into_subgraph(page, NODE, enter="GPH_Cache")
    draft, _ = pixels(page, url, finished(page, lambda: run(page)))
    full, nodes = pixels(page, url, finished(page, lambda: press_full(page, inner)))
    assert nodes[str(SAMPLER)]["inputs"]["model"] == ["1", 0]
    assert full != draft


def test_only_those_outputs_run_again_in_full_that_had_run(page, url, listening, workflow):
    load(page, workflow)
    (save,) = (str(node["id"]) for node in workflow["nodes"] if node["type"] == "SaveImage")
    (decoder,) = (str(node["id"]) for node in workflow["nodes"] if node["type"] == "VAEDecode")
    connect(page, decoder, 0, added(page, "PreviewImage", (900, 600)), "images")
    finished(page, lambda: page.evaluate("save => app.queuePrompt(0, 1, [save])", save))
    _, outputs = queued(url, finished(page, lambda: press_full(page)))
    assert outputs == [save]


@pytest.mark.parametrize("has_reference", [True, False])
def test_a_comparison_shows_the_cached_image_beside_the_full_one(
    page, url, listening, has_reference
):
    workflow = named(page, example(TRY, whole=True))
    for node in workflow["nodes"]:
        if node["type"] == "KSampler":
            node["widgets_values"][:3:2] = [2**40 + STEPS + has_reference, STEPS]
    load(page, workflow)
    if not has_reference:
        page.evaluate("""() => {
          const compare = app.rootGraph.nodes.find(n => n.type === "GPH_QualityCompare");
          compare.disconnectInput(compare.findInputSlot("reference"));
        }""")

    def compared(prompt):
        outputs = history(url, prompt)["outputs"].values()
        (output,) = (output["gph_quality"] for output in outputs if "gph_quality" in output)
        return output[0]["parts"][0]

    first = compared(finished(page, lambda: run(page)))
    second = compared(finished(page, lambda: press_full(page)))
    assert first.get("missing") == (None if has_reference else "reference")
    assert (first == second) == has_reference
    assert second["metrics"]["psnr"]["identical"] == 0


def test_a_run_that_the_server_has_forgotten_cannot_be_run_again(page, url, workflow):
    load(page, workflow)
    send(
        page,
        "done",
        prompt="forgotten",
        record=RECORD | {"refused_steps": [], "cached_steps": [2, 4]},
    )
    panel(page).query_selector("[data-gph-go=full]").click()
    page.get_by_text("ComfyUI no longer has the prompt of this report").first.wait_for()


def test_a_run_that_ends_while_the_server_is_asked_can_be_run_again(page, workflow):
    """Of two answers the first is from before its end, the second from after it."""
    load(page, workflow)
    item = [0, "ending", {"1": {"class_type": "GPH_Cache"}}, {"extra_pnginfo": {}}, ["7"]]
    found = page.evaluate("""async ([pack, item]) => {
      const { ranPrompt } = await import(`/extensions/${pack}/shared/queue.js`);
      const original = app.api.fetchApi;
      let ended = false;
      app.api.fetchApi = async (path) => {
        const running = { queue_running: ended ? [] : [item] };
        const kept = ended ? { ending: { prompt: item } } : {};
        const answer = path === "/queue" ? running : kept;
        ended = true;
        return { json: async () => answer };
      };
      try { return await ranPrompt("ending"); } finally { app.api.fetchApi = original; }
    }""", [dev.PACK_NAME, item])  # fmt: skip
    assert found == {"nodes": item[2], "outputs": ["7"], "workflow": None}


def test_a_cache_node_in_a_subgraph_shows_its_run(page, listening, workflow):
    load(page, workflow)
    _, inner = into_subgraph(page, NODE, enter="GPH_Cache")
    assert run(page) == "execution_success"
    *_, done = events(page)
    assert ":" in done["node_id"]
    assert strip(panel(page, inner)) == kinds(done["record"])


@pytest.mark.long
def test_a_run_reports_to_its_own_tab(page, listening, workflow):
    load(page, workflow)
    page.evaluate("""() => {
      window.gphDone = new Promise(done => app.api.addEventListener("execution_success", done));
      return app.queuePrompt(0, 1);
    }""")
    load(page, named(page, workflow), beside=True)
    page.evaluate("gphDone.then(() => null)")
    assert is_idle(panel(page))
    back_to(page, workflow)
    assert len(strip(panel(page))) == STEPS
