"""A search node and the events of its search, as tests send them."""

from .page import example, load, tell, two_frames, view

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


def with_workers(page, evaluations, prompts, study, count=2):
    """Open *Search a golden path* with workers on the CPU; the id of its search node."""
    load(page, example("13_Search_for_the_Best_Schedule", whole=True))
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


def send(page, state, facts=FACTS, *, node=NODE, prompt="p"):
    detail = facts | {"state": state, "node_id": str(node), "prompt_id": prompt}
    tell(page, "golden_path.search", detail)


def panel(page, node=NODE):
    return view(page, node, "golden_path_search")


def status(element):
    return element.query_selector("[role=status]").inner_text()
