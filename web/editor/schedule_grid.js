/**
 * The cells of a schedule: drawing and keys.
 *
 * @typedef {object} Callbacks
 * @property {() => () => void} begin begins an undo step, returns what ends it
 * @property {(cells: boolean[]) => void} edit the user made this schedule
 * @property {() => boolean} isLocked whether the number of full steps stays
 * @property {() => void} moved cursor or range changed
 */

import { el, set } from "../shared/dom.js";
import { say } from "../shared/host.js";
import { between, change, move } from "./schedule.js";
import { createChart } from "./schedule_chart.js";
import { followPointer } from "./schedule_pointer.js";

const LEAST_WIDTH = 16; // of a cell, in CSS pixels
const TEN = 10; // cells wrap by tens

/** @param {Callbacks} callbacks */
export function createGrid(callbacks) {
  const chart = createChart();
  const element = el("div", {
    className: "gph-grid", tabIndex: 0, role: "listbox", "aria-multiselectable": true,
    "data-testid": "gph-grid",
  });
  const box = el("div", { className: "gph-grid-box" }, chart.element, element);
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
    const chosen = new Set(selected());
    cells.forEach((full, step) => {
      const words = describe(step);
      set(options[step], {
        "aria-selected": full,
        "aria-label": words,
        title: step === 0 ? say("editor.stepZero") : words,
        className: [
          "gph-step", full ? "gph-step-full" : "gph-step-cached", chosen.has(step) ? "gph-step-chosen" : "",
          step === cursor ? "gph-step-cursor" : "",
        ].join(" "),
      });
    });
    element.classList.toggle("gph-hundreds", cells.length > 100);
    set(element, {
      "aria-label": say("editor.grid", { count: cells.length }),
      "aria-activedescendant": options[cursor].id,
      "aria-disabled": off,
    });
    chart.draw(cells, levels, gains);
    layout();
  }

  function layout() {
    // Not the box itself: its width follows from the columns.
    const width = box.parentElement?.clientWidth;
    if (width) most = Math.max(TEN, Math.floor(width / LEAST_WIDTH / TEN) * TEN);
    columns = Math.min(cells.length, most);
    box.style.setProperty("--gph-columns", columns);
  }

  function createCell(step) {
    return el("div", { id: `${id}-${step}`, role: "option", "data-step": step }, String(step));
  }

  function describe(step) {
    const kind = say(cells[step] ? "editor.full" : "editor.cached");
    const values = { step, count: cells.length, kind, sigma: levels?.[step].toPrecision(3) };
    const text = say(levels ? "editor.stepIsAt" : "editor.stepIs", values);
    const value = gains?.[step]?.toPrecision(3);
    return value ? `${text}, ${say("editor.stepGain", { value })}` : text;
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

  function oneEdit(next) {
    const end = callbacks.begin();
    callbacks.edit(next);
    end();
  }

  followPointer(element, {
    ...callbacks,
    cells: () => cells,
    cursor: () => cursor,
    isOff: () => isOff,
    choose,
    put: (step) => ([cursor, range] = [step, null]),
  });

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
    field: element,
    draw,
    layout,
    selected,
    focus: () => element.focus({ preventScroll: true }),
    /** What a new grid in the place of this one needs to go on. */
    state: () => ({ cursor, range }),
    restore: (state) => choose(Math.min(state.cursor, cells.length - 1), state.range),
    /** The selected range, in words. */
    rangeText: () => say("editor.rangeIs", { first: selected()[0], last: selected().at(-1) }),
  };
}
