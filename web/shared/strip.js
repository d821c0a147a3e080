/** A schedule as a strip of cells. It knows the page's DOM, but no ComfyUI. */

import { el } from "./dom.js";
import { columns } from "../report/run_view.js";

/**
 * Fill a strip.
 * @param {HTMLElement} element
 * @param {boolean[]} plan for each step whether it is full
 * @param {(key: string, values?: object) => string} say
 */
export function fillStrip(element, plan, say) {
  element.style.setProperty("--gph-columns", columns(plan.length));
  element.replaceChildren(
    ...plan.map((isFull, step) => {
      const kind = isFull ? "full" : "cached";
      const title = say("report.step", { step, kind: say(`report.kind.${kind}`) });
      return el("span", { className: `gph-cell gph-${kind}`, title });
    }),
  );
}
