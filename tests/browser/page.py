"""How tests drive the page, and the nodes of the pack in it."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import dev

WORKFLOWS = Path(dev.ROOT) / "example_workflows"
TRY = "01_Try_It_on_the_Demo_Model"

SETTINGS = {
    "Comfy.TutorialCompleted": True,
    "Comfy.Minimap.Visible": False,
    "Comfy.Workflow.Persist": False,
    "Comfy.RightSidePanel.IsOpen": False,
    "Comfy.Locale": "en",
    "Comfy.ColorPalette": "dark",
}

# Earlier the default workflow may still be loading.
READY = """
window.app?.extensionManager && !app.extensionManager.spinner
  && app.extensionManager.workflow?.activeWorkflow
"""


def set_up(url: str, settings: dict) -> None:
    """Change settings of the front end before a page is loaded."""
    body, headers = json.dumps(settings).encode(), {"Content-Type": "application/json"}
    dev.LOCAL.open(urllib.request.Request(f"{url}/api/settings", body, headers)).close()


def example(name: str, whole: bool = False) -> dict:
    """A bundled workflow; of *Try*, if not whole, the cached run alone, which takes less time."""
    workflow = json.loads((WORKFLOWS / f"{name}.json").read_text("utf-8"))
    return workflow if whole or name != TRY else cached_run(workflow)


def cached_run(workflow: dict) -> dict:
    """*Try* without the full run, its comparison and what enlarges the image."""
    (saved,) = (node for node in workflow["nodes"] if node["type"] == "SaveImage")
    kept = [node for node in workflow["nodes"] if node["id"] <= saved["id"]]
    ids = {node["id"] for node in kept}
    links = [link for link in workflow["links"] if {link[1], link[3]} <= ids]
    (decoder,) = (node for node in kept if node["type"] == "VAEDecode")
    number = workflow["last_link_id"] + 1
    saved["inputs"][0]["link"] = number
    links.append([number, decoder["id"], 0, saved["id"], 0, "IMAGE"])
    for node in kept:
        for slot, output in enumerate(node["outputs"]):
            output["links"] = [link[0] for link in links if link[1:3] == [node["id"], slot]]
    return workflow | {"nodes": kept, "links": links, "last_link_id": number}


def load(page, workflow: dict, scale: float = 1, *, beside: bool = False) -> None:
    """Open a workflow, below the page's top bar, and wait until it is drawn.

    It takes the place of the open one and closes all others, which is twice as fast as a tab of
    its own, ``beside`` them.
    """
    page.evaluate(
        """async ([workflow, scale, beside]) => {
          app.canvas.setGraph(app.rootGraph);
          const tabs = app.extensionManager.workflow;
          const open = tabs.activeWorkflow;
          if (!beside) {
            app.nodeOutputs = {};  // which the tab would keep
            const others = tabs.openWorkflows.filter(tab => tab !== open);
            for (const tab of others) await tabs.closeWorkflow(tab);
          }
          // Without a view in the file the page fits it later, while the test already clicks.
          const view = { scale, offset: [150, 110] };
          workflow.extra = { ...workflow.extra, ds: view };
          await app.loadGraphData(workflow, true, true, beside ? null : open);
          Object.assign(app.canvas.ds, view);  // not the one that the tab had
        }""",
        [workflow, scale, beside],
    )
    two_frames(page)


def workflow_of(*nodes: dict, links=()) -> dict:
    """A workflow of these nodes."""
    return {
        "last_node_id": max((node["id"] for node in nodes), default=0), "nodes": list(nodes),
        "last_link_id": max((link[0] for link in links), default=0), "links": list(links),
        "groups": [], "config": {}, "extra": {}, "version": 0.4,
    }  # fmt: skip


def named(page, workflow: dict) -> dict:
    """A workflow under an id of its own: otherwise it shows what earlier tests have left."""
    return workflow | {"id": page.evaluate("crypto.randomUUID()")}


def added(page, kind: str, pos=(0, 0), **values) -> str:
    """Put a node with these widget values into the workflow, at its place on the canvas; its id."""
    return page.evaluate(
        """([kind, pos, values]) => {
          const node = LiteGraph.createNode(kind);
          node.pos = pos;
          app.rootGraph.add(node);
          for (const widget of node.widgets ?? []) {
            if (widget.name in values) widget.value = values[widget.name];
          }
          return String(node.id);
        }""",
        [kind, list(pos), values],
    )


def connect(page, source: str, slot: int, target: str, name: str) -> None:
    """Wire an output of a node to the input of this name of another."""
    page.evaluate(
        """([source, slot, target, name]) => {
          const [from, to] = [source, target].map(id => app.rootGraph.getNodeById(id));
          from.connect(slot, to, to.inputs.findIndex(input => input.name === name));
        }""",
        [source, slot, target, name],
    )


def opened(page, kind: str) -> dict:
    """A node alone, opened under an id of its own; the workflow as it is saved."""
    load(page, named(page, workflow_of()))
    added(page, kind)
    page.evaluate("app.rootGraph.nodes.forEach(n => { n.size[0] = Math.max(n.size[0], 420); })")
    # As text: values that are undefined would come back as null, which a paste refuses.
    saved = json.loads(page.evaluate("JSON.stringify(app.rootGraph.serialize())"))
    load(page, saved)
    saved["id"] = page.evaluate("app.rootGraph.id")  # a file that is opened again gets another one
    two_frames(page)  # Nodes 2.0 may take a view off the page once more before it stays
    return saved


def tell(page, event: str, detail: dict | None) -> None:
    """An event of the server; one with a node is of the open workflow unless it names another."""
    page.evaluate(
        """([type, detail]) => {
          if (detail?.node_id) detail.workflow_id ??= app.rootGraph.id;
          app.api.dispatchEvent(new CustomEvent(type, { detail }));
        }""",
        [event, detail],
    )


def executed(page, node_id: int | str, output) -> None:
    """What ComfyUI hands to a node after its run."""
    page.evaluate(
        "([id, output]) => app.rootGraph.getNodeById(id).onExecuted(output)", [node_id, output]
    )


def into_subgraph(page, *node_ids: int | str, enter: str = "") -> tuple[str, str]:
    """Put nodes into a subgraph; its id and that of the entered node of this type inside it."""
    return page.evaluate(
        """([ids, type]) => {
          app.canvas.emitBeforeChange();
          const nodes = new Set(ids.map(id => app.rootGraph.getNodeById(id)));
          const { node, subgraph } = app.rootGraph.convertToSubgraph(nodes);
          app.canvas.emitAfterChange();
          if (type) app.canvas.setGraph(subgraph);
          return [node.id, subgraph.nodes.find(n => n.type === type)?.id].map(String);
        }""",
        [list(node_ids), enter],
    )


def strip(element) -> list[str]:
    """What a strip shows: a kind for each step."""
    cells = element.query_selector_all(".gph-strip .gph-cell")
    return [cell.get_attribute("class").split()[1].removeprefix("gph-") for cell in cells]


def state(page) -> list:
    """The undo steps, and what a save would write, once nodes have the size of their content."""
    two_frames(page)
    return page.evaluate("""() => {
      const { changeTracker } = app.extensionManager.workflow.activeWorkflow;
      changeTracker.captureCanvasState();
      return [changeTracker.undoQueue.length, JSON.stringify(app.rootGraph.serialize().nodes)];
    }""")


def back_to(page, workflow: dict) -> None:
    """Choose the tab before the open one."""
    page.locator(".workflow-label").nth(-2).click()
    page.mouse.move(1300, 900)  # a tab below the pointer shows a preview, which is a dialog
    page.locator("[role=dialog]").wait_for(state="detached")
    page.wait_for_function("id => app.rootGraph.id === id", arg=workflow["id"])
    two_frames(page)
    two_frames(page)


def two_frames(page) -> None:
    """Overlays of the classic renderer get their place in the next frame."""
    page.evaluate("() => new Promise(d => requestAnimationFrame(() => requestAnimationFrame(d)))")


def there_and_back(page, renderer: str) -> Iterator[str]:
    """Change to the other renderer and back; where each has the elements of nodes."""
    for is_vue in (renderer != "vue", renderer == "vue"):
        page.evaluate(
            "on => app.extensionManager.setting.set('Comfy.VueNodes.Enabled', on)", is_vue
        )
        page.wait_for_function("on => LiteGraph.vueNodesMode === on", arg=is_vue)
        yield ".lg-node" if is_vue else ".dom-widget"


def widget_value(page, node_id: int | str, name: str):
    """A widget's value, of a node of the outermost graph."""
    return page.evaluate(
        "([id, name]) => app.rootGraph.getNodeById(id).widgets.find(w => w.name === name).value",
        [node_id, name],
    )


