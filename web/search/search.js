// Shows on each Schedule Search node what its search has found so far.

import * as host from "../shared/host.js";
import { Memory, placeOf } from "../shared/memory.js";
import { addView } from "../shared/views.js";
import { createPanel } from "./search_panel.js";
import { ended, searchOf } from "./search_view.js";

const EVENT = "golden_path.search"; // sent by nodes/search/search_live.py
const NODE = "GPH_ScheduleSearch";

/** How a prompt may end before its search. */
const ENDS = { execution_interrupted: "stopped", execution_error: "failed" };

/** The searches of this session. */
const memory = new Memory();

host.register({
  name: "golden-path.search",

  setup() {
    host.onEvent(EVENT, (_node, event) => remember(event));
    for (const [type, state] of Object.entries(ENDS)) {
      host.onEvent(type, (_node, { prompt_id }) => endAll(state, (search) => search.prompt === prompt_id));
    }
    // A server that was killed tells nothing; the next one has an empty queue.
    host.onEvent("status", (_node, status) => {
      if (status?.exec_info?.queue_remaining === 0) endAll("stopped", () => true);
    });
  },

  nodeCreated(node) {
    if (node.comfyClass !== NODE) return;
    const panel = createPanel();
    memory.shownBy(node, panel.show);
    addView(node, "golden_path_search", panel.element, { height: 230, fills: true });
    // A node that ComfyUI need not run again repeats its output alone.
    host.chain(node, "onExecuted", (output) => searchesOf(output).forEach(remember));
  },

  // What ComfyUI keeps of outputs may be older than what the page was told.
  onNodeOutputsUpdated(all) {
    for (const facts of Object.values(all).flatMap(searchesOf)) {
      if (!memory.get(...placeOf(facts))) remember(facts);
    }
  },
});

/** What outputs of the node say. ComfyUI hands them to the node of that id in any workflow. */
function searchesOf(output) {
  return Array.isArray(output?.gph_search) ? output.gph_search.filter(searchOf) : [];
}

/** End the searches that match, unless they have ended. */
function endAll(state, matches) {
  memory.change((search) => (matches(search) ? ended(search, state) : search));
}

function remember(facts) {
  const search = searchOf(facts);
  if (search) memory.set(...placeOf(facts), search);
}
