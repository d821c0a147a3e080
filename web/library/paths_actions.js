/** What can be done with golden paths: save, import, export, rename, delete. */

import { copy } from "../shared/clipboard.js";
import { el } from "../shared/dom.js";
import * as host from "../shared/host.js";

const { say } = host;

const url = (name) => `/user_paths/${encodeURIComponent(name)}`;

export async function save({ current }) {
  await host.promptUntil(say("editor.menuSave"), say("editor.nameAsk"), async (name) => {
    const isKept = await keep("/user_paths", { name, schedule: current() });
    if (!isKept) throw new Error(say("editor.nameOther", { name }));
  });
}

export async function importFile() {
  const file = await pickFile();
  if (file) await keep("/user_paths/import", { text: await file.text() });
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

export async function importText() {
  await host.promptUntil(say("editor.menuImport"), say("editor.importAsk"), (text) =>
    keep("/user_paths/import", { text }));
}

/** Keep a path, if the user lets it replace one of the same name; whether it is kept. */
async function keep(path, body) {
  let answer;
  try {
    answer = await host.ask(path, { body: { ...body, replace: false } });
  } catch (reason) {
    if (reason.status !== 409) throw reason;
    if (!(await host.confirm(say("editor.replaceTitle"), reason.message))) return false;
    answer = await host.ask(path, { body: { ...body, replace: true } });
  }
  host.toast("success", say("editor.saved", { name: answer.name }));
  return true;
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

export async function exportText(name) {
  const text = await shared(name);
  const copied = await copy(text, say("editor.menuExport", { name }), say("editor.exportAsk"));
  if (copied) host.toast("success", say("editor.exported", { name }));
}

export async function rename(name) {
  await host.promptUntil(say("editor.menuRename", { name }), say("editor.nameAsk"), async (next) => {
    if (next === name) return;
    await host.ask(`${url(name)}/name`, { body: { name: next } });
    host.toast("success", say("editor.saved", { name: next }));
  }, name);
}

export async function remove(name) {
  if (!(await host.confirm(say("editor.menuDelete", { name }), say("editor.deleteAsk", { name })))) return;
  await host.ask(url(name), { method: "DELETE" });
  host.toast("success", say("editor.deleted", { name }));
}

/** What the action gives; undefined and a message if it fails. */
export async function orToast(action) {
  try {
    return await action();
  } catch (reason) {
    host.toast("error", say("editor.failed"), reason.message);
    return undefined;
  }
}