def set_widget(page, node_id: int | str, name: str, value) -> None:
    """Change a widget as a user would: one undo step."""
    page.evaluate(
        """([id, name, value]) => {
          const widget = app.rootGraph.getNodeById(id).widgets.find(w => w.name === name);
          app.canvas.emitBeforeChange();
          widget.value = value;
          widget.callback?.(value);
          app.canvas.emitAfterChange();
        }""",
        [node_id, name, value],
    )


def undone_and_redone(page, node_id: int | str, name: str, value) -> Iterator[None]:
    """Change a widget, undo that and do it again; after both, once the page has settled."""
    former = widget_value(page, node_id, name)
    set_widget(page, node_id, name, value)
    page.evaluate("app.canvas.deselectAll()")
    for key, expected in (("z", former), ("y", value)):
        page.locator("#graph-canvas").focus()
        shortcut(page, "Control", key)
        page.wait_for_function(
            """([id, name, value]) => app.rootGraph.getNodeById(id)?.widgets
              .find(w => w.name === name).value === value""",
            arg=[node_id, name, expected],
        )
        yield


def shortcut(page, *keys: str) -> None:
    """Press keys together as slowly as a user, and wait for an undo or a redo to end.

    ComfyUI looks at a key in the next frame. Let go before, it is taken for the end of another
    change, and if a node has grown since the last one, nothing is left to redo.
    """
    for key in keys:
        page.keyboard.down(key)
    two_frames(page)
    for key in reversed(keys):
        page.keyboard.up(key)
    page.wait_for_function(
        "app.extensionManager.workflow.activeWorkflow.changeTracker._restoringState === false"
    )
    two_frames(page)
    two_frames(page)


