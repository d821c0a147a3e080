/** The panel of Quality Compare: verdict, pictures, figures. */

import { el, SCROLLS, set } from "../shared/dom.js";
import { say, temporaryUrl } from "../shared/host.js";
import { unlessPressed } from "../shared/press.js";
import { createPlayer } from "./clip_player.js";
import { createStage } from "./comparison_stage.js";
import { figuresLines, itemsOf, meansTip, verdictLine, worstOf } from "./comparison_view.js";
import { createCurve } from "./frame_curve.js";
import { openPictureMenu } from "./picture_menu.js";

/**
 * @param {(report: object) => Node[]} draw makes the table of a report, with its notes
 * @returns {{element: HTMLElement, show: (comparison: object) => void, lose: () => void, focus: () => void}}
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
  );
  let comparison = { parts: [] };
  let items = [];
  let current = 0;
  tell("quality.idle");

  /** @param {object} told as nodes/compare/quality_compare.py sends it */
  function show(told) {
    player.stop();
    comparison = told;
    items = itemsOf(comparison);
    if (!items.length) return tell("quality.nothing");
    const measured = comparison.parts.filter(({ missing }) => !missing);
    element.replaceChildren(verdict, figures, stage.element, curve.element, bar.element, details);
    details.replaceChildren(el("summary", {}, say("quality.details")), ...measured.flatMap(draw));
    set(details, { hidden: !measured.length });
    set(element, { "aria-label": say("quality.region") });
    stage.setMode(measured.some(({ clip }) => clip) ? "beside" : "slider");
    go(0);
  }

  /** Say that there are no pictures, and why. */
  function tell(key) {
    element.replaceChildren(el("div", { className: "gph-idle" }, say(key)));
  }

  /** Go to an image as a user does, who then wants to look at it. */
  function choose(to) {
    player.stop();
    go(to);
  }

  function go(to, isReady) {
    current = (to + items.length) % items.length;
    const item = items[current];
    const { width, height, heat_map: scale, missing, clip } = item.report;
    set(verdict, { textContent: verdictLine(item, say), title: say("quality.verdictTip") });
    figures.replaceChildren(...figuresLines(item, comparison, say).map((line) => el("div", {}, line)));
    set(figures, { title: meansTip(comparison, say) });
    stage.show(urlsOf(item), [width, height], scale?.to ?? 0, isReady);
    curve.show(item.report);
    curve.at(item.n);
    bar.count(current, items.length, { isClip: Boolean(clip), isPair: !missing });
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

  stage.element.addEventListener("contextmenu", (event) => {
    if (!stage.isLost()) openPictureMenu(event, stage.pointedAt(event));
  });
  element.addEventListener("keydown", (event) => {
    const acts = {
      PageUp: () => choose(current - 1), PageDown: () => choose(current + 1), " ": event.target === stage.element && play,
    };
    if (!acts[event.key] || !items.length || event.target.closest(".gph-details")) return;
    event.preventDefault();
    acts[event.key]();
  });
  return { element, show: unlessPressed(element, show), lose: () => tell("quality.lost"), focus: () => stage.element.focus() };
}

/** Which image, and what is shown of it. */
function createBar(stage, { previous, next, worst, play }) {
  const named = (key) => ({ title: say(`quality.${key}.tip`), "aria-label": say(`quality.${key}.tip`) });
  const button = (key, act, properties = {}) => (
    el("button", { type: "button", onclick: act, ...named(key), ...properties }, say(`quality.${key}`))
  );
  const toggle = (key, act) => button(key, act, { "aria-pressed": false });
  const modes = Object.fromEntries(["slider", "beside", "difference"].map((mode) => (
    [mode, toggle(`mode.${mode}`, () => stage.toggleMode(mode))]
  )));
  const count = el("span", { className: "gph-number" });
  const [player, lowest, zoom] = [button("play", play), button("worst", worst), toggle("zoom", stage.toggleZoom)];
  const batch = el(
    "span", { className: "gph-batch" }, player, button("previous", previous), count, button("next", next), lowest,
  );
  const choice = el("span", { className: "gph-modes" }, ...Object.values(modes));
  const element = el("div", { className: "gph-comparison-bar", role: "group" }, batch, choice, zoom);
  return {
    element,
    count: (at, of, { isClip, isPair }) => {
      set(batch, { hidden: of < 2 });
      set(player, { hidden: !isClip });
      for (const part of [lowest, choice]) set(part, { hidden: !isPair });
      set(count, { textContent: `${at + 1} / ${of}`, title: say("quality.number", { at: at + 1, of }) });
    },
    plays: (isPlaying) => {
      const key = isPlaying ? "pause" : "play";
      set(player, { textContent: say(`quality.${key}`), ...named(key) });
    },
    press: ({ mode, zoomed, canZoom }) => {
      for (const [key, choose] of Object.entries(modes)) set(choose, { "aria-pressed": key === mode });
      set(zoom, { "aria-pressed": zoomed, disabled: !canZoom, title: say(canZoom ? "quality.zoom.tip" : "quality.zoom.whole") });
    },
  };
}
