/** The menu of golden paths: choose one, save, rename, delete, share. */

import { el, icon, svg } from "../shared/dom.js";
import * as host from "../shared/host.js";
import { parse } from "../editor/schedule.js";

const OWN = "user/"; // begins the ids of the user's own paths

/**
 * @typedef {object} Menu
 * @property {(key: string, values?: object) => string} t
 * @property {number} steps of the schedule being edited
 * @property {() => string} current its text
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
  const { t } = menu;
  const library = await orToast(t, () => host.ask("/paths"));
  if (!library || menu.signal.aborted) return;
  const panel = el("div", {
    className: "gph-menu", role: "menu", popover: "auto", "data-testid": "gph-menu",
    "aria-label": t("editor.presets"),
  });
  const close = () => panel.remove();
  const act = (action) => async () => {
    close();
    await orToast(t, action);
  };

  const own = library.paths.filter((path) => path.id.startsWith(OWN));
  const bundled = library.paths.filter((path) => !path.id.startsWith(OWN));
  const fits = (path) => path.num_steps === menu.steps;
  const section = (title, paths, more) =>
    paths.length ? [el("div", { className: "gph-menu-title" }, title), ...paths.map(more)] : [];
  const bar = el(
    "div", { className: "gph-menu-foot" },
    command(t("editor.menuSave"), act(() => save(menu))),
    command(t("editor.menuImport"), act(() => importText(menu))),
    command(t("editor.menuImportFile"), act(() => importFile(menu))),
  );
  panel.append(
    ...section(t("editor.menuOwn"), own, (path) => ownEntry(path, menu, act)),
    ...section(t("editor.menuSame", { steps: menu.steps }), bundled.filter(fits), (path) =>
      entry(path, menu, act)),
    ...section(t("editor.menuOthers"), bundled.filter((path) => !fits(path)), (path) =>
      entry(path, menu, act)),
    ...(library.paths.length ? [] : [el("div", { className: "gph-menu-note" }, t("editor.menuNone"))]),
    ...library.broken.map((file) =>
      el("div", { className: "gph-menu-note gph-warning" }, t("editor.menuBroken", file))),
    bar,
  );
  show(panel, anchor, menu.signal);
}

function show(panel, anchor, signal) {
  document.body.append(panel);
  panel.showPopover();
  const { left, bottom, top } = anchor.getBoundingClientRect();
  const { width, height } = panel.getBoundingClientRect();
  const fitsBelow = bottom + 4 + height <= innerHeight;
  panel.style.left = `${Math.max(4, Math.min(left, innerWidth - width - 4))}px`;
  panel.style.top = `${fitsBelow ? bottom + 4 : Math.max(4, top - height - 4)}px`;
  const items = [...panel.querySelectorAll("button")];
  items[0]?.focus();
  panel.addEventListener("toggle", (event) => {
    if (event.newState !== "closed") return;
    panel.remove();
    if (document.activeElement === document.body) anchor.focus({ preventScroll: true });
  });
  panel.addEventListener("keydown", (event) => {
    event.stopPropagation(); // ComfyUI's own keys
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const at = items.indexOf(document.activeElement);
    items[(at + by + items.length) % items.length].focus();
  });
  signal.addEventListener("abort", () => panel.remove());
}

function command(label, run) {
  return el("button", { type: "button", role: "menuitem", onclick: run }, label);
}

function entry(path, { t, apply }, act) {
  const words = { full: path.num_full, count: path.num_steps, policy: path.policy, origin: path.origin };
  return el(
    "button",
    { type: "button", role: "menuitem", className: "gph-path", title: path.card,
      onclick: act(() => apply(path)) },
    el("span", { className: "gph-path-name" }, path.name),
    picture(path.schedule),
    el("span", { className: "gph-path-facts" }, t("editor.pathLine", words)),
  );
}

function ownEntry(path, menu, act) {
  const { t } = menu;
  const { name } = path;
  const tool = (sign, words, run) =>
    el("button", {
      type: "button", role: "menuitem", title: words, "aria-label": words, onclick: act(run),
    }, icon(sign));
  return el(
    "div", { className: "gph-own", role: "none" },
    entry(path, menu, act),
    tool("copy", t("editor.menuExport", { name }), () => exportText(menu, name)),
    tool("file", t("editor.menuExportFile", { name }), () => exportFile(name)),
    tool("rename", t("editor.menuRename", { name }), () => rename(menu, name)),
    tool("remove", t("editor.menuDelete", { name }), () => remove(menu, name)),
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

const url = (name) => `/user_paths/${encodeURIComponent(name)}`;

async function save({ t, current }) {
  const name = await host.prompt(t("editor.menuSave"), t("editor.nameAsk"));
  if (!name?.trim()) return;
  await keep(t, "/user_paths", { name: name.trim(), schedule: current() });
}

async function importFile({ t }) {
  const file = await pickFile();
  if (file) await keep(t, "/user_paths/import", { text: await file.text() });
}

/** The file that the user picks, undefined if none. */
function pickFile() {
  const input = el("input", { type: "file", accept: ".json,application/json" });
  return new Promise((resolve) => {
    for (const type of ["change", "cancel"]) {
      input.addEventListener(type, () => resolve(input.files[0]));
    }
    input.click();
  });
}

async function importText({ t }) {
  const text = await host.prompt(t("editor.menuImport"), t("editor.importAsk"));
  if (text?.trim()) await keep(t, "/user_paths/import", { text });
}

/** Keep a path; where the name is taken, ask whether to replace that one. */
async function keep(t, path, body) {
  let answer;
  try {
    answer = await host.ask(path, { body: { ...body, replace: false } });
  } catch (reason) {
    if (reason.status !== 409) throw reason;
    if (!(await host.confirm(t("editor.replaceTitle"), reason.message))) return;
    answer = await host.ask(path, { body: { ...body, replace: true } });
  }
  host.toast("success", t("editor.saved", { name: answer.name }));
}

/** A path as it is shared. */
async function shared(name) {
  return JSON.stringify(await host.ask(url(name)), null, 1);
}

async function exportFile(name) {
  const href = URL.createObjectURL(new Blob([await shared(name)], { type: "application/json" }));
  el("a", { href, download: `${name}.json` }).click();
  URL.revokeObjectURL(href);
}

async function exportText({ t }, name) {
  const text = await shared(name);
  const copied = await host.copy(text, t("editor.menuExport", { name }), t("editor.exportAsk"));
  if (copied) host.toast("success", t("editor.exported", { name }));
}

async function rename({ t }, name) {
  const next = await host.prompt(t("editor.menuRename", { name }), t("editor.nameAsk"), name);
  if (!next?.trim() || next.trim() === name) return;
  await host.ask(`${url(name)}/name`, { body: { name: next.trim() } });
  host.toast("success", t("editor.saved", { name: next.trim() }));
}

async function remove({ t }, name) {
  const words = t("editor.deleteAsk", { name });
  if (!(await host.confirm(t("editor.menuDelete", { name }), words))) return;
  await host.ask(url(name), { method: "DELETE" });
  host.toast("success", t("editor.deleted", { name }));
}

/** What the action gives; undefined and a message if it fails. */
async function orToast(t, action) {
  try {
    return await action();
  } catch (reason) {
    host.toast("error", t("editor.failed"), reason.message);
    return undefined;
  }
}
