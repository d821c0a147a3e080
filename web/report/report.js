// Shows on each node that caches what its last runs did, and on every node of the pack what failed.

import * as host from "../shared/host.js";
import { Memory, placeOf } from "../shared/memory.js";
import { unlessPressed } from "../shared/press.js";
import { onQueued, outputTypes } from "../shared/queue.js";
import { addView } from "../shared/views.js";
import { CACHES, failures, refusals } from "./failures.js";
import { failureLineOf } from "./failure_line.js";
import { createPanel } from "./report_panel.js";
import { afterEvent, afterFit, afterForgetting, caughtUp, savedReport } from "./run_view.js";
import { followSettings } from "./settings.js";

const EVENT = "golden_path.run"; // sent by nodes/cache/report.py
const SUCCESS = "execution_success";
const ENDS = ["execution_error", "execution_interrupted", SUCCESS];

/**
 * What nodes did in this session: `{report?: object, speed?: string, failure?: Failure}` (see
 * failures.js). `speed` is the one of the last prompt.
 */
const memory = new Memory();

/** Workflows whose last reports the server was asked for: a page that is loaded anew knows none. */
const asked = new Set();

/** The events of those workflows whose answer is not there yet. */
const heard = new Map();
let hasCaches = false;

/** What is known of prompts that have not ended; their events may come before the answer to the queueing. */
const prompts = new Map();

host.register({
  name: "golden-path.report",

  setup() {
    host.onEvent(EVENT, (_node, event) => {
      const [workflow, node] = placeOf(event);
      heard.get(workflow)?.push(event);
      remember(workflow, node, { report: afterEvent(remembered(workflow, node).report, event) });
    });
    host.onEvent("execution_cached", (_node, { prompt_id, nodes }) => learn(prompt_id, { cached: nodes }));
    for (const type of ENDS) {
      host.onEvent(type, (_node, end) => learn(end.prompt_id, { end: { type, ...end } }));
    }
    onQueued(begun);
  },

  nodeCreated(node) {
    if (!CACHES.includes(node.comfyClass)) {
      if (node.comfyClass?.startsWith("GPH_")) memory.shownBy(node, failureLineOf(node));
      return;
    }
    hasCaches = true;
    const panel = createPanel();
    const view = addView(node, "golden_path_report", panel.element, { height: 140 });
    const settings = followSettings(node, panel, view.signal, forgotten);
    memory.shownBy(node, unlessPressed(panel.element, (entry) => {
      panel.show(entry);
      settings.ran(panel.schedule(), entry.speed);
    }));
  },

  // A workflow was opened, perhaps from an image that carries reports.
  afterConfigureGraph() {
    const workflow = host.workflowId();
    for (const node of Object.keys(host.workflowExtra().golden_path ?? {})) {
      memory.show(workflow, node, remembered(workflow, node));
    }
    if (hasCaches && host.clientId() && !asked.has(workflow)) askFor(workflow);
  },
});

/** Show what the server reported of a workflow before, where nothing newer is known. */
async function askFor(workflow) {
  asked.add(workflow);
  heard.set(workflow, []);
  const page = new URLSearchParams({ client: host.clientId() });
  try {
    const { events } = await host.ask(`/reports/${encodeURIComponent(workflow)}?${page}`);
    for (const node of new Set(events.map((event) => event.node_id))) {
      const { report } = remembered(workflow, node);
      const [told, since] = [events, heard.get(workflow)].map((all) => all.filter((event) => event.node_id === node));
      const newest = caughtUp(report, told, since);
      if (newest !== report) remember(workflow, node, { report: newest });
    }
  } catch {
    asked.delete(workflow); // it is asked for again when it is opened again
  } finally {
    heard.delete(workflow);
  }
}

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
    remember(workflow, node, { failure, report: afterFit(remembered(workflow, node).report) });
  }
}

/** What was learned under a name is no more, and no report offers to forget it again. */
function forgotten(name) {
  memory.change((known) => {
    const report = afterForgetting(known.report, name);
    return report === known.report ? known : { ...known, report };
  });
}

/** What is known of a node: of this session, else what the open workflow's file carries. */
function remembered(workflow, node) {
  const records = workflow === host.workflowId() && host.workflowExtra().golden_path?.[node];
  return memory.get(workflow, node) ?? { report: savedReport(records) };
}

function remember(workflow, node, news) {
  memory.set(workflow, node, { ...remembered(workflow, node), ...news });
}
