// Shows on each analysis node the main numbers of its last run.

import { el } from "../shared/dom.js";
import * as host from "../shared/host.js";
import { texts } from "../shared/strings.js";
import { addView, register } from "../shared/views.js";

const NODES = [
  "GPH_RecordTrajectory", "GPH_TrajectoryProfile", "GPH_ErrorDecomposition", "GPH_PropagationGain",
  "GPH_Coverage", "GPH_ScheduleStatistics",
];

/** Rows of columns have wide gaps; sentences have none, and are indented by two spaces at most. */
const ROWS = /((?:^(?:.*\S {2}| {3}).*\n?)+)/m;

/** What shows a node's output, by node. */
const panels = new WeakMap();

register({
  name: "golden-path.told",

  nodeCreated(node) {
    if (!NODES.includes(node.comfyClass)) return;
    const idle = texts(host.locale())(`told.${node.comfyClass}`);
    const element = el("div", { className: "gph-told", "data-testid": "gph-told", role: "status" });
    element.append(el("div", { className: "gph-told-idle" }, idle));
    const show = (output) => {
      // ComfyUI hands a result to the node of that id in whatever workflow is open.
      const ours = (output?.gph_told ?? []).filter(
        ({ workflow_id }) => !workflow_id || workflow_id === host.workflowId(),
      );
      if (ours.length) element.replaceChildren(...ours.flatMap(({ text }) => blocks(text)));
    };
    addView(node, "golden_path_told", element, { height: 60 });
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

/** Sentences wrap; rows of columns stay whole, and are scrolled where the node is too narrow. */
function blocks(text) {
  return text
    .split(ROWS)
    .map((part, n) => el("pre", { className: n % 2 ? "gph-told-columns" : "" }, part))
    .filter((part) => part.textContent);
}
