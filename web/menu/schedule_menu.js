/** The menu of the Schedule Editor: what its buttons do, and the ends of a run in percent. */

import { el } from "../shared/dom.js";
import { say } from "../shared/host.js";
import { closePopup, createPopup, showPopup } from "./popup.js";

/** The buttons of the bar, as the menu groups them. */
const GROUPS = [
  ["copy", "paste"],
  ["full", "cached", "invert", "left", "right", "uniform"],
  ["lock", "presets"],
];

/** The last numbers that the user took; at first those of EasyCache. */
const ends = { start: 15, end: 95 };

/**
 * @param {{left: number, top: number, bottom: number}} place in the window
 * @param {HTMLElement} opener gets the focus back
 * @param {object} menu
 * @param {Record<string, HTMLButtonElement>} menu.buttons of the bar, by name
 * @param {string} menu.scope which steps they change, in words
 * @param {(start: number, end: number) => void} menu.setEnds make the steps before and from these full
 * @param {AbortSignal} menu.signal closes it
 */
export function openScheduleMenu(place, opener, { buttons, scope, setEnds, signal }) {
  const panel = createPopup(say("editor.more"), { className: "gph-menu gph-commands", "data-testid": "gph-commands" });
  const act = (run) => () => {
    closePopup(panel);
    opener.focus({ preventScroll: true });
    run();
  };
  const item = (name) => {
    const { title, disabled } = buttons[name];
    return el(
      "button", { type: "button", title, disabled, onclick: act(() => buttons[name].click()), "data-command": name },
      buttons[name].firstChild.cloneNode(true), say(`editor.do.${buttons[name].ariaPressed === "true" ? "unlock" : name}`),
    );
  };
  const groups = GROUPS.map((names) => [
    ...(names.includes("full") ? [el("div", { className: "gph-menu-note gph-dim" }, scope)] : []), ...names.map(item),
  ]);
  groups.splice(2, 0, [endsRow(buttons.full.disabled, (start, end) => act(() => setEnds(start, end))())]);
  panel.append(...groups.flatMap((group, n) => (n ? [el("hr"), ...group] : group)));
  showPopup(panel, place, opener, signal);
  panel.querySelector("button:enabled").focus();
}

/** "Full until 15 %, full from 95 %", with numbers to type. */
function endsRow(disabled, set) {
  const fields = Object.entries(ends).map(([name, value]) =>
    el("input", {
      type: "number", min: 0, max: 100, step: "any", required: true, value, disabled,
      "aria-label": say(`editor.ends.${name}`), "data-testid": `gph-${name}`,
    }));
  const [before, between, after] = say("editor.ends", { start: "|", end: "|" }).split("|");
  const tip = say("editor.endsTip");
  return el(
    "form",
    {
      className: "gph-ends", title: tip,
      onsubmit(event) {
        event.preventDefault();
        [ends.start, ends.end] = fields.map((field) => field.valueAsNumber);
        set(ends.start, ends.end);
      },
    },
    el("div", {}, before, fields[0], between, fields[1], after, el("button", { disabled }, say("editor.endsSet"))),
    el("div", { className: "gph-dim" }, say("editor.endsOf")),
  );
}
