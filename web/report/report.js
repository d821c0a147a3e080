// Shows on each node that caches what its last runs did, and on every node of the pack what failed.

import * as host from "../shared/host.js";
import { onQueued, outputTypes, separateTabs } from "../shared/queue.js";
import { texts } from "../shared/strings.js";
import { addView, register } from "../shared/views.js";
import { CACHES, failures, refusals } from "./failures.js";
import { createFailureLine } from "./failure_line.js";
import { createPanel } from "./report_panel.js";
import { afterEvent, savedReport } from "./run_view.js";
import { followSettings } from "./settings.js";

const EVENT = "golden_path.run"; // sent by nodes/cache/report.py
const SUCCESS = "execution_success";
const ENDS = ["execution_error", "execution_interrupted", SUCCESS];

/** What shows reports and failures, by node. */
const panels = new WeakMap();

/**
 * What nodes did in this session, the latest last.
 * `speed` is the one of its last prompt.
 * @type {Map<string, {workflow: string, node: string, report?: object, speed?: string,
 *   failure?: import("./failures.js").Failure}>}
 */
const memory = new Map();

/** What is known of prompts that have not ended; their events may come before the answer to the queueing. */
const prompts = new Map();

register({
  name: "golden-path.report",

  setup() {
    host.onEvent(EVENT, (_node, event) => {
      const workflow = event.workflow_id ?? host.workflowId();
      const { report } = remembered(workflow, event.node_id);
      remember(workflow, event.node_id, { report: afterEvent(report, event) });
    });
    host.onEvent("execution_cached", (_node, { prompt_id, nodes }) => learn(prompt_id, { cached: nodes }));
    for (const type of ENDS) {
      host.onEvent(type, (_node, end) => learn(end.prompt_id, { end: { type, ...end } }));
    }
    onQueued(begun);
    separateTabs((workflow) => {
      for (const [key, entry] of memory) if (entry.workflow === workflow) memory.delete(key);
    });
  },

  nodeCreated(node) {
    const t = (key, values) => texts(host.locale())(key, values);
    if (!CACHES.includes(node.comfyClass)) {
      if (node.comfyClass?.startsWith("GPH_")) panels.set(node, createFailureLine(node, t));
      return;
    }
    const panel = createPanel(t);
    const view = addView(node, "golden_path_report", panel.element, { height: 120 });
    const settings = followSettings(node, panel, view.signal, t);
    panels.set(node, {
      show(entry) {
        panel.show(entry);
        settings.ran(panel.schedule(), entry.speed);
      },
    });
  },

  // A workflow was opened, came back from another tab, or was remade by an undo.
  afterConfigureGraph() {
    const saved = Object.keys(host.workflowExtra().golden_path ?? {});
    for (const id of saved) show(remembered(host.workflowId(), id));
    memory.forEach(show);
  },
});

/** A prompt was queued, and what failed before is no news of it; or it was refused, for other reasons. */
function begun({ workflow, nodes, prompt, errors }) {
  for (const [id, { class_type: kind, inputs }] of Object.entries(nodes)) {
    const { failure } = remembered(workflow, id);
    if (failure && (prompt || failure.state === "refused")) remember(workflow, id, { failure: undefined });
    if (prompt && CACHES.includes(kind)) remember(workflow, id, { speed: textOf(inputs.speed) });
  }
  for (const [id, failure] of refusals(nodes, errors)) remember(workflow, id, { failure });
  if (prompt) learn(prompt, { workflow, nodes });
}

/** A value that does not come by a wire. */
const textOf = (input) => (typeof input === "string" ? input : undefined);

/** Something became known of a prompt; once it has ended, what that means for its nodes. */
function learn(id, news) {
  const known = { cached: [], ...prompts.get(id), ...news };
  prompts.set(id, known);
  const { workflow, nodes, cached, end } = known;
  if (!nodes || !end) return;
  prompts.delete(id);
  if (end.type === SUCCESS) return;
  for (const [node, failure] of failures(nodes, end, cached, outputTypes)) {
    remember(workflow, node, { failure });
  }
}

/** What is known of a node: of this session, else what the open workflow's file carries. */
function remembered(workflow, node) {
  const records = workflow === host.workflowId() && host.workflowExtra().golden_path?.[node];
  const fresh = { workflow, node: String(node), report: savedReport(records) };
  return memory.get(`${workflow} ${node}`) ?? fresh;
}

function remember(workflow, node, news) {
  const entry = { ...remembered(workflow, node), ...news };
  const key = `${workflow} ${node}`;
  memory.delete(key); // to be the last one
  memory.set(key, entry);
  show(entry);
}

function show(entry) {
  if (entry.workflow === host.workflowId()) panels.get(host.findNode(entry.node))?.show(entry);
}
