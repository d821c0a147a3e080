/** The panel of Quality Compare: verdict, pictures, figures. It knows the page's DOM, but no ComfyUI. */

import { el, set } from "../shared/dom.js";
import { createStage } from "./comparison_stage.js";
import { figuresLine, itemsOf, verdictLine, worstOf } from "./comparison_view.js";

/**
 * @param {object} options
 * @param {() => (key: string, values?: object) => string} options.language the texts to use now
 * @param {(file: {filename: string, subfolder: string}) => string} options.urlOf the address of a picture
 * @param {(report: object) => Node[]} options.draw the table of a report, with its notes
 * @returns {{element: HTMLElement, show: (reports: object[]) => void, focus: () => void}}
 */
export function createComparison({ language, urlOf, draw }) {
  const say = (key, values) => language()(key, values);
  const verdict = el("p", { className: "gph-verdict", role: "status" });
  const figures = el("p", { className: "gph-figures" });
  const stage = createStage(language, (state) => bar.press(state));
  const bar = createBar(say, stage, {
    previous: () => go(current - 1), next: () => go(current + 1), worst: () => go(worstOf(items)),
  });
  const details = el("details", { className: "gph-details", "data-gph-scrolls": "", "data-capture-wheel": "true" });
  const idle = el("div", { className: "gph-quality-idle" }, say("quality.idle"));
  const element = el(
    "div", { className: "gph-quality gph-comparison", "data-testid": "gph-quality", role: "region" }, idle,
  );
  let items = [];
  let current = 0;

  function show(reports) {
    items = itemsOf(reports);
    element.replaceChildren(verdict, figures, stage.element, bar.element, details);
    details.replaceChildren(el("summary", {}, say("quality.details")), ...reports.flatMap(draw));
    set(element, { "aria-label": say("quality.region") });
    go(0);
  }

  function go(to) {
    current = (to + items.length) % items.length;
    const item = items[current];
    const { pictures, width, height, images, heat_map: scale } = item.report;
    set(verdict, { textContent: verdictLine(item, language()), title: say("quality.verdictTip") });
    const means = images > 1 ? say("quality.means", { images, figures: figuresLine({ report: item.report }, language()) }) : "";
    figures.replaceChildren(figuresLine(item, language()), el("br"), means);
    const urls = Object.entries(pictures.files[item.n]).map(([kind, filename]) => (
      [kind, urlOf({ filename, subfolder: pictures.subfolder })]
    ));
    stage.show(Object.fromEntries(urls), [width, height], scale.to);
    bar.count(current, items.length);
  }

  element.addEventListener("keydown", (event) => {
    const way = { PageUp: -1, PageDown: 1 }[event.key];
    if (!way || !items.length || event.target.closest(".gph-details")) return;
    event.preventDefault();
    go(current + way);
  });
  return { element, show, focus: () => stage.element.focus() };
}

/** Which image, and what is shown of it. */
function createBar(say, stage, { previous, next, worst }) {
  const button = (key, act, properties = {}) => (
    el("button", { type: "button", onclick: act, ...named(key), ...properties }, say(`quality.${key}`))
  );
  const named = (key) => ({ title: say(`quality.${key}.tip`), "aria-label": say(`quality.${key}.tip`) });
  const count = el("span", { className: "gph-number" });
  const heatMap = button("heatMap", stage.toggleHeatMap, { "aria-pressed": false });
  const zoom = button("zoom", stage.toggleZoom, { "aria-pressed": false });
  const batch = el(
    "span", { className: "gph-batch" },
    button("previous", previous), count, button("next", next), button("worst", worst),
  );
  const element = el("div", { className: "gph-comparison-bar", role: "group" }, batch, heatMap, zoom);
  return {
    element,
    count: (at, of) => {
      set(batch, { hidden: of < 2 });
      set(count, { textContent: `${at + 1} / ${of}`, title: say("quality.number", { at: at + 1, of }) });
    },
    press: ({ heatMap: isHeat, zoomed, canZoom }) => {
      set(heatMap, { "aria-pressed": isHeat });
      set(zoom, { "aria-pressed": zoomed, disabled: !canZoom, title: say(canZoom ? "quality.zoom.tip" : "quality.zoom.whole") });
    },
  };
}
