/** The lines below the cells: what is wrong with the schedule, and what can be done about it. */

import { el } from "../shared/dom.js";
import { format, warnings } from "./schedule.js";
import { lost } from "./schedule_weights.js";

/**
 * @typedef {object} Found what is known about the schedule
 * @property {boolean[]} cells
 * @property {import("./schedule.js").ScheduleError | null} error why the text cannot be read
 * @property {boolean} isLinked
 * @property {string | null} range the selected steps in words
 * @property {{samplerSteps?: number, sensitivitySteps?: number, policyError?: string,
 *   speed?: string, hasPolicy?: boolean, policy?: object}} around
 * @property {{path: string, schedule: string}} [taken] see `lost`
 * @property {string} [failure] why the server did not answer
 */

/**
 * @param {(key: string, values?: object) => string} t
 * @param {{restore: (schedule: string) => void, adapt: (steps: number) => void,
 *   useCustom: () => void}} repairs
 */
export function createMessages(t, repairs) {
  const element = el("div", {
    className: "gph-messages", "data-testid": "gph-messages", "data-gph-scrolls": "",
  });
  const actions = {
    otherSteps: ({ steps }) => ({
      label: t("editor.adapt", { steps }), run: () => repairs.adapt(steps),
    }),
    weightsLost: ({ schedule }) => ({
      label: t("editor.restore"), title: schedule, run: () => repairs.restore(schedule),
    }),
    unused: () => ({ label: t("editor.useCustom"), run: repairs.useCustom }),
  };

  function wrongText({ cells, error }) {
    const before = format(cells);
    return warning(t("editor.wrongText", { reason: error.say(t) }), {
      label: t("editor.restore"), title: before, run: () => repairs.restore(before),
    }, "alert");
  }

  /** @param {Found} found */
  function lines(found) {
    if (found.error) return [wrongText(found)];
    if (found.isLinked) return [hint(t("editor.linked"))];
    const weights = lost(found.cells, found.taken, found.around);
    const warned = warnings(found.cells, found.around).concat(weights ? [weights] : []);
    if (found.failure) warned.push(["noAnswer", { reason: found.failure }]);
    const shown = warned.map(([key, values]) =>
      warning(t(`editor.${key}`, values), actions[key]?.(values)));
    if (!shown.length) shown.push(hint(t("editor.help")));
    return found.range ? [hint(found.range), ...shown] : shown;
  }

  return {
    element,
    /** @param {Found} found */
    draw(found) {
      const next = lines(found);
      const words = next.map((line) => line.textContent).join("");
      // Not anew while they stay: a button may be pressed, a reader would say them again.
      if (words !== element.textContent) element.replaceChildren(...next);
    },
  };
}

/** A line that explains. */
function hint(words) {
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
