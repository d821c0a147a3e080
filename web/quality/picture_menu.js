/** What a right-click on pictures offers, in the order of ComfyUI's own image nodes. */

import { openMenu } from "../menu/context_menu.js";
import { el } from "../shared/dom.js";
import { say, toast } from "../shared/host.js";

/**
 * @param {MouseEvent} event of type "contextmenu"
 * @param {Record<string, string>} urls of the pictures, by kind
 */
export function openPictureMenu(event, urls) {
  openMenu(event, Object.entries(urls).flatMap(([kind, url]) => {
    const entry = (act, run) => ({ label: say(`quality.menu.${act}`, { picture: say(`quality.picture.${kind}`) }), run });
    return [
      entry("open", () => window.open(url, "_blank")),
      ...(canCopy() ? [entry("copy", () => copy(url))] : []),
      entry("save", () => el("a", { href: url, download: `${kind}.png` }).click()),
    ];
  }));
}

/** Not without HTTPS, except on the machine itself. */
function canCopy() {
  return Boolean(navigator.clipboard?.write && window.ClipboardItem);
}

async function copy(url) {
  try {
    const picture = fetch(url).then((answer) => answer.blob());
    await navigator.clipboard.write([new ClipboardItem({ "image/png": picture })]);
  } catch (reason) {
    toast("error", say("quality.menu.notCopied"), reason.message);
  }
}
