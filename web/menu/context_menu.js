/** A small menu in place of the browser's own, for what a right-click or the menu key is on. No ComfyUI. */

import { el } from "../shared/dom.js";

/**
 * Open a menu at the pointer, or beside what has the focus.
 * @param {MouseEvent} event of type "contextmenu"
 * @param {{label: string, run: () => void, title?: string}[]} entries
 */
export function openMenu(event, entries) {
  event.preventDefault();
  event.stopPropagation(); // Nodes 2.0 has a menu of the node
  const before = document.activeElement;
  const close = () => {
    menu.remove();
    before?.focus({ preventScroll: true });
  };
  const items = entries.map(({ label, run, title = "" }) => {
    const onclick = () => {
      close();
      run();
    };
    return el("button", { type: "button", role: "menuitem", title, onclick }, label);
  });
  const menu = el("div", {
    className: "gph-menu gph-context-menu", role: "menu", popover: "auto", "data-testid": "gph-context-menu",
    oncontextmenu: (inside) => inside.preventDefault(),
    onkeydown(key) {
      key.stopPropagation(); // ComfyUI's own keys
      const at = items.indexOf(document.activeElement);
      const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[key.key];
      if (next !== undefined) items.at(next % items.length).focus();
      else if (key.key === "Tab") close();
      else return;
      key.preventDefault();
    },
    ontoggle: ({ newState }) => newState === "closed" && menu.remove(),
  }, ...items);
  document.body.append(menu);
  menu.showPopover();
  const { left, bottom } = event.target.getBoundingClientRect();
  const [x, y] = event.clientX || event.clientY ? [event.clientX, event.clientY] : [left, bottom];
  menu.style.left = `${Math.max(4, Math.min(x, innerWidth - menu.offsetWidth - 4))}px`;
  menu.style.top = `${Math.max(4, Math.min(y, innerHeight - menu.offsetHeight - 4))}px`;
  items[0].focus({ preventScroll: true });
}
