/** What the pointer and the keys do to the pictures of a comparison. */

const STEP = 0.02; // of the width, for an arrow key

/** The line follows the pointer; a drag moves a magnified picture. */
export function followPointer(element, { isZoomed, move, pan }) {
  let last = null;
  const scale = () => element.getBoundingClientRect().width / element.offsetWidth || 1;
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.stopPropagation(); // or Nodes 2.0 moves the node
    element.setPointerCapture(event.pointerId);
    last = [event.clientX, event.clientY];
  });
  element.addEventListener("pointermove", (event) => {
    const { left, width } = element.getBoundingClientRect();
    if (!last || !isZoomed()) return move((event.clientX - left) / width);
    pan((event.clientX - last[0]) / scale(), (event.clientY - last[1]) / scale());
    last = [event.clientX, event.clientY];
  });
  for (const type of ["pointerup", "pointercancel", "lostpointercapture"]) {
    element.addEventListener(type, () => { last = null; });
  }
}

/** Arrow keys move the line, with Shift a magnified picture. */
export function followKeys(element, { at, move, pan, toggleMode, toggleZoom }) {
  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = arrows[event.key];
    const acts = {
      Home: () => move(0), End: () => move(1),
      d: () => toggleMode("difference"), s: () => toggleMode("beside"), z: toggleZoom,
    };
    if (arrow && event.shiftKey) pan(...arrow.map((way) => -40 * way));
    else if (arrow?.[0]) move(at() + STEP * arrow[0]);
    else if (acts[event.key]) acts[event.key]();
    else return;
    event.preventDefault();
  });
}
