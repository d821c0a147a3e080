/** The chart above the cells of the Schedule Editor. */

import { svg } from "../shared/dom.js";
import { curve } from "./schedule.js";
import { sensitivityPath } from "./schedule_sensitivity.js";

export function createChart() {
  const element = svg("svg", {
    class: "gph-curve", preserveAspectRatio: "none", "aria-hidden": "true",
    "data-testid": "gph-curve",
  });

  /**
   * Noise levels, the full steps filled; without levels the full steps alone. Sensitivity above.
   * @param {boolean[]} cells
   * @param {number[] | null} levels
   * @param {(number | null)[] | null} gains sensitivity to caching, by step
   */
  function draw(cells, levels, gains) {
    const points = levels ? curve(levels) : cells.concat(true).map((_, step) => [step, 0.4]);
    // Even the last step, without noise, has some height.
    const foot = ([x]) => `${x} 1`;
    const at = ([x, y]) => `${x} ${0.06 + 0.82 * y}`;
    const filled = cells.flatMap((full, step) => {
      const [a, b] = points.slice(step, step + 2);
      return full ? [`M${foot(a)}L${at(a)}L${at(b)}L${foot(b)}Z`] : [];
    });
    const line = points.map(at).join("L");
    element.setAttribute("viewBox", `0 0 ${cells.length} 1`);
    element.replaceChildren(
      svg("path", { d: `M${foot(points[0])}L${line}L${foot(points.at(-1))}Z`, class: "gph-area" }),
      svg("path", { d: filled.join(""), class: "gph-filled" }),
      ...(levels ? [svg("path", { d: `M${line}`, class: "gph-line" })] : []),
      ...(gains ? [svg("path", { d: sensitivityPath(gains), class: "gph-sensitivity" })] : []),
    );
  }

  return { element, draw };
}
