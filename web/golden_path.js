// Shows on each Golden Path Cache node what its last run did.

import { app } from "../../scripts/app.js";
import { api } from "../../scripts/api.js";

const EVENT = "golden_path.run"; // sent by nodes/report.py
const NODE = "GPH_Cache";
const WIDGET = "golden_path_report";

app.registerExtension({
  name: "golden-path.report",

  setup() {
    api.addEventListener(EVENT, ({ detail }) => {
      // Events reach whichever workflow tab is open.
      if (detail.workflow_id && detail.workflow_id !== app.rootGraph.id) return;
      const node = findNode(app.rootGraph, detail.node_id);
      const widget = node?.widgets?.find((w) => w.name === WIDGET);
      if (widget) widget.element.textContent = detail.summary;
    });
  },

  nodeCreated(node) {
    if (node.comfyClass !== NODE) return;
    const element = document.createElement("div");
    element.setAttribute("role", "status");
    element.textContent = "After a run: which steps were full, how long they took.";
    element.style.cssText =
      "font-size: 11px; line-height: 1.35; padding: 2px 4px; overflow: auto; min-height: 48px;" +
      "color: var(--descrip-text, #999); user-select: text;";
    // The report is a view: it belongs neither to the workflow nor to the prompt.
    const widget = node.addDOMWidget(WIDGET, "GPH_REPORT", element, {
      serialize: false,
      getMinHeight: () => 48,
    });
    widget.serialize = false;
    const [width, height] = node.computeSize();
    node.setSize([Math.max(node.size[0], width), Math.max(node.size[1], height)]);
  },
});

/** A node by its execution id; inside subgraphs that is a colon path such as "3:2". */
function findNode(graph, executionId) {
  const [first, ...rest] = String(executionId).split(":");
  const node = graph?.getNodeById(first);
  return rest.length && node ? findNode(node.subgraph, rest.join(":")) : node;
}
