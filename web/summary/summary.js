// Shows on each analysis node the main numbers of its last run.

import { blocks, el } from "../shared/dom.js";
import * as host from "../shared/host.js";
import { tables, texts } from "../shared/strings.js";
import { addView, register } from "../shared/views.js";

/** What shows a node's output, by node. */
const panels = new WeakMap();

register({
  name: "golden-path.summary",

  nodeCreated(node) {
    const key = `summary.${node.comfyClass}`; // a node that shows a text has one for before its runs
    if (!(key in tables.en)) return;
    const idle = texts(host.locale())(key);
    const element = el("div", { className: "gph-summary", "data-testid": "gph-summary", role: "status" });
    element.append(el("div", { className: "gph-summary-idle" }, idle));
    const show = (output) => {
      // ComfyUI hands a result to the node of that id in whatever workflow is open.
      const ours = (output?.gph_summary ?? []).filter(
        ({ workflow_id }) => !workflow_id || workflow_id === host.workflowId(),
      );
      if (ours.length) element.replaceChildren(...ours.flatMap(({ text }) => blocks(text)));
    };
    addView(node, "golden_path_summary", element, { height: 60 });
    host.chain(node, "onExecuted", show);
    panels.set(node, show);
  },

  // A workflow was opened or came back from another tab.
  onNodeOutputsUpdated(outputs) {
    for (const [locator, output] of Object.entries(outputs)) {
      panels.get(host.findLocated(locator))?.(output);
    }
  },
});
