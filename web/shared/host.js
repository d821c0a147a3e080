/**
 * What the pack asks of ComfyUI's front end: nodes, widgets, wires, events, dialogs, the server. This
 * module, `queue.js` and `views.js` alone touch it (`app`, `api`, `.lg-node`). Importing them does nothing.
 */

import { app } from "../../../scripts/app.js";
import { api } from "../../../scripts/api.js";
import { answerOf } from "./answers.js";
import { texts } from "./strings.js";

/** Register an extension of the front end. */
export function register(extension) {
  app.registerExtension(extension);
}

/** Run a change as one undo step. */
export function oneStep(change) {
  const end = beginStep();
  try {
    return change();
  } finally {
    end();
  }
}

/** Begin a gesture that is one undo step; the returned function ends it, once. */
export function beginStep() {
  app.canvas.emitBeforeChange();
  let open = true;
  return () => {
    if (open) app.canvas.emitAfterChange();
    open = false;
  };
}

/** Call `after` whenever the method was called, with its arguments; what it returned stands. */
export function chain(object, key, after) {
  const original = object[key];
  object[key] = function () {
    const result = original?.apply(this, arguments);
    after.apply(this, arguments);
    return result;
  };
}

/** A node's widget by name. */
export function findWidget(node, name) {
  return node.widgets?.find((widget) => widget.name === name);
}

/** What the server's schema says about an input, beside its type. */
export function inputOptions(node, name) {
  const { required, optional } = node.constructor.nodeData.input;
  return { ...required, ...optional }[name][1];
}

/** Show those widgets of a node that pass, hide the others, and fit its height to them. */
export function showWidgets(node, passes) {
  for (const widget of node.widgets) {
    widget.hidden = !passes(widget);
    widget.options.hidden = widget.hidden; // where Nodes 2.0 looks
  }
  node.setSize([node.size[0], node.computeSize()[1]]);
  node.setDirtyCanvas?.(true, true);
}

/** Give a text of several lines, if there is one, more height; Nodes 2.0 leaves that to the user. */
export function heighten(widget, height) {
  if (widget) widget.options.getMinHeight = () => height;
}

/** Set a widget's value as if the user had. */
export function setValue(widget, value) {
  widget.value = value;
  widget.callback?.(value);
}

/** Let the user edit a widget or not. */
export function setEnabled(widget, isEnabled) {
  if (Boolean(widget.disabled) === isEnabled) widget.disabled = !isEnabled;
}

/**
 * Let a text that cannot be edited show other words than its value, which stays.
 * @param {string} [words] none: its value again
 */
export function showInstead(node, widget, words) {
  if (widget.options.modelValue === words) return;
  // Nodes 2.0 spreads the options over its text field, the classic canvas draws `_displayValue`.
  widget.options.modelValue = words;
  if (words === undefined) {
    delete widget.options.modelValue;
    delete widget._displayValue;
  } else {
    Object.defineProperty(widget, "_displayValue", { value: words, configurable: true });
  }
  // Nodes 2.0 looks at the options anew when this changes; of a text with a wire, not when `disabled` does.
  const { label } = widget;
  widget.label = `${label} `;
  widget.label = label;
  node.setDirtyCanvas?.(true, true);
}

/** Call back when the user, a loaded workflow, an undo or a paste may have changed the widget. */
export function onValue(node, widget, changed) {
  chain(widget, "callback", () => changed());
  chain(node, "onConfigure", () => changed());
}

/** Call back with whether the input gets its value from a wire: now and after each change. */
export function onLinked(node, inputName, changed) {
  const tell = () => queueMicrotask(() => changed(isLinked(node, inputName)));
  chain(node, "onConnectionsChange", tell);
  chain(node, "onConfigure", tell);
  tell();
}

/** Whether an input of the node has a wire. */
export function isLinked(node, inputName) {
  const slot = node.inputs?.findIndex((input) => input.name === inputName) ?? -1;
  return slot >= 0 && node.isInputConnected(slot);
}

