/** What can be done with golden paths: save, import, export, rename, delete. */

import { el } from "../shared/dom.js";
import * as host from "../shared/host.js";

const url = (name) => `/user_paths/${encodeURIComponent(name)}`;

export async function save({ t, current }) {
  const name = await host.prompt(t("editor.menuSave"), t("editor.nameAsk"));
  if (!name?.trim()) return;
  await keep(t, "/user_paths", { name: name.trim(), schedule: current() });
}

export async function importFile({ t }) {
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

export async function importText({ t }) {
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

export async function exportFile(name) {
  const href = URL.createObjectURL(new Blob([await shared(name)], { type: "application/json" }));
  el("a", { href, download: `${name}.json` }).click();
  URL.revokeObjectURL(href);
}

export async function exportText({ t }, name) {
  const text = await shared(name);
  const copied = await host.copy(text, t("editor.menuExport", { name }), t("editor.exportAsk"));
  if (copied) host.toast("success", t("editor.exported", { name }));
}

export async function rename({ t }, name) {
  const next = await host.prompt(t("editor.menuRename", { name }), t("editor.nameAsk"), name);
  if (!next?.trim() || next.trim() === name) return;
  await host.ask(`${url(name)}/name`, { body: { name: next.trim() } });
  host.toast("success", t("editor.saved", { name: next.trim() }));
}

export async function remove({ t }, name) {
  const words = t("editor.deleteAsk", { name });
  if (!(await host.confirm(t("editor.menuDelete", { name }), words))) return;
  await host.ask(url(name), { method: "DELETE" });
  host.toast("success", t("editor.deleted", { name }));
}

/** What the action gives; undefined and a message if it fails. */
export async function orToast(t, action) {
  try {
    return await action();
  } catch (reason) {
    host.toast("error", t("editor.failed"), reason.message);
    return undefined;
  }
}
