/** The lines below the cells. */

import { el } from "./dom.js";

/** A line that explains. */
export function hint(words) {
  return el("div", { className: "gph-hint" }, words);
}

/**
 * A line that warns and may offer what to do about it.
 * @param {string} words
 * @param {{label: string, title?: string, run: () => void}} [action]
 * @param {"status" | "alert"} [role]
 */
export function warning(words, action, role = "status") {
  const line = el(
    "div", { className: "gph-warning", role },
    el("span", { className: "gph-sign", "aria-hidden": "true" }, "!"),
    el("span", { className: "gph-words", title: words }, words),
  );
  if (action) {
    const { label, title = "", run } = action;
    line.append(el("button", { type: "button", title, onclick: run }, label));
  }
  return line;
}
