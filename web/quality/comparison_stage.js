/** Two pictures under a slider or side by side with their heat map, or that alone; whole or pixel by pixel. */

import { el, set } from "../shared/dom.js";
import { say } from "../shared/host.js";
import { digits } from "../shared/metrics.js";
import { fitting, place } from "./comparison_view.js";
import { followKeys, followPointer } from "./stage_gestures.js";

const LARGE = 2; // how many screen pixels a pixel has that is shown as a square
/** Which pictures each mode shows. */
const MODES = {
  slider: ["reference", "test"], beside: ["reference", "test", "difference"], difference: ["difference"],
};

/** @param {(state: {mode: string, zoomed: boolean, canZoom: boolean}) => void} changed what buttons show */
export function createStage(changed) {
  const picture = (kind) => el("img", { className: `gph-picture gph-${kind}`, draggable: false, decoding: "async", alt: "" });
  const tag = (kind) => el("span", { className: `gph-tag gph-tag-${kind}` });
  const byKind = (make) => Object.fromEntries(MODES.beside.map((kind) => [kind, make(kind)]));
  const [pictures, tags] = [byKind(picture), byKind(tag)];
  const line = el("span", { className: "gph-line" });
  const lost = el("p", { className: "gph-lost", hidden: true });
  const element = el(
    "div", { className: "gph-stage", tabIndex: 0, role: "slider", "aria-valuemin": 0, "aria-valuemax": 100 },
    ...Object.values(pictures), line, ...Object.values(tags), lost,
  );
  const state = { at: 0.5, zoomed: false, mode: "slider", middle: [0.5, 0.5], size: [1, 1], urls: {} };

  /**
   * @param {Record<string, string>} urls by kind; of one picture alone there is one
   * @param {[number, number]} size
   * @param {number} to the error of the heat map's brightest colour
   * @param {boolean} [isReady] pictures that are ready all appear at once
   */
  function show(urls, size, to, isReady = false) {
    Object.assign(state, { urls, size });
    for (const img of Object.values(pictures)) img.decoding = isReady ? "sync" : "async";
    set(lost, { hidden: true });
    for (const kind of MODES.slider) load(kind);
    pictures.difference.removeAttribute("src");
    for (const [kind, text] of Object.entries(tags)) text.textContent = say(`quality.tag.${kind}`, { to: digits(to) });
    set(element, { "aria-label": say("quality.slider") });
    layout();
  }

  function load(kind) {
    if (state.urls[kind]) pictures[kind].src = state.urls[kind];
    else pictures[kind].removeAttribute("src");
  }

  /** The mode, or that of one picture alone, and the kinds of pictures that it shows. */
  function shown() {
    const alone = Object.keys(state.urls).length === 1;
    return alone ? ["alone", Object.keys(state.urls)] : [state.mode, MODES[state.mode]];
  }

  /** Size of the part of the frame that a picture has for itself. */
  function frameOf([mode, kinds]) {
    return [element.clientWidth / (mode === "beside" ? kinds.length : 1), element.clientHeight];
  }

  /** CSS pixels of the frame for one of the screen: the canvas of ComfyUI is scaled. */
  function screenPixel() {
    const drawn = element.getBoundingClientRect().width / (element.offsetWidth || 1);
    return 1 / ((drawn || 1) * window.devicePixelRatio);
  }

  function layout() {
    const [mode, kinds] = shown();
    const frame = frameOf([mode, kinds]);
    if (!frame[0] || !frame[1]) return;
    if (kinds.includes("difference") && !pictures.difference.src) load("difference");
    const pixel = screenPixel();
    const canZoom = fitting(frame, state.size) < pixel;
    state.zoomed &&= canZoom;
    const { scale, size, start, middle } = place(frame, state.size, state.zoomed ? pixel : undefined, state.middle);
    state.middle = middle;
    const cut = `inset(0 ${Math.max(0, start[0] + size[0] - frame[0])}px 0 ${Math.max(0, -start[0])}px)`;
    Object.entries(pictures).forEach(([kind, img], column) => {
      const left = start[0] + (mode === "beside" ? column * frame[0] : 0);
      [img.style.width, img.style.height] = size.map((side) => `${side}px`);
      img.style.translate = `${left}px ${start[1]}px`;
      img.style.clipPath = mode === "beside" ? cut : "none"; // a magnified picture stays in its column
      img.style.imageRendering = scale / pixel >= LARGE ? "pixelated" : "auto";
      img.hidden = tags[kind].hidden = !kinds.includes(kind);
    });
    const x = state.at * frame[0];
    if (mode === "slider") pictures.test.style.clipPath = `inset(0 0 0 ${Math.max(0, x - start[0])}px)`;
    line.style.translate = `${x}px`;
    line.hidden = mode !== "slider";
    element.dataset.mode = mode;
    element.classList.toggle("gph-zoomed", state.zoomed);
    const at = Math.round(100 * state.at);
    set(element, { "aria-valuenow": at, "aria-valuetext": say("quality.sliderAt", { at }) });
    changed({ mode, zoomed: state.zoomed, canZoom });
  }

  function move(at) {
    state.at = Math.min(1, Math.max(0, at));
    layout();
  }

  /** Move the picture, in pixels of the frame. */
  function pan(...distance) {
    const { size } = place(frameOf(shown()), state.size, screenPixel());
    state.middle = state.middle.map((part, axis) => part - distance[axis] / size[axis]);
    layout();
  }

  /** Show a mode; the slider instead if that is shown already. */
  function toggleMode(mode) {
    state.mode = state.mode === mode ? "slider" : mode;
    layout();
  }

  function toggleZoom() {
    state.zoomed = !state.zoomed;
    layout();
  }

  /** The addresses of the pictures that a right-click means, by kind. */
  function pointedAt(event) {
    const [mode, kinds] = shown();
    const { left, width } = element.getBoundingClientRect();
    const column = Math.floor((kinds.length * (event.clientX - left)) / width);
    // The menu key has no place. Under the slider the line is at the pointer, between both.
    const meant = mode === "beside" && event.button === 2 ? [kinds[column]] : kinds;
    return Object.fromEntries(meant.map((kind) => [kind, state.urls[kind]]));
  }

  for (const img of Object.values(pictures)) {
    img.addEventListener("error", () => set(lost, { hidden: false, textContent: say("quality.lost") }));
  }
  new ResizeObserver(layout).observe(element);
  followPointer(element, { isZoomed: () => state.zoomed, move, pan });
  followKeys(element, { at: () => state.at, move, pan, toggleMode, toggleZoom });
  return {
    element, show, pointedAt, toggleMode, toggleZoom,
    setMode: (mode) => { state.mode = mode; },
    isLost: () => !lost.hidden,
  };
}
