/** The clipboard, and a dialog where the page may not use it. */

import { prompt } from "./host.js";

/**
 * Put a text into the clipboard. Where the page may not, as without HTTPS, show it in a dialog.
 * Resolves to whether it is in the clipboard.
 */
export async function copy(text, title, message) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    await prompt(title, message, text);
    return false;
  }
}

/** The clipboard's text; null where the page may not read it. */
export function clipboardText() {
  return navigator.clipboard?.readText().catch(() => null) ?? null;
}
