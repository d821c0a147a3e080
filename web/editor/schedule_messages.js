/** The lines below the cells: what is wrong with the schedule, and what can be done about it. */

import { el } from "../shared/dom.js";
import { say } from "../shared/host.js";
import { unlessPressed } from "../shared/press.js";
import { format, warnings } from "./schedule.js";
import { lost } from "./schedule_weights.js";

/**
 * @param {{restore: (schedule: string) => void, adapt: (steps: number) => void,
 *   useCustom: () => void}} repairs
 */
export function createMessages(repairs) {
  const element = el("div", { className: "gph-messages", "data-testid": "gph-messages", "data-gph-scrolls": "" });
  const actions = {
    otherSteps: ({ steps }) => ({ label: say("editor.adapt", { steps }), run: () => repairs.adapt(steps) }),
    weightsLost: ({ schedule }) => restoring(schedule),
    unused: () => ({ label: say("editor.useCustom"), run: repairs.useCustom }),
  };

  function restoring(schedule) {
    return { label: say("editor.restore"), title: schedule, run: () => repairs.restore(schedule) };
  }

  function lines(found) {
    if (found.error) {
      const words = say("editor.wrongText", { reason: found.error.say(say) });
      return [warning(words, restoring(format(found.cells)), "alert")];
    }
    if (found.isLinked) return [hint(say("editor.linked"))];
    const weights = lost(found.cells, found.taken, found.around);
    const warned = warnings(found.cells, found.around).concat(weights ? [weights] : []);
    if (found.failure) warned.push(["noAnswer", { reason: found.failure }]);
    const shown = warned.map(([key, values]) =>
      warning(say(`editor.${key}`, values), actions[key]?.(values)));
    if (!shown.length) shown.push(hint(say("editor.help")));
    return found.range ? [hint(found.range), ...shown] : shown;
  }

  return {
    element,
    /**
     * Draw what is known about the schedule: `cells`, or the `error` why its text cannot be read;
     * `isLinked`; the selected `range` in words; for `warnings` what is `around` it, for `lost` the path
     * that it was `taken` from; and the `failure` why the server did not answer.
     */
    draw: unlessPressed(element, (found) => {
      const next = lines(found);
      const words = next.map((line) => line.textContent).join("");
      // Not anew while they stay: a screen reader would say them again.
      if (words !== element.textContent) element.replaceChildren(...next);
    }),
  };
}

/** A line that explains. */
function hint(words) {
  return el("div", { className: "gph-dim" }, words);
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
