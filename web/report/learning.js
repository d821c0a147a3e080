/** Learning from the user's own images: the buttons below a report that begin it, repeat it, or forget it. */

import { orToast } from "../library/paths_actions.js";
import { el } from "../shared/dom.js";
import * as host from "../shared/host.js";

const { say } = host;
const [OFF, FEW] = ["off", "from 2 images"]; // as nodes/cache/cache.py

/**
 * What a node's field says of learning, and what can be done about it.
 * @typedef {object} Learning
 * @property {boolean} counts whether the node's speed is one that can use a path
 * @property {boolean} isOff
 * @property {() => void} begin learn from the next images
 * @property {(name: string) => void} again ask, then forget what was learned under a name, and learn anew
 * @property {(name: string) => void} forget ask, then forget it, and learn no more
 */

/**
 * @param {object} node
 * @param {string} [speed]
 * @param {(name: string) => void} forgotten told the name of what was forgotten
 * @returns {Learning | undefined} none if the node has no such field, or a wire decides about it
 */
export function learningOf(node, speed, forgotten) {
  const field = host.findWidget(node, "learn");
  if (!field || host.isLinked(node, "learn")) return undefined;
  const isOff = () => field.value === OFF;
  const set = (value) => {
    if (field.value !== value) host.oneStep(() => host.setValue(field, value));
  };
  const erase = (key, name, then) => orToast(async () => {
    if (!(await host.confirm(say(`report.${key}`), say(`report.${key}Ask`, { name })))) return;
    await host.ask(`/learned/${encodeURIComponent(name)}`, { method: "DELETE" });
    forgotten(name);
    then();
    host.toast("success", say("report.forgotten", { name }));
  });
  return {
    counts: speed !== "Custom",
    isOff: isOff(),
    begin: () => set(FEW),
    again: (name) => erase("again", name, () => isOff() && set(FEW)),
    forget: (name) => erase("forget", name, () => set(OFF)),
  };
}

/**
 * The row of buttons below the report of a run (see run_view.js) that has ended. It stays when they go:
 * a press must not resize the node, which would be another edit.
 */
export function learningRow(run, learning) {
  if (!learning || run.state !== "done") return [];
  return [el("div", { className: "gph-report-learning" }, ...buttons(run, learning))];
}

function buttons(run, { counts, isOff, begin, again, forget }) {
  if (!counts || run.fitting) return [];
  const { learned: name } = run;
  if (name) return [button("again", () => again(name)), button("forget", () => forget(name))];
  return run.isLearnable && isOff ? [button("learn", begin)] : [];
}

function button(key, press) {
  const [label, title] = [say(`report.${key}`), say(`report.${key}Tip`)];
  return el("button", { type: "button", title, "data-gph-go": key, onclick: press }, label);
}
