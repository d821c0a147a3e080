/** The line on a node of the pack that says why it failed; it is there only then. */

import { el } from "../shared/dom.js";
import { say } from "../shared/host.js";
import { addView } from "../shared/views.js";

/** @returns {(entry: {failure?: import("./failures.js").Failure}) => void} shows it, or takes it away */
export function failureLineOf(node) {
  let view;
  return ({ failure }) => {
    view?.remove();
    view = undefined;
    if (!failure) return;
    const element = failureText(failure);
    element.classList.add("gph-failure-line");
    element.title = element.textContent;
    element.dataset.gphScrolls = "";
    view = addView(node, "golden_path_failure", element, { height: 34 });
  };
}

/** @param {import("./failures.js").Failure} failure */
export function failureText({ state, words, at }) {
  const said = state === "notRun" ? say("report.endedAt", { node: at, words }) : words;
  return el("div", { className: "gph-failure", role: "alert" }, said);
}
