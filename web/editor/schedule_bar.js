/** The buttons of the Schedule Editor. */

import { el, icon, set } from "../shared/dom.js";
import { say } from "../shared/host.js";
import { between, change, invert, readout, resize, shift } from "./schedule.js";

/**
 * @param {object} actions `cells()` is the schedule, `selected()` its selected steps, none for all;
 *   `edit(cells)` makes a schedule as one undo step; `isLocked()` is whether the number of full steps
 *   stays, `lock()` changes that; `presets(button)` and `more(button)` open menus
 * @param {number} most steps
 */
export function createBar(actions, most) {
  const { cells, isLocked } = actions;
  const steps = () => {
    const chosen = actions.selected();
    return chosen.length ? chosen : between(1, cells().length - 1);
  };
  const edits = {
    full: () => change(cells(), steps(), true, isLocked()),
    cached: () => change(cells(), steps(), false, isLocked()),
    invert: () => invert(cells(), steps()),
    left: () => shift(cells(), steps(), -1),
    right: () => shift(cells(), steps(), 1),
  };
  const button = (name, run, sign = name) =>
    el("button", { type: "button", onclick: run, "data-testid": `gph-${name}` }, icon(sign));
  const group = (...buttons) => el("span", { className: "gph-group" }, ...buttons);

  const count = el("input", {
    type: "number", min: 1, max: most, step: 1, "data-testid": "gph-steps", onchange: setCount,
    onblur: () => (count.value = cells().length),
  });
  const lock = button("lock", actions.lock, "unlocked");
  const editing = Object.entries(edits).map(([name, next]) => [
    name, next, button(name, () => actions.edit(next())),
  ]);
  const [uniform, copy, paste] = ["uniform", "copy", "paste"].map((name) => button(name, actions[name]));
  const presets = button("presets", () => actions.presets(presets));
  const more = button("more", () => actions.more(more));
  const element = el(
    "div", { className: "gph-bar", role: "toolbar" },
    el("label", { className: "gph-count" }, count), lock,
    group(...editing.map(([, , edit]) => edit), uniform), group(copy, paste, more), presets,
  );

  function setCount() {
    const wanted = count.valueAsNumber;
    const isPossible = Number.isInteger(wanted) && wanted >= 1 && wanted <= most;
    if (isPossible) actions.edit(resize(cells(), wanted));
    else count.value = cells().length;
  }

  /** Show the schedule as it is now; `off` while it cannot be edited here, as where its text is wrong. */
  function draw({ off, isWrong }) {
    const { numSteps, numFull } = readout(cells());
    const locked = isLocked();
    const name = (part, title) => set(part, { title, "aria-label": title });
    // Answers of the server draw anew while somebody types here.
    if (document.activeElement !== count) count.value = isWrong ? "" : numSteps;
    count.disabled = off || locked;
    name(count, say(locked ? "editor.lockedSteps" : "editor.stepsTip"));
    // Not anew while it stays: a press on the old sign would be lost.
    if (lock.getAttribute("aria-pressed") !== String(locked)) lock.replaceChildren(icon(locked ? "locked" : "unlocked"));
    set(lock, { "aria-pressed": locked, disabled: off });
    name(lock, say(locked ? "editor.locked" : "editor.lock"));
    for (const [key, next, edit] of editing) {
      const keepsLock = !locked || readout(next()).numFull === numFull;
      edit.disabled = off || !keepsLock;
      name(edit, say(keepsLock ? `editor.${key}All` : "editor.lockedInvert"));
    }
    uniform.disabled = off;
    for (const [key, part] of Object.entries({ uniform, copy, paste, more, presets })) name(part, say(`editor.${key}`));
  }

  const named = Object.fromEntries(editing.map(([key, , edit]) => [key, edit]));
  return { element, draw, buttons: { ...named, uniform, copy, paste, lock, presets } };
}
