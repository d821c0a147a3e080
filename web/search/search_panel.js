/** The panel that shows a search (see search_view.js). */

import { blocks, el, SCROLLS, set, svg } from "../shared/dom.js";
import { say } from "../shared/host.js";
import { cellsOf, createStrip, fillStrip } from "../shared/strip.js";
import { isLowerBetter, isRunning, percent, rate, roughly, scoreText, stepCurve } from "./search_view.js";

/**
 * Its elements are made once and updated: an event may come four times a second, while the user
 * selects text or scrolls.
 */
export function createPanel() {
  const idle = el("div", { className: "gph-idle" }, say("search.idle"));
  const parts = [warning, head, strip, plan, curve, figures, workers, result].map((create) => create());
  const element = el("div", { className: "gph-search", "data-testid": "gph-search" }, idle);

  function show(search) {
    if (idle.parentNode) element.replaceChildren(...parts.map((part) => part.element));
    for (const part of parts) part.update(search);
  }
  return { element, show };
}

/** That one example is too few. */
function warning() {
  const element = el("div", { className: "gph-search-warning" }, say("search.oneExample"));
  return { element, update: ({ examples }) => set(element, { hidden: examples !== 1 }) };
}

/** What the search does, and the best score. */
function head() {
  const state = el("strong", { role: "status" });
  const score = el("span", { className: "gph-search-score" });
  const element = el("div", { className: "gph-search-head" }, state, score);
  const update = (search) => {
    const [done, all] = search.part;
    const now = search.state === "preparing" && all ? "references" : search.state;
    set(state, { textContent: say(`search.${now}`, { done, all }) });
    const has = search.score !== undefined;
    const values = { objective: search.unit, score: has && scoreText(search, search.score) };
    const key = search.isValidated ? "search.validated" : "search.score";
    set(score, {
      textContent: has ? say(key, values) : "",
      title: say(isLowerBetter(search) ? "search.lower" : "search.higher"),
    });
  };
  return { element, update };
}

/** The best schedule, a cell a step. */
function strip() {
  const element = createStrip([], { className: "gph-strip gph-search-strip" });
  let shown = "";
  const update = ({ best, plan: steps }) => {
    if (shown === best) return;
    shown = best;
    const full = steps.filter(Boolean).length;
    set(element, { "aria-label": best ? say("search.strip", { full, steps: steps.length }) : "" });
    fillStrip(element, cellsOf(steps));
  };
  return { element, update };
}

/** Its policy and its text. */
function plan() {
  const policy = el("span", { className: "gph-dim" });
  const schedule = el("code");
  const element = el("div", { className: "gph-search-plan" }, policy, schedule);
  const update = (search) => {
    set(policy, { textContent: search.policy });
    set(schedule, { textContent: search.best, title: search.best });
  };
  return { element, update };
}

/** The best score over the schedules that were scored. */
function curve() {
  const line = svg("path");
  const box = { viewBox: "0 0 1 1", preserveAspectRatio: "none" };
  const drawing = svg("svg", { ...box, role: "img" }, line);
  const [first, last] = [el("span"), el("span")];
  const element = el("div", { className: "gph-search-curve" }, first, drawing, last);
  const update = (search) => {
    const steps = stepCurve(search);
    const write = (score) => (steps ? scoreText(search, score) : "");
    const [from, to] = [write(steps?.first), write(steps?.last)];
    const corners = (steps?.corners ?? []).map(([x, y]) => `${x} ${1 - y}`);
    line.setAttribute("d", corners.length ? `M${corners.join("L")}` : "");
    const values = { objective: search.unit, count: search.scored, first: from, last: to };
    set(drawing, { "aria-label": steps ? say("search.curve", values) : "" });
    set(first, { textContent: from });
    set(last, { textContent: to });
  };
  return { element, update };
}

/** The used part of the budget, and how fast it goes. */
function figures() {
  const fill = el("span");
  const range = { "aria-valuemin": 0, "aria-valuemax": 100 };
  const bar = el("span", { className: "gph-meter gph-search-bar", role: "progressbar", ...range }, fill);
  const [used, scored, speed, left] = [el("span"), el("span"), el("span"), el("span")];
  const element = el("div", { className: "gph-search-figures" }, bar, used, scored, speed, left);
  const update = (search) => {
    const part = percent(search.used);
    fill.style.width = `${part}%`;
    const label = say("search.usedTip");
    set(bar, { "aria-valuenow": part, "aria-label": label, title: label });
    set(used, { textContent: say("search.used", { percent: part }), title: label });
    set(scored, { textContent: say("search.scored", { count: search.scored }) });
    // Nothing was sampled yet, or all was known from a former run.
    const has = search.perMinute > 0;
    set(speed, { textContent: has ? say("search.rate", { rate: rate(search.perMinute) }) : "" });
    const isKnown = search.left !== undefined;
    const time = isKnown ? say("search.left", { time: roughly(search.left) }) : say("search.leftOpen");
    set(left, {
      textContent: isRunning(search) ? time : "",
      title: isKnown ? say(search.state === "validating" ? "search.leftComparing" : "search.leftTip") : "",
    });
  };
  return { element, update };
}

/** What each worker does and how fast it is; without workers it takes no room. */
function workers() {
  const element = el("ul", { className: "gph-search-workers", ...SCROLLS });
  const update = ({ workers: rows }) => {
    while (element.children.length < rows.length) element.append(row());
    while (element.children.length > rows.length) element.lastChild.remove();
    rows.forEach(({ worker, doing, rate: steps }, n) => {
      const [name, speed] = element.children[n].children;
      const does = say(`search.worker.${doing}`);
      set(name, { textContent: say("search.worker", { number: worker, does }) });
      const has = steps > 0;
      set(speed, {
        textContent: has ? say("search.workerRate", { rate: Math.round(steps) }) : "",
        title: say("search.workerRateTip"),
      });
    });
    set(element, { hidden: !rows.length, "aria-label": say("search.workers") });
  };
  const row = () => el("li", {}, el("span"), el("span", { className: "gph-dim" }));
  return { element, update };
}

/** At the end the table; for a search that did not get there, what to do. */
function result() {
  const element = el("div", { className: "gph-search-result", role: "region", ...SCROLLS });
  const update = (search) => {
    const isEnded = search.state === "stopped" || search.state === "failed";
    const shown = isEnded ? say(`search.kept.${search.state}`) : search.table;
    if (element.textContent !== shown) element.replaceChildren(...blocks(shown));
    const tabIndex = isEnded ? -1 : 0; // the table scrolls by keys
    set(element, { hidden: !shown, tabIndex, "aria-label": say("search.table") });
    element.classList.toggle("gph-search-note", isEnded);
  };
  return { element, update };
}
