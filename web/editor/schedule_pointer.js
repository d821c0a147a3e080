/** The pointer over the cells of the Schedule Editor: it paints, moves a full step or selects. */

import { change, move } from "./schedule.js";

/**
 * @param {HTMLElement} element around the cells
 * @param {object} grid the callbacks of schedule_grid.js, `cells()`, `cursor()`, `isOff()`;
 *   `choose(step, range)` sets cursor and range and draws, `put(step)` sets the cursor for an edit that draws
 */
export function followPointer(element, grid) {
  let gesture = null;

  element.addEventListener("pointerdown", (event) => {
    const step = stepAt(event);
    if (event.button !== 0 || step === undefined) return;
    event.stopPropagation();
    element.focus({ preventScroll: true });
    if (grid.isOff()) return;
    element.setPointerCapture(event.pointerId);
    const cells = grid.cells();
    const selects = event.ctrlKey || event.metaKey;
    const kind = selects ? "select" : event.shiftKey && cells[step] && step > 0 ? "move" : "paint";
    gesture = {
      kind, from: step, before: cells, steps: new Set(), at: [event.clientX, event.clientY],
      anchor: grid.cursor(), dragged: false, full: !cells[step],
      end: selects ? () => {} : grid.begin(),
    };
    if (selects) grid.choose(step, [step, step]);
    else drag(step);
  });

  element.addEventListener("pointermove", (event) => {
    if (!gesture) return;
    for (const step of stepsTo(event)) drag(step);
  });

  function drag(step) {
    const { kind, from, before, steps } = gesture;
    gesture.dragged ||= step !== from;
    if (kind === "select") return grid.choose(step, [from, step]);
    grid.put(step);
    if (kind === "move") grid.edit(move(before, from, step));
    else grid.edit(change(before, [...steps.add(step)], gesture.full, grid.isLocked()));
    grid.moved();
  }

  function stop() {
    if (!gesture) return;
    const { kind, from, anchor, dragged, end } = gesture;
    gesture = null;
    if (kind === "select" && !dragged) grid.choose(from, [anchor, from]);
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
}
