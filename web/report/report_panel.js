/** The panel that shows a report (see run_view.js). It knows the page's DOM, but no ComfyUI. */

import { el } from "../shared/dom.js";
import {
  cells,
  columns,
  counts,
  isWhole,
  length,
  mebibytes,
  median,
  scheduleOf,
  seconds,
  sum,
} from "./run_view.js";

/**
 * @param {() => (key: string, values?: object) => string} language the texts to use now
 * @returns {{element: HTMLElement, show: (report: import("./run_view.js").Report) => void}}
 */
export function createPanel(language) {
  const element = el("div", { className: "gph-report", "data-testid": "gph-report" });
  let report = null;
  let selected = -1;

  function show(next) {
    const follows = !report || report.prompt !== next.prompt || next.saved !== report.saved;
    const last = next.runs.length - 1;
    if (follows || selected === report.runs.length - 1) selected = last;
    report = next;
    draw();
  }

  function draw() {
    const say = language();
    const focus = element.contains(document.activeElement) && document.activeElement.dataset.gphGo;
    if (!report) {
      element.replaceChildren(el("div", { className: "gph-report-idle" }, say("report.idle")));
      return;
    }
    const run = report.runs[selected];
    element.replaceChildren(head(run, say), strip(run, say), legend(run, say), plan(run), notes(run));
    if (focus) element.querySelector(`[data-gph-go="${focus}"]`)?.focus();
  }

  function head(run, say) {
    const line = el("div", { className: "gph-report-head" });
    const { figures } = run;
    line.append(el("strong", { className: "gph-report-title", role: "status" }, titleOf(run, say)));
    if (isWhole(run) && figures.cachedSeconds.length) line.append(...meter(figures, say));
    if (report.saved) line.append(el("span", { className: "gph-report-tag" }, say("report.saved")));
    if (report.runs.length > 1) line.append(chooser(say));
    return line;
  }

  function chooser(say) {
    const bar = el("span", { className: "gph-report-runs" });
    const go = (by, sign, label) => {
      const disabled = !report.runs[selected + by];
      const named = { title: label, "aria-label": label, "data-gph-go": by };
      const button = el("button", { type: "button", disabled, ...named }, sign);
      button.addEventListener("click", () => {
        selected += by;
        draw();
      });
      return button;
    };
    const place = { index: selected + 1, count: report.runs.length };
    bar.append(
      go(-1, "‹", say("report.older")),
      el("span", {}, say("report.run", place)),
      go(1, "›", say("report.newer")),
    );
    return bar;
  }

  draw();
  return { element, show };
}

function titleOf(run, say) {
  const progress = { done: counts(run).reached, steps: length(run) };
  if (run.state === "planned") return say("report.planned");
  if (run.state === "running") return say("report.running", progress);
  if (run.state === "refused") return say("report.notFaster");
  if (progress.done < progress.steps) return say("report.stopped", progress);
  if (!run.figures.cachedSeconds.length) return say("report.notFaster");
  return say("report.faster", { factor: run.figures.speedup.toFixed(2) });
}

/** The realised speed-up as a part of the ideal one. */
function meter(figures, say) {
  if (!figures.ideal) return [];
  const bar = el("span", { className: "gph-report-meter" });
  const fill = el("span");
  fill.style.width = `${Math.min(100, (100 * figures.speedup) / figures.ideal)}%`;
  bar.append(fill);
  const ideal = say("report.ideal", { factor: figures.ideal.toFixed(2) });
  const label = el("span", { className: "gph-report-dim" }, ideal);
  bar.title = label.title = say("report.idealHint");
  return [bar, label];
}

function strip(run, say) {
  const shown = cells(run);
  const label = say("report.strip", { ...counts(run), steps: shown.length });
  const element = el("div", { className: "gph-strip", role: "img", "aria-label": label });
  element.style.setProperty("--gph-columns", columns(shown.length));
  for (const cell of shown) {
    const dot = el("span", { className: `gph-cell gph-${cell.kind} gph-plan-${cell.plan}` });
    dot.title = titleOfCell(cell, run, say);
    element.append(dot);
  }
  return element;
}

function titleOfCell({ step, kind, plan, sigma, value }, run, say) {
  const method = run.origin;
  const parts = [say("report.step", { step, kind: say(keyOf(kind, run, plan)) })];
  if (sigma !== undefined) parts.push(say("report.sigma", { sigma: +sigma.toPrecision(3) }));
  if (Number.isFinite(value)) parts.push(say("report.value", { method, value: +value.toPrecision(3) }));
  if (value === null && kind === "full") parts.push(say("report.anyValue", { method }));
  return parts.join(" · ");
}

/** The text of what happened at a step, or of what is planned for it. */
function keyOf(kind, run, plan) {
  if (kind === "waiting") return `report.kind.waiting.${plan}`;
  return kind === "refused" && run.isOpen ? "report.kind.refused.open" : `report.kind.${kind}`;
}

function legend(run, say) {
  const found = counts(run);
  const { figures } = run;
  const list = el("ul", { className: "gph-report-legend" });
  const add = (kinds, times) => {
    const item = el("li");
    for (const kind of kinds.filter((k) => found[k] || k !== "refused")) {
      const label = el("span", {}, say(`report.${kind}`, { count: found[kind] }));
      if (kind === "refused") label.title = say(keyOf(kind, run));
      item.append(el("span", { className: `gph-cell gph-${kind}` }), label);
    }
    if (times?.length) {
      const values = { total: seconds(sum(times)), each: seconds(median(times)) };
      item.append(el("span", { className: "gph-report-dim" }, say("report.time", values)));
    }
    list.append(item);
  };
  add(["full", "refused"], figures?.fullSeconds); // refused steps are timed as full ones
  add(["cached"], figures?.cachedSeconds);
  if (figures?.bytes) {
    const size = say("report.cache", { size: mebibytes(figures.bytes) });
    list.append(el("li", { className: "gph-report-dim" }, size));
  }
  return list;
}

/** Which schedule, and why. */
function plan(run) {
  const line = el("div", { className: "gph-report-plan" });
  const why = [run.origin, run.figures?.policy, run.figures?.site].filter(Boolean).join(" · ");
  line.append(el("span", { className: "gph-report-dim" }, why), el("code", {}, scheduleOf(run)));
  return line;
}

/** Why steps were computed in full, and other advice. */
function notes(run) {
  const list = el("ul", { className: "gph-report-notes" });
  list.classList.toggle("gph-report-alarm", run.state === "refused" || counts(run).refused > 0);
  const said = run.figures?.notes ?? [run.reason].filter(Boolean);
  list.append(...said.map((note) => el("li", {}, note)));
  return list;
}
