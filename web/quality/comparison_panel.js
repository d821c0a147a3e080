/** The panel of Quality Compare: verdict, pictures, figures. */

import { el, SCROLLS, set } from "../shared/dom.js";
import { say, temporaryUrl } from "../shared/host.js";
import { createPlayer } from "./clip_player.js";
import { createStage } from "./comparison_stage.js";
import { figuresLine, itemsOf, meansLine, meansTip, verdictLine, worstOf } from "./comparison_view.js";
import { createCurve } from "./frame_curve.js";

/**
 * @param {(report: object) => Node[]} draw makes the table of a report, with its notes
 * @returns {{element: HTMLElement, show: (reports: object[]) => void, focus: () => void}}
 */
export function createComparison(draw) {
  const verdict = el("p", { className: "gph-verdict", role: "status" });
  const figures = el("p", { className: "gph-figures" });
  const stage = createStage((state) => bar.press(state));
  const bar = createBar(stage, {
    previous: () => choose(current - 1), next: () => choose(current + 1), worst: () => choose(worstOf(items)), play,
  });
  const curve = createCurve((frame) => choose(clipStart() + frame));
  const player = createPlayer({
    urlsOf: (frame) => Object.values(urlsOf(items[clipStart() + frame])),
    show: (frame) => go(clipStart() + frame, true),
    changed: (isPlaying) => bar.plays(isPlaying),
    isShown: () => element.isConnected,
  });
  const details = el("details", { className: "gph-details", ...SCROLLS });
  const element = el(
    "div", { className: "gph-quality gph-comparison", "data-testid": "gph-quality", role: "region" },
    el("div", { className: "gph-idle" }, say("quality.idle")),
  );
  let items = [];
  let current = 0;

  function show(reports) {
    player.stop();
    items = itemsOf(reports);
    element.replaceChildren(verdict, figures, stage.element, curve.element, bar.element, details);
    details.replaceChildren(el("summary", {}, say("quality.details")), ...reports.flatMap(draw));
    set(element, { "aria-label": say("quality.region") });
    stage.setBeside(reports.some(({ clip }) => clip));
    go(0);
  }

  /** Go to an image as a user does, who then wants to look at it. */
  function choose(to) {
    player.stop();
    go(to);
  }

  function go(to, isReady) {
    current = (to + items.length) % items.length;
    const item = items[current];
    const { width, height, heat_map: scale } = item.report;
    set(verdict, { textContent: verdictLine(item, say), title: say("quality.verdictTip") });
    figures.replaceChildren(figuresLine(item, say), el("br"), meansLine(item.report, say));
    set(figures, { title: meansTip(item.report, say) });
    stage.show(urlsOf(item), [width, height], scale.to, isReady);
    curve.show(item.report);
    curve.at(item.n);
    bar.count(current, items.length, Boolean(item.report.clip));
  }

  /** Play the clip that is shown, or stop. */
  function play() {
    const { report, n } = items[current] ?? {};
    if (player.isPlaying() || !report?.clip) player.stop();
    else player.play(n, report.images, report.clip.fps);
  }

  /** Place of the first frame of the clip that is shown. */
  function clipStart() {
    return current - items[current].n;
  }

  function urlsOf({ report: { pictures }, n }) {
    return Object.fromEntries(Object.entries(pictures.files[n]).map(([kind, filename]) => (
      [kind, temporaryUrl({ filename, subfolder: pictures.subfolder })]
    )));
  }

  element.addEventListener("keydown", (event) => {
    const acts = {
      PageUp: () => choose(current - 1), PageDown: () => choose(current + 1), " ": event.target === stage.element && play,
    };
    if (!acts[event.key] || !items.length || event.target.closest(".gph-details")) return;
    event.preventDefault();
    acts[event.key]();
  });
  return { element, show, focus: () => stage.element.focus() };
}

/** Which image, and what is shown of it. */
function createBar(stage, { previous, next, worst, play }) {
  const named = (key) => ({ title: say(`quality.${key}.tip`), "aria-label": say(`quality.${key}.tip`) });
  const button = (key, act, properties = {}) => (
    el("button", { type: "button", onclick: act, ...named(key), ...properties }, say(`quality.${key}`))
  );
  const toggle = (key, act) => button(key, act, { "aria-pressed": false });
  const count = el("span", { className: "gph-number" });
  const player = button("play", play);
  const [beside, heatMap, zoom] = [
    toggle("beside", stage.toggleBeside), toggle("heatMap", stage.toggleHeatMap), toggle("zoom", stage.toggleZoom),
  ];
  const batch = el(
    "span", { className: "gph-batch" },
    player, button("previous", previous), count, button("next", next), button("worst", worst),
  );
  const element = el("div", { className: "gph-comparison-bar", role: "group" }, batch, beside, heatMap, zoom);
  return {
    element,
    count: (at, of, isClip) => {
      set(batch, { hidden: of < 2 });
      set(player, { hidden: !isClip });
      set(count, { textContent: `${at + 1} / ${of}`, title: say("quality.number", { at: at + 1, of }) });
    },
    plays: (isPlaying) => {
      const key = isPlaying ? "pause" : "play";
      set(player, { textContent: say(`quality.${key}`), ...named(key) });
    },
    press: ({ heatMap: isHeat, beside: isBeside, zoomed, canZoom }) => {
      set(heatMap, { "aria-pressed": isHeat });
      set(beside, { "aria-pressed": isBeside });
      set(zoom, { "aria-pressed": zoomed, disabled: !canZoom, title: say(canZoom ? "quality.zoom.tip" : "quality.zoom.whole") });
    },
  };
}
