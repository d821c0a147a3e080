/**
 * The cells of a schedule: drawing, pointer, keys. Knows the page, nothing of ComfyUI.
 *
 * @typedef {object} Callbacks
 * @property {() => (key: string, values?: object) => string} texts of the language
 * @property {() => () => void} begin begins an undo step, returns what ends it
 * @property {(cells: boolean[]) => void} edit the user made this schedule
 * @property {() => boolean} isLocked whether the number of full steps stays
 * @property {() => void} moved cursor or range changed
 */

import { el, set, svg } from "../shared/dom.js";
import { between, change, curve, move } from "./schedule.js";
import { sensitivityPath } from "./schedule_sensitivity.js";

const LEAST_WIDTH = 16; // of a cell, in CSS pixels
const TEN = 10; // cells wrap by tens

/** @param {Callbacks} callbacks */
export function createGrid(callbacks) {
  const chart = svg("svg", {
    class: "gph-curve", preserveAspectRatio: "none", "aria-hidden": "true",
    "data-testid": "gph-curve",
  });
  const element = el("div", {
    className: "gph-grid", tabIndex: 0, role: "listbox", "aria-multiselectable": true,
    "data-testid": "gph-grid",
  });
  const box = el("div", { className: "gph-grid-box" }, chart, element);
  const id = `gph-${Math.random().toString(36).slice(2)}`;
  const options = [];
  let cells = [true];
  let levels = null;
  let gains = null; // sensitivity to caching, by step
  let most = 2 * TEN; // columns that fit
  let columns = most;
  let cursor = 0;
  let range = null; // [first, last], in either order
  let isOff = false;

  function draw(next = cells, { sigmas = levels, sensitivity = gains, off = isOff } = {}) {
    [cells, levels, isOff] = [next, sigmas?.length === next.length + 1 ? sigmas : null, off];
    gains = sensitivity?.length === next.length ? sensitivity : null;
    cursor = Math.min(cursor, cells.length - 1);
    if (range?.some((step) => step >= cells.length)) range = null;
    while (options.length < cells.length) options.push(createCell(options.length));
    if (element.childElementCount !== cells.length) {
      element.replaceChildren(...options.slice(0, cells.length));
    }
    const t = callbacks.texts();
    const chosen = new Set(selected());
    cells.forEach((full, step) => {
      set(options[step], {
        "aria-selected": full,
        "aria-label": describe(step, t),
        title: step === 0 ? t("editor.stepZero") : describe(step, t),
        className: [
          "gph-step", full ? "gph-step-full" : "gph-step-cached", chosen.has(step) ? "gph-step-chosen" : "",
          step === cursor ? "gph-step-cursor" : "",
        ].join(" "),
      });
    });
    element.classList.toggle("gph-hundreds", cells.length > 100);
    set(element, {
      "aria-label": t("editor.grid", { count: cells.length }),
      "aria-activedescendant": options[cursor].id,
      "aria-disabled": off,
    });
    drawChart();
    layout();
  }

  function layout() {
    // Not the box itself: its width follows from the columns.
    const width = box.parentElement?.clientWidth;
    if (width) most = Math.max(TEN, Math.floor(width / LEAST_WIDTH / TEN) * TEN);
    columns = Math.min(cells.length, most);
    box.style.setProperty("--gph-columns", columns);
  }

  /** Noise levels, the full steps filled; without levels the full steps alone. Sensitivity above. */
  function drawChart() {
    const points = levels ? curve(levels) : cells.concat(true).map((_, step) => [step, 0.4]);
    // Even the last step, without noise, has some height.
    const foot = ([x]) => `${x} 1`;
    const at = ([x, y]) => `${x} ${0.06 + 0.82 * y}`;
    const filled = cells.flatMap((full, step) => {
      const [a, b] = points.slice(step, step + 2);
      return full ? [`M${foot(a)}L${at(a)}L${at(b)}L${foot(b)}Z`] : [];
    });
    const line = points.map(at).join("L");
    chart.setAttribute("viewBox", `0 0 ${cells.length} 1`);
    chart.replaceChildren(
      svg("path", { d: `M${foot(points[0])}L${line}L${foot(points.at(-1))}Z`, class: "gph-area" }),
      svg("path", { d: filled.join(""), class: "gph-filled" }),
      ...(levels ? [svg("path", { d: `M${line}`, class: "gph-line" })] : []),
      ...(gains ? [svg("path", { d: sensitivityPath(gains), class: "gph-sensitivity" })] : []),
    );
  }

  function createCell(step) {
    return el("div", { id: `${id}-${step}`, role: "option", "data-step": step }, String(step));
  }

  function describe(step, t) {
    const kind = t(cells[step] ? "editor.full" : "editor.cached");
    const values = { step, count: cells.length, kind, sigma: levels?.[step].toPrecision(3) };
    const told = t(levels ? "editor.stepIsAt" : "editor.stepIs", values);
    const value = gains?.[step]?.toPrecision(3);
    return value ? `${told}, ${t("editor.stepGain", { value })}` : told;
  }

  /** The selected range without step 0; empty if there is none. */
  function selected() {
    return range ? between(...range) : [];
  }

  function choose(step, nextRange = null) {
    [cursor, range] = [step, nextRange];
    draw();
    callbacks.moved();
  }

  function edit(next) {
    callbacks.edit(next);
  }

  function oneEdit(next) {
    const end = callbacks.begin();
    edit(next);
    end();
  }

  // --- pointer

  let gesture = null;

  element.addEventListener("pointerdown", (event) => {
    const step = stepAt(event);
    if (event.button !== 0 || step === undefined) return;
    event.stopPropagation();
    element.focus({ preventScroll: true });
    if (isOff) return;
    element.setPointerCapture(event.pointerId);
    const selects = event.ctrlKey || event.metaKey;
    const kind = selects ? "select" : event.shiftKey && cells[step] && step > 0 ? "move" : "paint";
    gesture = {
      kind, from: step, before: cells, steps: new Set(), at: [event.clientX, event.clientY],
      anchor: cursor, dragged: false, full: !cells[step],
      end: selects ? () => {} : callbacks.begin(),
    };
    if (selects) choose(step, [step, step]);
    else drag(step);
  });

  element.addEventListener("pointermove", (event) => {
    if (!gesture) return;
    for (const step of stepsTo(event)) drag(step);
  });

  function drag(step) {
    const { kind, from, before, steps } = gesture;
    gesture.dragged ||= step !== from;
    if (kind === "select") return choose(step, [from, step]);
    [cursor, range] = [step, null];
    if (kind === "move") edit(move(before, from, step));
    else edit(change(before, [...steps.add(step)], gesture.full, callbacks.isLocked()));
    callbacks.moved();
  }

  function stop() {
    if (!gesture) return;
    const { kind, from, anchor, dragged, end } = gesture;
    gesture = null;
    if (kind === "select" && !dragged) choose(from, [anchor, from]);
    end();
  }
  for (const type of ["pointerup", "pointercancel", "lostpointercapture"]) {
    element.addEventListener(type, stop);
  }

  // The page may be scaled, so that only the page knows which cell is at a point.
  function stepAt({ clientX, clientY }) {
    const cell = document.elementFromPoint(clientX, clientY)?.closest(".gph-step");
    return cell && element.contains(cell) ? Number(cell.dataset.step) : undefined;
  }

  /** The steps under the way from the last event to this one: a fast pointer skips cells. */
  function stepsTo({ clientX, clientY }) {
    const [x, y] = gesture.at;
    gesture.at = [clientX, clientY];
    const parts = Math.ceil(Math.hypot(clientX - x, clientY - y) / 4);
    const found = Array.from({ length: parts }, (_, i) => {
      const share = (i + 1) / parts;
      return stepAt({ clientX: x + (clientX - x) * share, clientY: y + (clientY - y) * share });
    });
    return new Set(found.filter((step) => step !== undefined));
  }

  // --- keys

  const KEYS = {
    ArrowLeft: () => go(cursor - 1),
    ArrowRight: () => go(cursor + 1),
    ArrowUp: () => go(cursor - columns),
    ArrowDown: () => go(cursor + columns),
    Home: () => go(0),
    End: () => go(cells.length - 1),
    " ": () => setSteps([cursor], !cells[cursor]),
    Enter: () => setSteps([cursor], !cells[cursor]),
    f: () => setSteps(reach(), true),
    c: () => setSteps(reach(), false),
    Delete: () => setSteps(reach(), false),
    Backspace: () => setSteps(reach(), false),
    Escape: () => choose(cursor),
  };
  const SHIFTED = {
    ArrowLeft: () => push(-1),
    ArrowRight: () => push(1),
    ArrowUp: () => push(-columns),
    ArrowDown: () => push(columns),
    Home: () => extend(0),
    End: () => extend(cells.length - 1),
  };

  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = (event.shiftKey ? SHIFTED : KEYS)[event.key];
    if (!act) return;
    event.preventDefault();
    if (!isOff) act();
  });

  const reach = () => (range ? selected() : [cursor]);
  const setSteps = (steps, full) => oneEdit(change(cells, steps, full, callbacks.isLocked()));

  function go(step) {
    if (step >= 0 && step < cells.length) choose(step);
  }

  function extend(step) {
    if (step >= 0 && step < cells.length) choose(step, [range?.[0] ?? cursor, step]);
  }

  /** Shift and an arrow: the full step under the cursor goes on to the next cached place. */
  function push(by) {
    if (range || !cells[cursor] || cursor === 0) return extend(cursor + by);
    let to = cursor + by;
    while (Math.abs(by) === 1 && cells[to]) to += by;
    if (cells[to] !== false) return;
    const next = move(cells, cursor, to);
    cursor = to;
    oneEdit(next);
    callbacks.moved();
  }

  return {
    element: box,
    draw,
    layout,
    selected,
    focus: () => element.focus({ preventScroll: true }),
    /** What a new grid in the place of this one needs to go on. */
    state: () => ({ cursor, range }),
    restore: (state) => choose(Math.min(state.cursor, cells.length - 1), state.range),
    /** The cursor's step, in words. */
    describe: () => (range ? rangeText() : describe(cursor, callbacks.texts())),
  };

  function rangeText() {
    const steps = selected();
    const [first, last] = steps.length ? [steps[0], steps.at(-1)] : [0, 0];
    return callbacks.texts()("editor.rangeIs", { first, last });
  }
}
