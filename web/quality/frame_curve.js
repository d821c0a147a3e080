/** PSNR of each frame of a clip as a curve; a click goes to a frame. */

import { el, set, svg } from "../shared/dom.js";
import { say } from "../shared/host.js";
import { curveOf } from "./comparison_view.js";

/** @param {(frame: number) => void} go */
export function createCurve(go) {
  const lines = { psnr: svg("path", { class: "gph-curve-psnr" }), frame_psnr: svg("path", { class: "gph-curve-change" }) };
  const cursor = svg("path", { class: "gph-curve-now" });
  const box = { viewBox: "0 0 1 1", preserveAspectRatio: "none" };
  const drawing = svg("svg", { ...box, role: "img" }, ...Object.values(lines), cursor);
  const [top, bottom] = [el("span"), el("span")];
  const element = el("div", { className: "gph-frames", hidden: true }, drawing, el("div", {}, top, bottom));
  let count = 0;
  drawing.addEventListener("pointerdown", (event) => {
    const { left, width } = drawing.getBoundingClientRect();
    event.stopPropagation(); // or Nodes 2.0 moves the node
    go(Math.min(count - 1, Math.floor(count * (event.clientX - left) / width)));
  });

  function show(report) {
    count = report.images;
    set(element, { hidden: !report.clip || count < 2, title: say("quality.curve.tip") });
    if (element.hidden) return;
    const { paths, low, high } = curveOf(report);
    for (const [key, line] of Object.entries(lines)) line.setAttribute("d", paths[key] ?? "");
    const [from, to] = [low, high].map((value) => `${value.toFixed(1)} dB`);
    [top.textContent, bottom.textContent] = [to, from];
    set(drawing, { "aria-label": say("quality.curve", { count, from, to }) });
  }

  function at(frame) {
    cursor.setAttribute("d", `M${(frame + 0.5) / count} 0V1`);
  }
  return { element, show, at };
}
