"""A search node and the events of its search, as tests send them."""

import json

from .page import example, load, two_frames, view

NODE = 1
TABLE = "0-1,3/5, residual reuse\n" + "\n".join(f"{n:10.3f}  finalist {n} " * 4 for n in range(30))
FACTS = {
    "unit": "PSNR",
    "used": 0.42,
    "scored": 9,
    "per_minute": 23.4,
    "best": "0-1,3/5",
    "policy": "residual reuse",
    "score": 31.4159,
    "curve": [[1, 20.0], [3, 25.0], [5, 31.4159]],
    "table": "",
}
DONE = FACTS | {"used": 1, "is_validated": True, "table": TABLE}
OTHER = FACTS | {"best": "0/2"}


def opened(page, kind="GPH_ScheduleSearch"):
    """A search node alone, opened under an id of its own; the workflow as it is saved."""
    load(page, empty(page))
    page.evaluate("""kind => {
      const node = LiteGraph.createNode(kind);
      node.size[0] = Math.max(node.size[0], 420);
      app.rootGraph.add(node);
    }""", kind)  # fmt: skip
    two_frames(page)
    # As text: values that are undefined would come back as null, which a paste refuses.
    saved = json.loads(page.evaluate("JSON.stringify(app.rootGraph.serialize())"))
    load(page, saved)
    saved["id"] = page.evaluate("app.rootGraph.id")  # a file that is opened again gets another one
    two_frames(page)  # Nodes 2.0 may take a view off the page once more before it stays
    return saved


def empty(page):
    return {
        "id": page.evaluate("crypto.randomUUID()"), "revision": 0, "last_node_id": 0,
        "last_link_id": 0, "nodes": [], "links": [], "groups": [], "config": {}, "extra": {},
        "version": 0.4,
    }  # fmt: skip


def with_workers(page, evaluations, prompts, study, count=2):
    """Open *Search a golden path* with workers on the CPU; the id of its search node."""
    load(page, example("Search_a_Golden_Path", whole=True))
    node = page.evaluate(
        """([inputs, prompts, count]) => {
          const of = (type) => app.rootGraph.nodes.filter(node => node.type === type);
          const set = (node, name, value) => {
            node.widgets.find(widget => widget.name === name).value = value;
          };
          const [search] = of("GPH_ScheduleSearch");
          for (const [name, value] of Object.entries(inputs)) set(search, name, value);
          for (const node of of("GPH_ScoringExamples")) {
            const widget = node.widgets.find(widget => widget.name === "prompts");
            widget.value = widget.value.split("\\n").slice(0, prompts).join("\\n");
            const seeds = node.widgets.find(widget => widget.name === "seeds");
            seeds.value = seeds.value.split(", ").slice(0, prompts).join(", ");
          }
          const workers = LiteGraph.createNode("GPH_SearchWorkers");
          workers.pos = [search.pos[0], search.pos[1] - 190];
          app.rootGraph.add(workers);
          set(workers, "count", count);
          set(workers, "gpus_per_worker", 0);
          const slot = search.inputs.findIndex(input => input.name === "workers");
          workers.connect(0, search, slot);
          return search.id;
        }""",
        [{"evaluations": evaluations, "study": study, "batch_size": 1}, prompts, count],
    )
    two_frames(page)
    return node


def send(page, state, facts=FACTS, *, node=NODE, prompt="p", workflow=None):
    detail = facts | {"state": state, "node_id": str(node), "prompt_id": prompt}
    page.evaluate(
        """([detail, workflow]) => {
          detail.workflow_id = workflow ?? app.rootGraph.id;
          app.api.dispatchEvent(new CustomEvent("golden_path.search", { detail }));
        }""",
        [detail, workflow],
    )


def end(page, event, prompt="p", node=NODE):
    """What ComfyUI tells when a prompt ends early."""
    page.evaluate(
        "([type, detail]) => app.api.dispatchEvent(new CustomEvent(type, { detail }))",
        [event, {"prompt_id": prompt, "node_id": str(node)}],
    )


def tell_status(page, detail):
    """What ComfyUI tells of its queue."""
    page.evaluate("detail => app.api.dispatchEvent(new CustomEvent('status', { detail }))", detail)


def panel(page, node=NODE):
    return view(page, node, "golden_path_search")


def strip(element):
    """What the strip shows: a kind for each step."""
    cells = element.query_selector_all(".gph-strip .gph-cell")
    return [cell.get_attribute("class").split()[1].removeprefix("gph-") for cell in cells]


def status(element):
    return element.query_selector("[role=status]").inner_text()


def is_idle(element):
    return element.inner_text().startswith("During a run:")
