// The Schedule Editor: cells over the node's text. The text is the schedule; this is a view of it.

import { el, icon, set } from "./dom.js";
import * as host from "./host.js";
import { surroundings } from "./links.js";
import { openPaths } from "./paths_menu.js";
import * as schedule from "./schedule.js";
import { createGrid } from "./schedule_grid.js";
import { texts } from "./strings.js";

const NODE = "GPH_ScheduleEditor";
const MAX_STEPS = 200; // as nodes/schedule_editor.py
const LOCK = "gph_locked"; // a property of the node: kept in the workflow
const WIDTH = 400;

/** The editors of the open workflow, by node. */
const editors = new Map();

/** Nominal noise levels by scheduler and steps; they never change. */
const nominal = new Map();

host.register({
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
  let exact = null; // noise levels of the last run, {levels, key}
  let given = null; // of the connected SIGMAS

  const t = (key, values) => texts(host.locale())(key, values);
  const isLocked = () => Boolean(node.properties[LOCK]);
  const grid = createGrid({
    texts: () => texts(host.locale()),
    begin: host.beginStep,
    edit: write,
    isLocked,
    moved: drawMessages,
  });
  const bar = createBar();
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
  const view = host.addView(node, "schedule_grid", content, {
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
    const { levels, key, values } = noise();
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

  /** The noise levels to show and where they come from, the most certain first. */
  function noise() {
    if (exact && exact.key === samplerKey()) return { levels: exact.levels, key: "curveExact" };
    if (given?.length === cells.length + 1) return { levels: given, key: "curveNode" };
    const { scheduler } = around;
    const levels = nominal.get(`${scheduler} ${cells.length}`);
    return levels ? { levels, key: "curveNominal", values: { scheduler } } : {};
  }

  function samplerKey() {
    return `${around.scheduler} ${around.steps} ${cells.length}`;
  }

  function drawMessages() {
    messages.replaceChildren(...lines());
  }

  function lines() {
    if (error) return [wrongText()];
    if (isLinked) return [line(t("editor.linked"))];
    const range = grid.selected().length ? [line(grid.describe())] : [];
    const found = schedule.warnings(cells, {
      samplerSteps: given ? (around.steps ?? given.length - 1) : around.steps,
      policyError: answers.policyError,
      speed: around.speed,
    });
    if (answers.failure) found.push(["noAnswer", { reason: answers.failure }]);
    const warned = found.map(([key, values]) => {
      const action = actions[key]?.(values);
      return warning(t(`editor.${key}`, values), action);
    });
    return [...range, ...(warned.length ? warned : [line(t("editor.help"))])];
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

  function line(words) {
    return el("div", { className: "gph-hint" }, words);
  }

  function warning(words, action, role = "status") {
    const button = action && el("button", {
      type: "button", title: action.title ?? "", onclick: action.run,
    }, action.label);
    const sign = el("span", { className: "gph-sign", "aria-hidden": "true" }, "!");
    const text = el("span", { className: "gph-words", title: words }, words);
    return el("div", { className: "gph-warning", role }, sign, text, ...(button ? [button] : []));
  }

  // --- the bar of buttons

  function createBar() {
    const button = (name, run, sign = name) =>
      el("button", { type: "button", onclick: run, "data-testid": `gph-${name}` }, icon(sign));
    const editing = (next) => () => {
      const found = next();
      if (found) host.oneStep(() => write(found));
    };
    const steps = () => {
      const chosen = grid.selected();
      return chosen.length ? chosen : schedule.between(1, cells.length - 1);
    };
    const edits = {
      full: () => schedule.change(cells, steps(), true, isLocked()),
      cached: () => schedule.change(cells, steps(), false, isLocked()),
      invert: () => schedule.invert(cells, steps()),
      left: () => schedule.shift(cells, steps(), -1),
      right: () => schedule.shift(cells, steps(), 1),
    };
    const count = el("input", {
      type: "number", min: 1, max: MAX_STEPS, step: 1, "data-testid": "gph-steps",
      onchange: () => resize(),
    });
    const lock = button("lock", () => {
      host.oneStep(() => (node.properties[LOCK] = !isLocked()));
      draw();
    }, "unlocked");
    const buttons = Object.fromEntries(
      Object.entries(edits).map(([name, next]) => [name, button(name, editing(next))]),
    );
    buttons.uniform = button("uniform", spread);
    const copy = button("copy", copyText);
    const paste = button("paste", pasteText);
    const presets = button("presets", () =>
      openPaths(presets, { t, steps: cells.length, current: text, apply, signal: view.signal }));
    const element = el(
      "div", { className: "gph-bar", role: "toolbar" },
      el("label", { className: "gph-count" }, count), lock,
      el("span", { className: "gph-group" }, ...Object.values(buttons)),
      el("span", { className: "gph-group" }, copy, paste), presets,
    );

    function resize() {
      const wanted = count.valueAsNumber;
      if (Number.isInteger(wanted) && wanted >= 1 && wanted <= MAX_STEPS) {
        host.oneStep(() => write(schedule.resize(cells, wanted)));
      } else {
        count.value = cells.length;
      }
    }

    function drawBar(off) {
      const locked = isLocked();
      const name = (element, title) => set(element, { title, "aria-label": title });
      if (document.activeElement !== count || count.valueAsNumber !== cells.length) {
        count.value = cells.length;
      }
      count.disabled = off || locked;
      name(count, t(locked ? "editor.lockedSteps" : "editor.stepsTip"));
      lock.replaceChildren(icon(locked ? "locked" : "unlocked"));
      set(lock, { "aria-pressed": locked, disabled: off });
      name(lock, t(locked ? "editor.locked" : "editor.lock"));
      const { numFull } = schedule.readout(cells);
      for (const [key, next] of Object.entries(edits)) {
        // Locked, only what keeps the number of full steps.
        const kept = !locked || schedule.readout(next()).numFull === numFull;
        set(buttons[key], { disabled: off || !kept });
        name(buttons[key], t(kept ? `editor.${key}All` : "editor.lockedInvert"));
      }
      buttons.uniform.disabled = off;
      name(buttons.uniform, t("editor.uniform", { count: numFull }));
      name(copy, t("editor.copy"));
      name(paste, t("editor.paste"));
      name(presets, t("editor.presets"));
    }
    return { element, draw: drawBar };
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
      const next = await ask();
      if (view.signal.aborted || text() !== asked) return;
      answers = next;
      draw();
    }, 120);
  }

  async function ask() {
    const { policy, scheduler } = around;
    const key = `${scheduler} ${cells.length}`;
    try {
      if (scheduler && !nominal.has(key)) {
        const query = new URLSearchParams({ scheduler, steps: cells.length });
        nominal.set(key, (await host.ask(`/sigmas?${query}`)).sigmas);
      }
      if (!policy || error) return {};
      const body = { schedule: schedule.format(cells), policy };
      return { policyError: (await host.ask("/check", { body })).error };
    } catch (reason) {
      return { failure: reason.message };
    }
  }

  /** A run of a connected cache tells its noise levels. */
  function ran(cache, levels) {
    if (!levels || !around.caches.has(cache)) return;
    exact = { levels, key: samplerKey() };
    draw();
  }

  function executed(output) {
    given = output?.gph_sigmas?.at(-1) ?? null;
    draw();
  }

  read();
}
