"""How tests drive the page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import dev

WORKFLOWS = Path(dev.ROOT) / "example_workflows"
TRY = "1_Try_Golden_Path_Cache"

# Earlier the default workflow may still be loading.
READY = """
window.app?.extensionManager && !app.extensionManager.spinner
  && app.extensionManager.workflow?.activeWorkflow
"""


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


def load(page, workflow: dict, scale: float = 1) -> None:
    """Open a workflow, below the page's top bar, and wait until it is drawn."""
    # Without a view in the file the page fits it later, while the test already clicks.
    view = {"ds": {"scale": scale, "offset": [150, 110]}}
    workflow = workflow | {"extra": workflow.get("extra", {}) | view}
    page.evaluate("workflow => app.loadGraphData(workflow)", workflow)
    two_frames(page)


def one_empty_tab(page) -> None:
    """Close all workflows, outputs and selections of earlier tests."""
    page.evaluate("""async () => {
      await app.loadGraphData({ last_node_id: 0, last_link_id: 0, nodes: [], links: [],
        groups: [], config: {}, extra: {}, version: 0.4 });
      const tabs = app.extensionManager.workflow;
      for (const tab of [...tabs.openWorkflows]) {
        if (tab !== tabs.activeWorkflow) await tabs.closeWorkflow(tab);
      }
    }""")
    page.mouse.move(1300, 900)
    two_frames(page)


def added(page, kind: str, pos: list[int]) -> str:
    """Put a node into the workflow, at its place on the canvas; its id."""
    return page.evaluate(
        """([kind, pos]) => {
          const node = LiteGraph.createNode(kind);
          node.pos = pos;
          app.rootGraph.add(node);
          return String(node.id);
        }""",
        [kind, pos],
    )


def back_to(page, workflow: dict) -> None:
    """Choose the tab before the open one."""
    page.locator(".workflow-label").nth(-2).click()
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