def view(page, node_id: int | str, name: str):
    """The element of a view on a node of the open graph, once it is on the page."""
    return page.wait_for_function(
        """([id, name]) => {
          const widgets = app.canvas.graph.getNodeById(id)?.widgets;
          const element = widgets?.find(w => w.name === name).element;
          return element?.checkVisibility() && element.offsetWidth ? element : null;
        }""",
        arg=[node_id, name],
    ).as_element()


def run(page) -> str:
    """Queue the open workflow once; return how it ended: an event's name or an error's message."""
    return page.evaluate("""() => new Promise(done => {
      const once = { once: true };
      for (const end of ["execution_success", "execution_interrupted"]) {
        app.api.addEventListener(end, () => done(end), once);
      }
      app.api.addEventListener("execution_error", e => done(e.detail.exception_message), once);
      app.queuePrompt(0, 1).then(queued => { if (!queued) done("refused"); });
    })""")


def listen(page, kind: str) -> None:
    """Keep what the server sends from now on under the name ``kind``; see ``heard``.

    The page is shared by the tests, so each kind is kept apart and listened to once.
    """
    page.evaluate("""kind => {
      window.gphHeard ??= {};
      if (!(kind in gphHeard)) {
        app.api.addEventListener(kind, e => gphHeard[kind].push(structuredClone(e.detail)));
      }
      gphHeard[kind] = [];
    }""", kind)  # fmt: skip


def heard(page, kind: str) -> list[dict]:
    """What the server has sent under the name ``kind`` since the last ``listen``."""
    return page.evaluate("kind => gphHeard[kind]", kind)


def interrupt_when(page, kind: str, condition: str) -> None:
    """Interrupt the run, once, at the first message ``kind`` that meets ``condition``.

    ``condition`` is JavaScript about ``detail``.
    """
    page.evaluate(
        """([kind, condition]) => {
          const met = new Function("detail", `return ${condition}`);
          app.api.addEventListener(kind, function stop({ detail }) {
            if (!met(detail)) return;
            app.api.removeEventListener(kind, stop);
            app.api.interrupt();
          });
        }""",
        [kind, condition],
    )
