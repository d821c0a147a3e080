// The Schedule Editor: cells over the node's text. The text is the schedule; this is a view of it.

import { el, set } from "../shared/dom.js";
import * as host from "../shared/host.js";
import { onOutput } from "../shared/memory.js";
import { openPaths } from "../library/paths_menu.js";
import { openScheduleMenu } from "../menu/schedule_menu.js";
import { modelWords, surroundings } from "../shared/links.js";
import { addView } from "../shared/views.js";
import { change, endsOf, format, readout } from "./schedule.js";
import { askServer } from "./schedule_answers.js";
import { createBar } from "./schedule_bar.js";
import { createCommands } from "./schedule_commands.js";
import { createGrid } from "./schedule_grid.js";
import { createLevels } from "./schedule_levels.js";
import { createMessages } from "./schedule_messages.js";
import { createSensitivity } from "./schedule_sensitivity.js";
import { createText, MAX_STEPS } from "./schedule_text.js";
import { createWeights } from "./schedule_weights.js";

const { say } = host;
const NODE = "GPH_ScheduleEditor";
const LOCK = "gph_locked"; // a property of the node: kept in the workflow
const WIDTH = 400;

/** The editors of the open workflow, by node. */
const editors = new Map();

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
});

function refreshAll() {
  for (const editor of editors.values()) editor.refresh();
}

function createEditor(node) {
  let isLinked = false;
  let around = { caches: new Set() };
  let answers = {}; // of the server: policyError, levels, failure
  let timer;

  const isLocked = () => Boolean(node.properties[LOCK]);
  const isGone = () => view.signal.aborted;
  const weights = createWeights(node);
  const noise = createLevels(() => host.isLinked(node, "sigmas"));
  const sensitivity = createSensitivity(() => host.isLinked(node, "sensitivity"));
  const text = createText(node, () => {
    draw();
    refresh();
  });
  const commands = createCommands(text, isGone, weights);
  const grid = createGrid({ begin: host.beginStep, edit: write, isLocked, moved: drawMessages });
  const bar = createBar({
    cells: text.cells,
    selected: grid.selected,
    edit: (next) => host.oneStep(() => write(next)),
    isLocked,
    lock: toggleLock,
    uniform: commands.spread,
    copy: commands.copy,
    paste: commands.paste,
    more: (button) => openMenu(button.getBoundingClientRect(), button),
    presets: (button) => openPaths(button, {
      steps: text.cells().length, model: modelWords(node), cfg: surroundings(node).cfg, current: text.value, signal: view.signal,
      apply: (path) => commands.apply(path.schedule, { source: path }),
    }),
  }, MAX_STEPS);
  const messages = createMessages({
    restore: (before) => host.oneStep(() => text.setValue(before)),
    adapt: (steps) => commands.apply(format(text.cells()), { steps }),
    useCustom,
  });
  const figures = el("div", { className: "gph-figures", role: "status", "data-testid": "gph-figures" });
  const source = el("span", { className: "gph-source gph-dim", "data-testid": "gph-source" });
  grid.element.append(source);
  const content = el(
    "div", { className: "gph-editor", "data-testid": "gph-editor" },
    bar.element, grid.element, figures, messages.element,
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

  editors.set(node, { refresh, ran });
  const observer = new ResizeObserver(() => {
    grid.layout();
    view.refit();
  });
  observer.observe(content);
  view.signal.addEventListener("abort", () => {
    editors.delete(node);
    clearTimeout(timer);
    observer.disconnect();
  });
  host.onLinked(node, "schedule", (linked) => {
    isLinked = linked;
    draw();
    refresh();
  });
  onOutput(node, executed);
  for (const type of ["pointerenter", "focusin"]) content.addEventListener(type, text.lookAgain);

  // Not over the field of numbers, where the browser's own menu pastes.
  content.addEventListener("contextmenu", (event) => {
    if (event.target.closest("input")) return;
    event.preventDefault();
    event.stopPropagation(); // Nodes 2.0 has a menu of the node
    const { clientX: left, clientY: top } = event;
    openMenu({ left, top, bottom: top }, grid.field);
  });

  function openMenu(place, opener) {
    openScheduleMenu(place, opener, {
      buttons: bar.buttons,
      scope: grid.selected().length ? grid.rangeText() : say("editor.allSteps"),
      setEnds(start, end) {
        const steps = endsOf(text.cells().length, start, end);
        host.oneStep(() => write(change(text.cells(), steps, true, isLocked())));
      },
      signal: view.signal,
    });
  }

  function write(next) {
    if (!text.write(next)) grid.draw(); // the cursor may have moved
  }

  // --- drawing

  function draw() {
    const error = text.error();
    const cells = text.cells();
    const off = Boolean(error) || isLinked;
    const { levels, key, values } = noise.shown(around, cells.length);
    const gains = sensitivity.shown(cells.length);
    grid.draw(cells, { sigmas: levels, sensitivity: gains, off });
    content.classList.toggle("gph-wrong", Boolean(error));
    content.classList.toggle("gph-linked", isLinked);
    content.inert = isLinked;
    set(source, {
      textContent: [key && say(`editor.${key}`), gains && say("editor.sensitivity")].filter(Boolean).join(" · "),
      title: [key && say(`editor.${key}Tip`, values), gains && say("editor.sensitivityTip")].filter(Boolean).join("\n"),
    });
    set(figures, { textContent: error ? "" : figuresText(cells), title: say("editor.figuresTip") });
    bar.draw({ off, isWrong: Boolean(error) });
    drawMessages();
    view.refit();
  }

  function figuresText(cells) {
    const { numSteps, numFull, numCached, ratio, speedup, longest } = readout(cells);
    return say("editor.figures", {
      count: numSteps, full: numFull, cached: numCached, longest,
      ratio: Math.round(100 * ratio), speedup: speedup.toFixed(2).replace(/\.?0+$/, ""),
    });
  }

  function drawMessages() {
    messages.draw({
      cells: text.cells(),
      error: text.error(),
      isLinked,
      range: grid.selected().length ? grid.rangeText() : null,
      around: {
        samplerSteps:
          around.steps ?? (noise.connected() ? noise.connected().length - 1 : undefined),
        sensitivitySteps: sensitivity.otherSteps(text.cells().length),
        policyError: answers.policyError,
        hasPolicy: around.hasPolicy,
        policy: around.policy,
        speed: around.speed,
      },
      failure: answers.failure,
      taken: weights.taken(),
    });
  }

  function toggleLock() {
    host.oneStep(() => (node.properties[LOCK] = !isLocked()));
    draw();
  }

  // --- the nodes around

  /** Ask anew what the nodes around mean for this schedule, once the user pauses. */
  function refresh() {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      if (!node.graph) return;
      around = surroundings(node);
      draw();
      const asked = text.value();
      const next = text.error() ? {} : await askServer(around, text.cells());
      if (isGone() || text.value() !== asked) return;
      answers = next;
      draw();
    }, 120);
  }

  function useCustom() {
    host.oneStep(() => {
      for (const cache of around.caches) host.setValue(host.findWidget(cache, "speed"), "Custom");
      refresh();
    });
  }

  /** A run of a connected cache tells its noise levels. */
  function ran(cache, levels) {
    if (!levels || !around.caches.has(cache)) return;
    noise.ran(levels, around, text.cells().length);
    draw();
  }

  function executed(output) {
    noise.executed(output);
    sensitivity.executed(output);
    draw();
  }

  text.read();
}
