/** The menu of golden paths: find one by model or by words, save, rename, delete, share. */

import { el, icon, svg } from "../shared/dom.js";
import { ask, say } from "../shared/host.js";
import { parse } from "../editor/schedule.js";
import { closePopup, createPopup, showPopup } from "../menu/popup.js";
import * as actions from "./paths_actions.js";
import { groups, isUsers, search, SERVERS, taken } from "./paths_groups.js";

const MOST_FOUND = 30; // entries that a search shows

/**
 * @typedef {object} Menu
 * @property {number} steps of the schedule being edited
 * @property {string} model what the workflow loads, see `modelWords`
 * @property {number} [cfg] of its sampler
 * @property {() => string} current the schedule's text
 * @property {(path: {schedule: string, fitted: string}) => void} apply take a path's schedule;
 *   `fitted` is its option in Policy Selector, empty without weights
 * @property {AbortSignal} signal closes the menu
 */

/**
 * Open the menu below a button.
 * @param {HTMLElement} anchor
 * @param {Menu} menu
 */
export async function openPaths(anchor, menu) {
  const library = await actions.orToast(() => ask("/paths"));
  if (!library || menu.signal.aborted) return;
  menu = { ...menu, taken: taken(library.paths, menu) };
  const panel = createPopup(say("editor.presets"), { className: "gph-menu gph-paths", "data-testid": "gph-menu" });
  const act = (action) => async () => {
    closePopup(panel);
    await actions.orToast(action);
  };
  const list = el("div", { className: "gph-menu-list" }, ...content(library, menu, act, ""));
  const field = el("input", {
    type: "search", className: "gph-menu-search", placeholder: say("editor.menuSearch"),
    "aria-label": say("editor.menuSearch"),
    oninput() {
      list.replaceChildren(...content(library, menu, act, field.value));
      list.scrollTop = 0;
    },
  });
  panel.append(field, list, foot(menu, act));
  showPopup(panel, anchor.getBoundingClientRect(), anchor, menu.signal);
  field.focus();
}

/** What the list shows: groups, or what a search has found. */
function content(library, menu, act, text) {
  if (text.trim()) return found(search(library.paths, text), menu, act);
  return [
    ...groups(library.paths, menu.steps, menu.model).map((group) => groupOf(group, menu, act)),
    ...(library.paths.length ? [] : [note(say("editor.menuNone"))]),
    ...library.broken.map((file) => note(say("editor.menuBroken", file), "gph-warning")),
  ];
}

function found(paths, menu, act) {
  if (!paths.length) return [note(say("editor.menuNothing"))];
  const more = paths.length - MOST_FOUND;
  return [
    ...paths.slice(0, MOST_FOUND).map((path) => entry(path, menu, act)),
    ...(more > 0 ? [note(say("editor.menuMore", { count: more }))] : []),
  ];
}

/** A model's paths: folded, unless the workflow loads it, and made when they are unfolded. */
function groupOf({ model, isOwnModel, paths }, menu, act) {
  const { steps } = menu;
  const name = model === SERVERS ? say("editor.menuServers") : model || say("editor.menuOwn");
  const label = isOwnModel ? say("editor.menuModel", { model: name }) : name;
  const group = el(
    "details", { className: "gph-menu-group" },
    el("summary", {}, label, " ", el("span", { className: "gph-dim" }, String(paths.length))),
  );
  const section = (title, shown) =>
    shown.length ? [note(title), ...shown.map((path) => entry(path, menu, act))] : [];
  const fill = () => {
    if (!group.open || group.childElementCount > 1) return;
    group.append(
      ...section(say("editor.menuSame", { steps }), paths.filter((path) => path.num_steps === steps)),
      ...section(say("editor.menuOthers"), paths.filter((path) => path.num_steps !== steps)),
    );
  };
  group.addEventListener("toggle", fill);
  group.open = isOwnModel || !model;
  fill();
  return group;
}

function note(words, more = "") {
  return el("div", { className: `gph-menu-note gph-dim ${more}` }, words);
}

function foot(menu, act) {
  const command = (key, run) => el("button", { type: "button", onclick: act(run) }, say(key));
  return el(
    "div", { className: "gph-menu-foot" },
    command("editor.menuSave", () => actions.save(menu)),
    command("editor.menuImport", actions.importText),
    command("editor.menuImportFile", actions.importFile),
  );
}

function entry(path, menu, act) {
  return isUsers(path) ? ownEntry(path, menu, act) : pathEntry(path, menu, act);
}

function pathEntry(path, menu, act) {
  const facts = [
    say("editor.pathFull", { full: path.num_full, count: path.num_steps }),
    ...(path.psnr ? [say("editor.pathQuality", { psnr: path.psnr.toFixed(1) })] : []),
    path.policy, say(`editor.origin.${path.origin}`),
  ];
  const { speed } = path;
  const tag = menu.taken.has(path) ? [" ", el("span", { className: "gph-path-speed", title: say("editor.takenTip", { speed }) }, speed)] : [];
  return el(
    "button",
    { type: "button", className: "gph-path", title: path.card, onclick: act(() => menu.apply(path)) },
    el("span", {}, path.name, ...tag), picture(path.schedule),
    el("span", { className: "gph-path-facts gph-dim" }, facts.join(" · ")),
  );
}

function ownEntry(path, menu, act) {
  const { name } = path;
  const tool = (sign, key, run) => {
    const title = say(key, { name });
    return el("button", { type: "button", title, "aria-label": title, onclick: act(() => run(name)) }, icon(sign));
  };
  return el(
    "div", { className: "gph-own" },
    pathEntry(path, menu, act),
    tool("copy", "editor.menuExport", actions.exportText),
    tool("file", "editor.menuExportFile", actions.exportFile),
    tool("rename", "editor.menuRename", actions.rename),
    tool("remove", "editor.menuDelete", actions.remove),
  );
}

/** The full steps, as a strip. */
function picture(schedule) {
  const cells = parse(schedule);
  const full = cells.flatMap((isFull, step) => (isFull ? [`M${step + 0.1} 0h.8v1h-.8z`] : []));
  return svg(
    "svg",
    { class: "gph-path-strip", viewBox: `0 0 ${cells.length} 1`, preserveAspectRatio: "none",
      "aria-hidden": "true" },
    svg("path", { d: full.join("") }),
  );
}
