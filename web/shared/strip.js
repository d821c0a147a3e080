/** A schedule as a strip of cells. */

import { columns } from "../report/run_view.js";
import { el } from "./dom.js";
import { say } from "./host.js";

/** A strip of cells, each a kind of step with what is said of it. */
export function createStrip(cells, properties = {}) {
  const element = el("div", { className: "gph-strip", role: "img", ...properties });
  return fillStrip(element, cells);
}

export function fillStrip(element, cells) {
  element.style.setProperty("--gph-columns", columns(cells.length));
  element.replaceChildren(...cells.map(({ kind, title }) => el("span", { className: `gph-cell gph-${kind}`, title })));
  return element;
}

/** The cells of a schedule: for each step whether it is full. */
export function cellsOf(plan) {
  return plan.map((isFull, step) => {
    const kind = isFull ? "full" : "cached";
    return { kind, title: say("report.step", { step, kind: say(`report.kind.${kind}`) }) };
  });
}
