/**
 * Which prompt belongs to which workflow, which workflow to which tab, and its states. As `host.js`, it touches
 * ComfyUI's front end. Importing it does nothing.
 */

import { app } from "../../../scripts/app.js";
import { api } from "../../../scripts/api.js";

/** Ids of the workflows that the page has loaded. */
const met = new Set();

/**
 * Give a workflow that is opened once more, from a template, a file or an image, an id of its own:
 * events and reports go by the id, and those of the other tab are not its own. ComfyUI does the same
 * for duplicates. Call it in `setup`.
 * @param {(id: string) => void} replaced told the id of a workflow whose own tab it was loaded into
 */
export function separateTabs(replaced) {
  const original = app.loadGraphData;
  app.loadGraphData = async function (graph, clean, restoreView, tab, ...rest) {
    // An object is a tab that ComfyUI knows: the user came back to it, or undid something.
    if (met.has(graph?.id) && (tab === null || typeof tab !== "object")) {
      if (isOpen(graph.id, tab)) replaced(graph.id);
      else graph = { ...graph, id: LiteGraph.uuidv4() };
    }
    try {
      return await original.call(this, graph, clean, restoreView, tab, ...rest);
    } finally {
      met.add(app.rootGraph.id);
    }
  };
}

/** Whether ComfyUI takes a file of this name and id for the open one, and loads it into its tab. */
function isOpen(id, name) {
  const open = app.extensionManager.workflow?.activeWorkflow;
  const path = `workflows/${name?.replace(/\.json$/, "")}.json`;
  return open?.activeState?.id === id && open.path === path;
}

/**
 * @typedef {object} Queued
 * @property {string} workflow its id
 * @property {Record<string, {class_type: string, inputs: object}>} nodes of the prompt, by execution id
 * @property {string} [prompt] its id; undefined if the server refused it
 * @property {Record<string, {errors: object[]}>} errors of nodes, as the server found them
 */

/**
 * Call back when the server has accepted or refused a prompt of this page. Call it in `setup`.
 * @param {(queued: Queued) => void} handle
 */
export function onQueued(handle) {
  const original = api.queuePrompt;
  api.queuePrompt = async function (number, { output, workflow }) {
    const about = { workflow: workflow?.id ?? app.rootGraph.id, nodes: output };
    try {
      const answer = await original.apply(this, arguments);
      handle({ ...about, prompt: answer.prompt_id, errors: answer.node_errors ?? {} });
      return answer;
    } catch (reason) {
      handle({ ...about, errors: reason.response?.node_errors ?? {} });
      throw reason;
    }
  };
}

/**
 * Change the states of the open workflow that a save and an undo take, as no step of its own.
 * @param {(state: object) => object} change the state itself stays: others may hold it
 */
export function amendHistory(change) {
  const tracker = app.extensionManager.workflow.activeWorkflow.changeTracker;
  tracker.activeState = change(tracker.activeState);
  for (const states of [tracker.undoQueue, tracker.redoQueue]) states.splice(0, Infinity, ...states.map(change));
  tracker.updateModified(); // which also saves the draft
}

/**
 * A prompt that the server runs or still remembers.
 * @param {string} id
 * @returns {Promise<{nodes: Queued["nodes"], outputs: string[], workflow?: object} | undefined>} `outputs` are run
 */
export async function ranPrompt(id) {
  const ask = async (path) => (await api.fetchApi(path)).json();
  // In this order, or a run that ends in between would be found in neither.
  const running = (await ask("/queue")).queue_running.find((item) => item[1] === id);
  const found = running ?? (await ask(`/history/${encodeURIComponent(id)}`))[id]?.prompt;
  return found && { nodes: found[2], outputs: found[4], workflow: found[3]?.extra_pnginfo?.workflow };
}

/** Queue nodes as a prompt of a workflow, whatever its widgets say now, to run these outputs. */
export function queueNodes(nodes, workflow, outputs) {
  return api.queuePrompt(0, { output: nodes, workflow }, { partialExecutionTargets: outputs });
}

/** Whether nodes of a kind are run for what they show or save. */
export function isOutput(kind) {
  return Boolean(LiteGraph.registered_node_types[kind]?.nodeData?.output_node);
}

/** The types of the outputs of a kind of node. */
export function outputTypes(kind) {
  return LiteGraph.registered_node_types[kind]?.nodeData?.output ?? [];
}
