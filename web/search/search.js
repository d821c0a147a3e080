// Shows on each Schedule Search node what its search has found so far.

import * as host from "../shared/host.js";
import { createPanel } from "./search_panel.js";
import { ended, searchOf } from "./search_view.js";
import { separateTabs } from "../shared/queue.js";
import { texts } from "../shared/strings.js";
import { addView, register } from "../shared/views.js";

const EVENT = "golden_path.search"; // sent by nodes/search/search_live.py
const NODE = "GPH_ScheduleSearch";

/** How a prompt may end before its search. */
const ENDS = { execution_interrupted: "stopped", execution_error: "failed" };

const panels = new WeakMap();

/**
 * The searches of this session, by workflow and node.
 * @type {Map<string, {workflow: string, node: string, search: import("./search_view.js").Search}>}
 */
const memory = new Map();

register({
  name: "golden-path.search",

  setup() {
    host.onEvent(EVENT, (_node, event) => remember(event));
    separateTabs((workflow) => {
      for (const [key, entry] of memory) if (entry.workflow === workflow) memory.delete(key);
    });
    for (const [type, state] of Object.entries(ENDS)) {
      host.onEvent(type, (_node, { prompt_id }) =>
        endAll(state, (search) => search.prompt === prompt_id));
    }
    // A server that was killed tells nothing; the next one has an empty queue.
    host.onEvent("status", (_node, status) => {
      if (status?.exec_info?.queue_remaining === 0) endAll("stopped", () => true);
    });
  },

  nodeCreated(node) {
    if (node.comfyClass !== NODE) return;
    const panel = createPanel(() => texts(host.locale()));
    panels.set(node, panel);
    addView(node, "golden_path_search", panel.element, { height: 230, fills: true });
    // A node that ComfyUI need not run again repeats its output alone.
    host.chain(node, "onExecuted", (output) => outputs(output).forEach(remember));
  },

  // A workflow was opened, came back from another tab, or was remade by an undo.
  afterConfigureGraph() {
    memory.forEach(show);
  },

  // The same, with what ComfyUI keeps of outputs: it may be older than what the page was told.
  onNodeOutputsUpdated(all) {
    for (const facts of Object.values(all).flatMap(outputs)) {
      if (!memory.has(keyOf(facts))) remember(facts);
    }
  },
});

/** What outputs of the node say. ComfyUI hands them to the node of that id in any workflow. */
function outputs(output) {
  return Array.isArray(output?.gph_search) ? output.gph_search.filter(searchOf) : [];
}

/** End the searches that match, unless they have ended. */
function endAll(state, matches) {
  for (const entry of memory.values()) {
    if (!matches(entry.search)) continue;
    entry.search = ended(entry.search, state);
    show(entry);
  }
}

function remember(facts) {
  const search = searchOf(facts);
  if (!search) return;
  const entry = { ...placeOf(facts), search };
  memory.set(keyOf(facts), entry);
  show(entry);
}

function show({ workflow, node, search }) {
  if (workflow === host.workflowId()) panels.get(host.findNode(node))?.show(search);
}

/** A prompt without a workflow, as an API client sends it, is taken for the open one's. */
function placeOf({ workflow_id, node_id }) {
  return { workflow: workflow_id ?? host.workflowId(), node: String(node_id) };
}

function keyOf(facts) {
  const { workflow, node } = placeOf(facts);
  return `${workflow} ${node}`;
}
