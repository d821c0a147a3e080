/**
 * What nodes show, by workflow and node: undo and other tabs make nodes anew, and events may be of a
 * workflow that is not open.
 */

import * as host from "./host.js";
import { amendHistory, separateTabs } from "./queue.js";

/** What takes the outputs of a node. */
const outputs = new WeakMap();

const memories = [];

host.register({
  name: "golden-path.memory",

  setup() {
    separateTabs((workflow) => memories.forEach((memory) => memory.forget(workflow)));
  },

  // A workflow was opened, came back from another tab, or was remade by an undo.
  afterConfigureGraph: showAll,

  // The same, with what ComfyUI keeps of outputs: it may be older than what the page was told.
  onNodeOutputsUpdated(all) {
    for (const [locator, output] of Object.entries(all)) outputs.get(host.findLocated(locator))?.(output);
    showAll();
  },
});

function showAll() {
  for (const memory of memories) memory.showAll();
}

/** Call back with the node's output: after a run, and when its workflow comes back. */
export function onOutput(node, take) {
  host.chain(node, "onExecuted", take);
  outputs.set(node, take);
}

/** The parts of an output under a key. ComfyUI hands a result to the node of that id in any workflow. */
export function partsOf(output, key) {
  const isOurs = ({ workflow_id: id }) => !id || id === host.workflowId();
  return (output?.[key] ?? []).filter(isOurs);
}

/**
 * Keep a value with a node in the workflow's file. A run is no edit: there is nothing to undo, what an
 * undo brings back has the value too, and a redo is not lost.
 */
export function keep(node, property, value) {
  if (node.properties[property] === value) return;
  node.properties[property] = value;
  const isKept = ({ id }) => String(id) === String(node.id);
  const kept = (saved) => ({ ...saved, properties: { ...saved.properties, [property]: value } });
  const within = (graph) => (graph.id === node.graph.id
    ? { ...graph, nodes: graph.nodes.map((saved) => (isKept(saved) ? kept(saved) : saved)) }
    : graph);
  amendHistory((state) => {
    const { subgraphs } = state.definitions ?? {};
    return within(subgraphs ? { ...state, definitions: { ...state.definitions, subgraphs: subgraphs.map(within) } } : state);
  });
}

/** Whom an event or an output is about; without a workflow, as an API client sends it, the open one's. */
export function placeOf({ workflow_id, node_id }) {
  return [workflow_id ?? host.workflowId(), String(node_id)];
}

/** What is known of nodes in this session: a value for each, shown whenever the node is there. */
export class Memory {
  #entries = new Map(); // the latest last: a subgraph that is used twice has its nodes once
  #panels = new WeakMap();

  constructor() {
    memories.push(this);
  }

  /** Let a function show the values of a node. */
  shownBy(node, show) {
    this.#panels.set(node, show);
  }

  get(workflow, node) {
    return this.#entries.get(`${workflow} ${node}`)?.value;
  }

  set(workflow, node, value) {
    this.delete(workflow, node);
    this.#entries.set(`${workflow} ${node}`, { workflow, node, value });
    this.show(workflow, node, value);
  }

  delete(workflow, node) {
    this.#entries.delete(`${workflow} ${node}`);
  }

  forget(of) {
    for (const { workflow, node } of this.#entries.values()) if (workflow === of) this.delete(workflow, node);
  }

  /** Change every value, and show those that became others. */
  change(next) {
    for (const entry of this.#entries.values()) {
      const value = next(entry.value);
      if (value !== entry.value) this.show(entry.workflow, entry.node, (entry.value = value));
    }
  }

  show(workflow, node, value) {
    if (workflow === host.workflowId()) this.#panels.get(host.findNode(node))?.(value);
  }

  showAll() {
    for (const { workflow, node, value } of this.#entries.values()) this.show(workflow, node, value);
  }
}
