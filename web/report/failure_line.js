/** The line on a node of the pack that says why it failed; it is there only then. */

import { el } from "../shared/dom.js";
import { addView } from "../shared/views.js";

/**
 * @param {object} node
 * @param {(key: string, values?: object) => string} t
 * @returns {{show: (entry: {failure?: import("./failures.js").Failure}) => void}}
 */
export function createFailureLine(node, t) {
  let view = null;

  function show({ failure }) {
    view?.remove();
    view = null;
    if (!failure) return;
    const element = failureText(failure, t);
    element.classList.add("gph-failure-line");
    element.title = element.textContent;
    element.dataset.gphScrolls = "";
    view = addView(node, "golden_path_failure", element, { height: 34 });
  }
  return { show };
}

/** @param {import("./failures.js").Failure} failure */
export function failureText({ state, words, at }, t) {
  const said = state === "notRun" ? t("report.endedAt", { node: at, words }) : words;
  return el("div", { className: "gph-failure", role: "alert" }, said);
}
