/** Two pictures under a slider or side by side with their heat map, or that alone; whole or pixel by pixel. */

import { el, set } from "../shared/dom.js";
import { say } from "../shared/host.js";
import { digits } from "../shared/metrics.js";
import { fitting, place } from "./comparison_view.js";

const STEP = 0.02; // of the width, for an arrow key
const LARGE = 2; // how many screen pixels a pixel has that is shown as a square

/**
 * @param {(state: {heatMap: boolean, beside: boolean, zoomed: boolean, canZoom: boolean}) => void} changed what buttons show
 */
export function createStage(changed) {
  const picture = (kind) => el("img", { className: `gph-picture gph-${kind}`, draggable: false, decoding: "async", alt: "" });
  const pictures = { reference: picture("reference"), test: picture("test"), difference: picture("difference") };
  const tag = (kind) => el("span", { className: `gph-tag gph-tag-${kind}` });
  const tags = { reference: tag("reference"), test: tag("test"), difference: tag("difference") };
  const line = el("span", { className: "gph-line" });
  const lost = el("p", { className: "gph-lost", hidden: true });
  const element = el(
    "div", { className: "gph-stage", tabIndex: 0, role: "slider", "aria-valuemin": 0, "aria-valuemax": 100 },
    ...Object.values(pictures), line, ...Object.values(tags), lost,
  );
  const state = { at: 0.5, zoomed: false, heatMap: false, beside: false, middle: [0.5, 0.5], size: [1, 1], urls: {} };

  /**
   * @param {{reference: string, test: string, difference: string}} urls
   * @param {[number, number]} size
   * @param {number} to the error of the heat map's brightest colour
   * @param {boolean} [isReady] pictures that are ready all appear at once
   */
  function show(urls, size, to, isReady = false) {
    Object.assign(state, { urls, size });
    for (const img of Object.values(pictures)) img.decoding = isReady ? "sync" : "async";
    set(lost, { hidden: true });
    for (const kind of ["reference", "test"]) pictures[kind].src = urls[kind];
    pictures.difference.removeAttribute("src");
    for (const [kind, text] of Object.entries(tags)) text.textContent = say(`quality.tag.${kind}`, { to: digits(to) });
    set(element, { "aria-label": say("quality.slider") });
    layout();
  }

  /** CSS pixels of the frame for one of the screen: the canvas of ComfyUI is scaled. */
  function screenPixel() {
    const drawn = element.getBoundingClientRect().width / (element.offsetWidth || 1);
    return 1 / ((drawn || 1) * window.devicePixelRatio);
  }

  function layout() {
    const frame = [element.clientWidth, element.clientHeight];
    if (!frame[0] || !frame[1]) return;
    const isBeside = state.beside && !state.heatMap;
    const columns = isBeside ? Object.keys(pictures).length : 1;
    frame[0] /= columns;
    if (state.heatMap || isBeside) pictures.difference.src ||= state.urls.difference ?? "";
    const pixel = screenPixel();
    const canZoom = fitting(frame, state.size) < pixel;
    state.zoomed &&= canZoom;
    const { scale, size, start, middle } = place(frame, state.size, state.zoomed ? pixel : undefined, state.middle);
    state.middle = middle;
    const cut = `inset(0 ${Math.max(0, start[0] + size[0] - frame[0])}px 0 ${Math.max(0, -start[0])}px)`;
    Object.values(pictures).forEach(({ style }, column) => {
      const left = start[0] + (isBeside ? column * frame[0] : 0);
      [style.width, style.height] = size.map((side) => `${side}px`);
      style.translate = `${left}px ${start[1]}px`;
      style.clipPath = isBeside ? cut : "none"; // a magnified picture stays in its column
      style.imageRendering = scale / pixel >= LARGE ? "pixelated" : "auto";
    });
    const x = state.at * frame[0];
    if (!isBeside) pictures.test.style.clipPath = `inset(0 0 0 ${Math.max(0, x - start[0])}px)`;
    line.style.translate = `${x}px`;
    element.classList.toggle("gph-heat", state.heatMap);
    element.classList.toggle("gph-beside", isBeside);
    element.classList.toggle("gph-zoomed", state.zoomed);
    const at = Math.round(100 * state.at);
    set(element, { "aria-valuenow": at, "aria-valuetext": say("quality.sliderAt", { at }) });
    changed({ heatMap: state.heatMap, beside: state.beside, zoomed: state.zoomed, canZoom });
  }

  function move(at) {
    state.at = Math.min(1, Math.max(0, at));
    layout();
  }

  /** Move the picture, in pixels of the frame. */
  function pan(...distance) {
    const frame = [element.clientWidth / (state.beside && !state.heatMap ? 3 : 1), element.clientHeight];
    const { size } = place(frame, state.size, screenPixel());
    state.middle = state.middle.map((part, axis) => part - distance[axis] / size[axis]);
    layout();
  }

  function toggle(key) {
    state[key] = !state[key];
    layout();
  }

  for (const img of Object.values(pictures)) {
    img.addEventListener("error", () => set(lost, { hidden: false, textContent: say("quality.lost") }));
  }
  new ResizeObserver(layout).observe(element);
  followPointer(element, { isZoomed: () => state.zoomed, move, pan });
  followKeys(element, { at: () => state.at, move, pan, toggle });
  return {
    element, show,
    setBeside: (isBeside) => { state.beside = isBeside; },
    toggleBeside: () => toggle("beside"),
    toggleHeatMap: () => toggle("heatMap"),
    toggleZoom: () => toggle("zoomed"),
  };
}

/** The line follows the pointer; a drag moves a magnified picture. */
function followPointer(element, { isZoomed, move, pan }) {
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
function followKeys(element, { at, move, pan, toggle }) {
  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = arrows[event.key];
    const acts = {
      Home: () => move(0), End: () => move(1), d: () => toggle("heatMap"), s: () => toggle("beside"), z: () => toggle("zoomed"),
    };
    if (arrow && event.shiftKey) pan(...arrow.map((way) => -40 * way));
    else if (arrow?.[0]) move(at() + STEP * arrow[0]);
    else if (acts[event.key]) acts[event.key]();
    else return;
    event.preventDefault();
  });
}