/** A node by its execution id; inside subgraphs that is a colon path such as "3:2". */
export function findNode(executionId, graph = app.rootGraph) {
  const [first, ...rest] = String(executionId).split(":");
  const node = graph?.getNodeById(first);
  return rest.length && node ? findNode(rest.join(":"), node.subgraph ?? null) : node;
}

/** A node by its locator, the key of `onNodeOutputsUpdated`: "<subgraph id>:<id>" or "<id>". */
export function findLocated(locator) {
  const [id, subgraph] = String(locator).split(":").reverse();
  const graph = subgraph ? app.rootGraph.subgraphs.get(subgraph) : app.rootGraph;
  return graph?.getNodeById(id) ?? undefined;
}

/**
 * Call back after every change of the workflow that an undo could take back.
 * @returns {() => void} ends that
 */
export function onGraphChanged(changed) {
  const handle = () => changed();
  api.addEventListener("graphChanged", handle);
  return () => api.removeEventListener("graphChanged", handle);
}

/**
 * Listen to an event that the pack's Python sends. Call it in `setup`. Payloads carry `node_id`
 * and `workflow_id`; for those of a workflow that is not the open one there is no node. ComfyUI's
 * own events come the same way, some without a payload.
 * @param {string} type such as "golden_path.run"
 * @param {(node: object | undefined, detail: any) => void} handle
 */
export function onEvent(type, handle) {
  api.addEventListener(type, ({ detail }) => {
    const isOpen = !detail?.workflow_id || detail.workflow_id === workflowId();
    handle(isOpen ? findNode(detail?.node_id) : undefined, detail);
  });
}

/** The id of the open workflow; it survives saving, loading and undo. */
export function workflowId() {
  return app.rootGraph.id;
}

/** The id that this page has for the server; it survives a reload, after which ComfyUI's own is late. */
export function clientId() {
  return api.clientId ?? api.initialClientId;
}

/** What the file of the open workflow carries beside its nodes. */
export function workflowExtra() {
  return app.rootGraph.extra ?? {};
}

/**
 * Ask a route of the pack; what comes of it is that of `answerOf`.
 * @param {string} path after "/golden_path"
 * @param {{method?: string, body?: unknown}} [request] a body makes it a POST
 */
export function ask(path, { method, body } = {}) {
  return answerOf(say, () =>
    api.fetchApi(`/golden_path${path}`, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    }));
}

/** The address of a file in ComfyUI's folder for temporary ones. */
export function temporaryUrl(file) {
  return api.apiURL(temporary(file));
}

/** What a file of that folder holds, which is JSON; undefined if it is no longer there. */
export async function temporaryJson(file) {
  const answer = await api.fetchApi(temporary(file));
  return answer.ok ? answer.json() : undefined;
}

function temporary({ filename, subfolder }) {
  return `/view?${new URLSearchParams({ filename, subfolder, type: "temp" })}`;
}

/** A text in the language of ComfyUI. */
export function say(key, values) {
  return texts(app.extensionManager?.setting?.get("Comfy.Locale") ?? "en")(key, values);
}

/** A short message; severity is "success", "info", "warn" or "error". */
export function toast(severity, summary, detail = "") {
  app.extensionManager.toast.add({ severity, summary, detail, life: 6000 });
}

/** Ask for a line of text; null if the user gave up. */
export function prompt(title, message, defaultValue = "") {
  return app.extensionManager.dialog.prompt({ title, message, defaultValue });
}

/**
 * Ask for a line of text until it can be used: what was typed stays, beside the reason why not.
 * @param {(text: string) => Promise<unknown>} use throws with the reason
 */
export async function promptUntil(title, message, use, text = "") {
  for (let asked = message; ; ) {
    text = (await prompt(title, asked, text))?.trim();
    if (!text) return;
    try {
      return await use(text);
    } catch (reason) {
      asked = reason.message;
    }
  }
}

/** Ask yes or no. */
export function confirm(title, message) {
  return app.extensionManager.dialog.confirm({ title, message });
}
