// Shows on each node that caches what its last runs did.

import * as host from "../shared/host.js";
import { createPanel } from "./report_panel.js";
import { afterEvent, savedReport } from "./run_view.js";
import { texts } from "../shared/strings.js";
import { addView, register } from "../shared/views.js";

const EVENT = "golden_path.run"; // sent by nodes/cache/report.py
const NODES = ["GPH_Cache", "GPH_AdaptiveCache"];

const panels = new WeakMap();

/**
 * The reports of this session, the latest last. `over` is what the workflow's file carried when the
 * report came: another file with the same workflow shows its own. It is undefined while unknown.
 * @type {Map<string, {workflow: string, node: string, report: object, over?: string}>}
 */
const memory = new Map();

register({
  name: "golden-path.report",

  setup() {
    host.onEvent(EVENT, (node, event) => {
      const workflow = event.workflow_id ?? host.workflowId();
      const id = String(event.node_id);
      const key = `${workflow} ${id}`;
      const before = memory.get(key);
      const over = workflow === host.workflowId() ? carried(id) : before?.over;
      const report = afterEvent(before?.report, event);
      memory.delete(key); // to be the last one
      memory.set(key, { workflow, node: id, report, over });
      panels.get(node)?.show(report);
    });
  },

  nodeCreated(node) {
    if (!NODES.includes(node.comfyClass)) return;
    const panel = createPanel(() => texts(host.locale()));
    panels.set(node, panel);
    addView(node, "golden_path_report", panel.element, { height: 120 });
  },

  // A workflow was opened, came back from another tab, or was remade by an undo.
  afterConfigureGraph() {
    const show = (id, report) => report && panels.get(host.findNode(id))?.show(report);
    for (const [id, records] of Object.entries(host.workflowExtra().golden_path ?? {})) {
      show(id, savedReport(records));
    }
    for (const entry of memory.values()) {
      if (entry.workflow !== host.workflowId()) continue;
      entry.over ??= carried(entry.node);
      if (entry.over === carried(entry.node)) show(entry.node, entry.report);
    }
  },
});

/** What the open workflow's file says of a node's runs, as text. */
function carried(id) {
  return JSON.stringify(host.workflowExtra().golden_path?.[id] ?? null);
}
