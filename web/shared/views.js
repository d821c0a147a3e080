/**
 * Views: the pack's own DOM on nodes, in both renderers, through undo and subgraphs. As `host.js`, it
 * touches ComfyUI's front end.
 */

import { app } from "../../../scripts/app.js";
import { chain, register } from "./host.js";

/**
 * A view: DOM below a node's widgets that is saved neither in the workflow nor in the prompt.
 * @typedef {object} View
 * @property {() => void} refit adapt the node to the content's height, now
 * @property {AbortSignal} signal aborted when the node is removed (by undo too)
 * @property {() => void} remove take the view off the node, which gets its former height back
 */

/**
 * @typedef {object} ViewOptions
 * @property {number} [height] of the content before it is first drawn, in CSS pixels
 * @property {boolean} [fills] whether that is the least height, and the content takes what is to spare
 * @property {() => unknown} [focusState] what `focus` needs to go on where the user was
 * @property {(state: any) => void} [focus] called after an undo that took the focus away
 */

/** By the element of the widget: newer front ends wrap widgets in classes of their own. */
/** @type {WeakMap<HTMLElement, {name: string, options: ViewOptions}>} */
const views = new WeakMap();

/**
 * Where the focus is, `{frame, id, workflow}` with the ids of the node and the workflow, kept while
 * an undo replaces the element.
 */
let focused = null;

const MARGIN = 8;
const SPARE = 40; // more than what Nodes 2.0 adds to the computed size of a node

/** Heights mean nothing before the style sheet applies. */
let styled = null;
let isStyled = false;

register({
  name: "golden-path.views",

  setup() {
    // A subgraph is opened or left: one that was just made shows the elements of its former nodes.
    app.canvas.canvas.addEventListener("litegraph:set-graph", () => twoFrames(remount));
  },

  afterConfigureGraph: () => twoFrames(remount),
});

/**
 * Append a view to a node. Call it in `nodeCreated`, after all other widgets.
 * @param {object} node
 * @param {string} name of the widget, unique on the node
 * @param {HTMLElement} content its natural height is the least that it gets
 * @param {ViewOptions} [options]
 * @returns {View}
 */
export function addView(node, name, content, options = {}) {
  const frame = document.createElement("div");
  frame.className = options.fills ? "gph-view gph-fills" : "gph-view";
  frame.dataset.gphWidget = name;
  frame.append(content);
  views.set(frame, { name, options });

  let height = options.height ?? 48;
  const before = node.size[1];
  const widget = node.addDOMWidget(name, "GPH_VIEW", frame, {
    serialize: false, // not in the prompt
    margin: MARGIN,
    getValue: () => "",
    setValue: () => {}, // a file may hold anything at its place
    getMinHeight: () => height + 2 * MARGIN,
    hideOnZoom: true,
  });
  widget.serialize = false; // not in the workflow
  // The right side panel writes a width of its own, to which the classic renderer would shrink us.
  Object.defineProperty(widget, "width", { get: () => undefined, set() {}, configurable: true });

  let isMeasured = false;
  const refit = () => {
    const shown = content.offsetHeight; // unscaled; 0 while it is not shown
    const now = shown && options.fills ? options.height : shown;
    if (!isStyled || !now || (isMeasured && now === height)) return;
    // A file has the right size already. Later a node that fits its content follows it, and one with
    // room to spare leaves that to its content.
    const fits = node.size[1] - node.computeSize()[1] < SPARE;
    const growth = isMeasured && fits ? now - height : 0;
    [height, isMeasured] = [now, true];
    frame.style.setProperty("--gph-height", `${height}px`);
    const size = Math.max(node.size[1] + growth, node.computeSize()[1]);
    if (size !== node.size[1]) node.setSize([node.size[0], size]);
    node.setDirtyCanvas?.(true, true);
  };
  // Widgets added in nodeCreated come after the constructor's sizing.
  const [width, least] = node.computeSize();
  node.setSize([Math.max(node.size[0], width), Math.max(node.size[1], least)]);
  const observer = new ResizeObserver(refit);
  observer.observe(content);
  loadStyle().then(() => {
    isStyled = true;
    refit();
  });

  const removed = new AbortController();
  chain(node, "onRemoved", () => {
    removed.abort();
    observer.disconnect();
  });
  forwardToCanvas(frame);
  followFocus(node, frame);
  const remove = () => {
    observer.disconnect();
    node.removeWidget(widget);
    node.setSize([node.size[0], Math.max(before, node.computeSize()[1])]);
  };
  return { refit, signal: removed.signal, remove };
}

function inNodes2(element) {
  return element.closest(".lg-node") !== null;
}

/** Nodes 2.0 hands wheel and middle button to the canvas itself, the classic overlay does not. */
function forwardToCanvas(frame) {
  const classic = (handle) => (event) => {
    if (!inNodes2(frame)) handle(event);
  };
  frame.addEventListener(
    "wheel",
    classic((event) => {
      if (event.target.closest("[data-gph-scrolls]")) return;
      event.preventDefault();
      app.canvas.processMouseWheel(event);
    }),
    { passive: false },
  );
  const middle = {
    pointerdown: (event) => event.button === 1 && app.canvas.processMouseDown(event),
    pointermove: (event) => event.buttons & 4 && app.canvas.processMouseMove(event),
    pointerup: (event) => event.button === 1 && app.canvas.processMouseUp(event),
  };
  for (const [type, handle] of Object.entries(middle)) {
    frame.addEventListener(type, classic(handle));
  }
  // ComfyUI's plain keys act on the canvas: Delete removes nodes, letters open panels.
  frame.addEventListener("keydown", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation();
  });
}

function followFocus(node, frame) {
  frame.addEventListener("focusin", () => {
    focused = { frame, id: String(node.id), workflow: app.rootGraph.id };
  });
  // Taken out of the page with the focus in it, the frame is being replaced; else the user left.
  frame.addEventListener("focusout", () =>
    queueMicrotask(() => {
      const left = frame.isConnected && !frame.contains(document.activeElement);
      if (left && focused?.frame === frame) focused = null;
    }),
  );
}

/**
 * An undo makes every node anew. Nodes 2.0 then goes on showing the old element, whose edits go
 * nowhere, and in both renderers the focus is lost.
 */
function remount() {
  const lost = focused;
  for (const node of app.canvas.graph?.nodes ?? []) {
    for (const { element } of node.widgets ?? []) {
      const view = element && views.get(element);
      if (!view) continue;
      const place = `.lg-node[data-node-id="${node.id}"] [data-gph-widget="${view.name}"]`;
      const shown = document.querySelector(place);
      if (shown && shown !== element) shown.replaceWith(element);
      const isSame = lost?.id === String(node.id) && lost.workflow === app.rootGraph.id;
      if (isSame && lost.frame !== element) {
        restoreFocus(views.get(lost.frame), view);
      }
    }
  }
}

function restoreFocus(before, view) {
  const isFree = document.activeElement === document.body || !document.activeElement;
  if (isFree && before.name === view.name) view.options.focus?.(before.options.focusState?.());
}

function twoFrames(callback) {
  requestAnimationFrame(() => requestAnimationFrame(callback));
}

/** Load the pack's style sheet, once; resolves when it applies. */
function loadStyle() {
  styled ??= new Promise((resolve) => {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = new URL("golden_path.css", import.meta.url).href;
    link.onload = link.onerror = resolve;
    document.head.append(link);
  });
  return styled;
}
