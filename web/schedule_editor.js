// The Schedule Editor: cells over the node's text. The text is the schedule; this is a view of it.

import { el, set } from "./dom.js";
import * as host from "./host.js";
import { surroundings } from "./links.js";
import { openPaths } from "./paths_menu.js";
import * as schedule from "./schedule.js";
import { askServer } from "./schedule_answers.js";
import { createBar } from "./schedule_bar.js";
import { createGrid } from "./schedule_grid.js";
import { createLevels } from "./schedule_levels.js";
import { hint, warning } from "./schedule_messages.js";
import { texts } from "./strings.js";
import { addView, register } from "./views.js";

const NODE = "GPH_ScheduleEditor";
const MAX_STEPS = 200; // as nodes/schedule_editor.py
const LOCK = "gph_locked"; // a property of the node: kept in the workflow
const WIDTH = 400;

/** The editors of the open workflow, by node. */
const editors = new Map();

register({
  name: "golden-path.editor",

  setup() {
    host.onEvent("golden_path.run", (node, { record }) => {
      for (const editor of editors.values()) editor.ran(node, record?.sigmas);
    });
    host.onGraphChanged(refreshAll);
  },

  nodeCreated(node) {
    if (node.comfyClass === NODE) createEditor(node);
  },

  afterConfigureGraph: refreshAll,

  onNodeOutputsUpdated(outputs) {
    for (const [locator, output] of Object.entries(outputs)) {
      editors.get(host.findLocated(locator))?.executed(output);
    }
  },
});

function refreshAll() {
  for (const editor of editors.values()) editor.refresh();
}

