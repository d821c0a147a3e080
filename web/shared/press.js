/** Drawing while a button is pressed: one that is replaced before it is let go gets no click. */

/** A menu of the browser can take the release; the press is no click then. */
const POINTER_ENDS = ["pointerup", "pointercancel", "contextmenu"];

/**
 * A function that draws, but not while something in `element` is pressed: then it draws after the click,
 * as it was called last.
 * @template {any[]} Values
 * @param {HTMLElement} element what `draw` gives new children
 * @param {(...values: Values) => void} draw
 * @returns {(...values: Values) => void}
 */
export function unlessPressed(element, draw) {
  let press = null; // ends the listening to its release
  let waiting = null; // for it; the values to draw

  element.addEventListener("pointerdown", (event) => event.button === 0 && begin(...POINTER_ENDS), true);
  element.addEventListener("keydown", (event) => event.key === " " && begin("keyup"), true);

  function begin(...ends) {
    press?.abort();
    press = new AbortController();
    const options = { capture: true, signal: press.signal };
    for (const type of ends) addEventListener(type, release, options);
    addEventListener("blur", release, { signal: press.signal }); // another window gets the release
  }

  function release() {
    press.abort();
    press = null; // what the click itself changes is drawn at once
    setTimeout(() => waiting && !press && now(waiting)); // the click comes after this event
  }

  function now(values) {
    waiting = null;
    draw(...values);
  }

  return (...values) => {
    if (press) waiting = values;
    else now(values);
  };
}
