/** Making elements. Texts go in as text, never as HTML: they may come from files of others. */

/**
 * An element with properties and children.
 * @param {string} tag
 * @param {Record<string, any>} [properties] of the element; `aria-…`, `data-…` and `role` as attributes
 * @param {...(Node | string)} children
 */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  set(element, properties);
  element.append(...children);
  return element;
}

/** Set properties where they differ, which is cheap on 200 cells. */
export function set(element, properties) {
  for (const [key, value] of Object.entries(properties)) {
    if (/^(aria-|data-|role$)/.test(key)) {
      if (element.getAttribute(key) !== String(value)) element.setAttribute(key, String(value));
    } else if (element[key] !== value) {
      element[key] = value;
    }
  }
  return element;
}

/** An element of SVG with attributes. */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** Of an element that scrolls by itself: the wheel over it does not zoom, in either renderer. */
export const SCROLLS = { "data-gph-scrolls": "", "data-capture-wheel": "true" };

/** Rows of columns have wide gaps; sentences have none, and are indented by two spaces at most. */
const ROWS = /((?:^(?:.*\S {2}| {3}).*\n?)+)/m;

/** A text as elements: sentences wrap; rows of columns stay whole, and are scrolled where there is no room. */
export function blocks(text) {
  return text
    .split(ROWS)
    .map((part, n) => el("pre", { className: n % 2 ? "gph-text gph-columns" : "gph-text" }, part))
    .filter((part) => part.textContent);
}

// Strokes on a field of 16 by 16, and what is filled.
const ICONS = {
  locked: ["M4.5 7.5h7v6h-7zM6 7.5V5a2 2 0 0 1 4 0v2.5"],
  unlocked: ["M4.5 7.5h7v6h-7zM6 7.5V5a2 2 0 0 1 3.8-.8"],
  full: ["", "M3 4.5q0-1 1-1h8q1 0 1 1v7q0 1-1 1H4q-1 0-1-1z"],
  cached: ["M3.5 4h9v8h-9zM4 10.5l6-6M6.5 12l6-6"],
  invert: ["M3.5 4h9v8h-9z", "M8 4h4.5v8H8z"],
  left: ["M13 8H4M7 4.5 3.5 8 7 11.5"],
  right: ["M3 8h9M9 4.5 12.5 8 9 11.5"],
  uniform: ["M3 4v8M6.3 4v8M9.7 4v8M13 4v8"],
  copy: ["M5.5 5.5h7v8h-7zM3.5 10.5v-8h7"],
  paste: ["M4 4h8v9.5H4zM6 4V2.5h4V4M6.5 7h3M6.5 9.5h3"],
  more: ["", "M3 8m-1.3 0a1.3 1.3 0 1 0 2.6 0 1.3 1.3 0 1 0-2.6 0M8 8m-1.3 0a1.3 1.3 0 1 0 2.6 0 1.3 1.3 0 1 0-2.6 0M13 8m-1.3 0a1.3 1.3 0 1 0 2.6 0 1.3 1.3 0 1 0-2.6 0"],
  file: ["M8 2.5v7M5 6.5 8 9.5l3-3M3.5 13.5h9"],
  presets: ["M8 2.5l1.7 3.5 3.8.5-2.8 2.7.7 3.8L8 11.2 4.6 13l.7-3.8L2.5 6.5 6.3 6z"],
  rename: ["M3.5 12.5 4 10l6.5-6.5 2 2L6 12z"],
  remove: ["M4 5h8M6.5 5V3.5h3V5M5 5l.6 8h4.8L11 5"],
};

/** A drawn sign; the button around it has the words. */
export function icon(name) {
  const [stroke, fill = ""] = ICONS[name];
  return svg(
    "svg", { viewBox: "0 0 16 16", class: "gph-icon", "aria-hidden": "true" },
    svg("path", { d: stroke }), svg("path", { d: fill, fill: "currentColor", stroke: "none" }),
  );
}