function createEditor(node) {
  const widget = host.findWidget(node, "schedule");
  let cells = [true]; // the last schedule that could be read
  let error = null; // why the text cannot be
  let isLinked = false;
  let isWriting = false;
  let around = { caches: new Set() };
  let answers = {}; // of the server: policyError, levels, failure

  const t = (key, values) => texts(host.locale())(key, values);
  const isLocked = () => Boolean(node.properties[LOCK]);
  const noise = createLevels(() => host.isLinked(node, "sigmas"));
  const grid = createGrid({
    texts: () => texts(host.locale()),
    begin: host.beginStep,
    edit: write,
    isLocked,
    moved: drawMessages,
  });
  const bar = createBar({
    cells: () => cells,
    selected: grid.selected,
    edit: (next) => host.oneStep(() => write(next)),
    isLocked,
    lock: toggleLock,
    uniform: spread,
    copy: copyText,
    paste: pasteText,
    presets: (button) =>
      openPaths(button, { t, steps: cells.length, current: text, apply, signal: view.signal }),
  }, MAX_STEPS, t);
  const figures = el("div", {
    className: "gph-figures", role: "status", "data-testid": "gph-figures",
  });
  const source = el("span", { className: "gph-source", "data-testid": "gph-source" });
  grid.element.append(source);
  const messages = el("div", {
    className: "gph-messages", "data-testid": "gph-messages", "data-gph-scrolls": "",
  });
  const content = el(
    "div", { className: "gph-editor", "data-testid": "gph-editor" },
    bar.element, grid.element, figures, messages,
  );
  const view = addView(node, "schedule_grid", content, {
    height: 128,
    focusState: grid.state,
    focus(state) {
      grid.restore(state);
      grid.focus();
    },
  });
  if (node.size[0] < WIDTH) node.setSize([WIDTH, node.size[1]]);

  editors.set(node, { refresh, ran, executed });
  view.signal.addEventListener("abort", () => {
    editors.delete(node);
    clearTimeout(timer);
    observer.disconnect();
  });
  const observer = new ResizeObserver(() => {
    grid.layout();
    view.refit();
  });
  observer.observe(content);
  host.onValue(node, widget, () => isWriting || read());
  host.onLinked(node, "schedule", (linked) => {
    isLinked = linked;
    draw();
    refresh();
  });
  host.chain(node, "onExecuted", executed);
  // Other extensions write values without telling: look again when the user comes.
  for (const type of ["pointerenter", "focusin"]) content.addEventListener(type, lookAgain);
  let timer;
  let seen; // the text that is drawn

  // --- text and cells

  function lookAgain() {
    if (!isWriting && text() !== seen) read();
  }

  function text() {
    return String(widget.value ?? "");
  }

  function read() {
    try {
      const next = schedule.parse(text());
      if (next.length > MAX_STEPS) {
        throw new schedule.ScheduleError("tooManyHere", { most: MAX_STEPS, count: next.length });
      }
      [cells, error] = [next, null];
    } catch (reason) {
      if (!(reason instanceof schedule.ScheduleError)) throw reason;
      error = reason;
    }
    draw();
    refresh();
  }

  /** Write cells into the text, but not the same schedule in another form. */
  function write(next) {
    if (!error && schedule.format(next) === schedule.format(cells)) return grid.draw();
    setText(schedule.format(next));
  }

  function setText(value) {
    isWriting = true;
    host.setValue(widget, value);
    isWriting = false;
    read();
  }

  // --- drawing

  function draw() {
    seen = text();
    const off = Boolean(error) || isLinked;
    const { levels, key, values } = noise.shown(around, cells.length);
    grid.draw(cells, { sigmas: levels, off });
    content.classList.toggle("gph-wrong", Boolean(error));
    content.classList.toggle("gph-linked", isLinked);
    content.inert = isLinked;
    set(source, {
      textContent: key ? t(`editor.${key}`) : "",
      title: key ? t(`editor.${key}Tip`, values) : "",
    });
    set(figures, { textContent: figuresText(), title: t("editor.figuresTip") });
    bar.draw(off);
    drawMessages();
    view?.refit();
  }

  function figuresText() {
    const { numSteps, numFull, numCached, ratio, speedup, longest } = schedule.readout(cells);
    return t("editor.figures", {
      count: numSteps, full: numFull, cached: numCached, longest,
      ratio: Math.round(100 * ratio), speedup: speedup.toFixed(2).replace(/\.?0+$/, ""),
    });
  }

  function drawMessages() {
    const next = lines();
    const words = next.map((line) => line.textContent).join("");
    // Not anew while they stay: a button may be pressed, a reader would say them again.
    if (words !== messages.textContent) messages.replaceChildren(...next);
  }

  function lines() {
    if (error) return [wrongText()];
    if (isLinked) return [hint(t("editor.linked"))];
    const range = grid.selected().length ? [hint(grid.describe())] : [];
    const found = schedule.warnings(cells, {
      samplerSteps: around.steps ?? (noise.connected() ? noise.connected().length - 1 : undefined),
      policyError: answers.policyError,
      speed: around.speed,
    });
    if (answers.failure) found.push(["noAnswer", { reason: answers.failure }]);
    const warned = found.map(([key, values]) =>
      warning(t(`editor.${key}`, values), actions[key]?.(values)));
    return [...range, ...(warned.length ? warned : [hint(t("editor.help"))])];
  }

  function wrongText() {
    const before = schedule.format(cells);
    return warning(t("editor.wrongText", { reason: error.say(t) }), {
      label: t("editor.restore"),
      title: before,
      run: () => host.oneStep(() => setText(before)),
    }, "alert");
  }

  // What a warning offers to do.
  const actions = {
    otherSteps: ({ steps }) => ({
      label: t("editor.adapt", { steps }),
      run: () => apply(schedule.format(cells), steps),
    }),
    unused: () => ({
      label: t("editor.useCustom"),
      run: () => host.oneStep(() => {
        for (const cache of around.caches) host.setValue(host.findWidget(cache, "speed"), "Custom");
        refresh();
      }),
    }),
  };

  // --- what the buttons do

  function toggleLock() {
    host.oneStep(() => (node.properties[LOCK] = !isLocked()));
    draw();
  }

  async function spread() {
    const { numSteps, numFull } = schedule.readout(cells);
    await fromServer("/uniform", { steps: numSteps, full: numFull });
  }

  /** Take a schedule, for another number of steps the server's proposal from it. */
  async function apply(found, steps = cells.length) {
    if (schedule.parse(found).length === steps) return host.oneStep(() => setText(found));
    const origin = await fromServer("/retarget", { schedule: found, steps });
    if (origin) {
      host.toast("info", t("editor.retargeted", { count: steps, origin: origin.origin }));
    }
  }

  /** Take the schedule that a route answers with, unless the user went on in the meantime. */
  async function fromServer(path, body) {
    const before = text();
    try {
      const answer = await host.ask(path, { body });
      if (view.signal.aborted || text() !== before) return undefined;
      host.oneStep(() => setText(answer.schedule));
      return answer;
    } catch (reason) {
      host.toast("error", t("editor.failed"), reason.message);
      return undefined;
    }
  }

  async function copyText() {
    await host.copy(text(), t("editor.copy"), t("editor.exportAsk"));
  }

  async function pasteText() {
    const pasted = await host.paste(t("editor.paste"), t("editor.pasteAsk"));
    if (pasted?.trim() && !view.signal.aborted) host.oneStep(() => setText(pasted.trim()));
  }

  // --- the nodes around

  /** Ask anew what the nodes around mean for this schedule, once the user pauses. */
  function refresh() {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      if (!node.graph) return;
      around = surroundings(node);
      draw();
      const asked = text();
      const next = error ? {} : await askServer(around, cells);
      if (view.signal.aborted || text() !== asked) return;
      answers = next;
      draw();
    }, 120);
  }

  /** A run of a connected cache tells its noise levels. */
  function ran(cache, levels) {
    if (!levels || !around.caches.has(cache)) return;
    noise.ran(levels, around, cells.length);
    draw();
  }

  function executed(output) {
    noise.executed(output);
    draw();
  }

  read();
}
