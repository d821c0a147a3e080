/** Popups over the page: where they stand, their keys, and where the focus goes when they close. */

import { el } from "../shared/dom.js";

const MOST_HEIGHT = 480;

/** For each popup that is shown, what ends its listening to the signal that closes it: that one lives longer. */
const listening = new WeakMap();

/** A popup that nobody sees yet, with its name. */
export function createPopup(label, properties) {
  return el("div", { role: "dialog", popover: "auto", "aria-label": label, ...properties });
}

/**
 * Show a popup below a place, or above it where there is more room.
 * @param {HTMLElement} panel
 * @param {{left: number, top: number, bottom: number}} place in the window
 * @param {HTMLElement} opener gets the focus back
 * @param {AbortSignal} signal closes it
 */
export function showPopup(panel, { left, bottom, top }, opener, signal) {
  document.body.append(panel);
  panel.showPopover();
  const [below, above] = [innerHeight - bottom - 8, top - 8];
  const most = Math.min(MOST_HEIGHT, panel.offsetHeight);
  panel.style.left = `${Math.max(4, Math.min(left, innerWidth - panel.offsetWidth - 4))}px`;
  panel.style.maxHeight = `${Math.min(MOST_HEIGHT, Math.max(below, above))}px`;
  if (below >= Math.min(most, above)) panel.style.top = `${bottom + 4}px`;
  else panel.style.bottom = `${innerHeight - top + 4}px`;
  panel.addEventListener("toggle", (event) => {
    if (event.target !== panel || event.newState !== "closed") return;
    closePopup(panel);
    if (document.activeElement === document.body) opener.focus({ preventScroll: true });
  });
  panel.addEventListener("keydown", (event) => {
    event.stopPropagation(); // ComfyUI's own keys
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by || event.target.type === "number") return;
    event.preventDefault();
    const items = [...panel.querySelectorAll("input, summary, button:enabled")].filter((item) => item.checkVisibility());
    const at = items.indexOf(document.activeElement);
    items[(at + by + items.length) % items.length].focus();
  });
  listening.set(panel, new AbortController());
  signal.addEventListener("abort", () => closePopup(panel), { signal: listening.get(panel).signal });
}

/** Take a popup away; nothing of it stays. */
export function closePopup(panel) {
  panel.remove();
  listening.get(panel)?.abort();
}
