import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";

import { closePopup, showPopup } from "../../web/menu/popup.js";

/** A popup that is open, in as much of a page as it needs, and how often it was removed. */
function shown(signal) {
  Object.assign(globalThis, { document: { body: { append() {} } }, innerHeight: 600, innerWidth: 800 });
  const panel = Object.assign(new EventTarget(), { removed: 0, style: {}, showPopover() {}, remove: () => (panel.removed += 1) });
  showPopup(panel, { left: 0, top: 0, bottom: 10 }, { focus() {} }, signal);
  return panel;
}

test("a closed menu no longer listens to the signal of its view, however it was closed", () => {
  const { signal } = new AbortController();
  closePopup(shown(signal)); // an entry was chosen
  shown(signal).dispatchEvent(Object.assign(new Event("toggle"), { newState: "closed" })); // a click elsewhere
  assert.equal(getEventListeners(signal, "abort").length, 0);
});

test("an open menu closes with its view", () => {
  const view = new AbortController();
  const panel = shown(view.signal);
  assert.equal(panel.removed, 0);
  view.abort();
  assert.equal(panel.removed, 1);
});
