/** The panel that shows a report (see run_view.js). It knows the page's DOM, but no ComfyUI. */

import { warning } from "../editor/schedule_messages.js";
import { el } from "../shared/dom.js";
import { failureText } from "./failure_line.js";
import {
  cells,
  columns,
  counts,
  isWhole,
  length,
  mebibytes,
  scheduleOf,
  seconds,
  sum,
} from "./run_view.js";

/**
 * What the settings of the node say, whatever ran.
 * @typedef {object} Settings
 * @property {"off" | "bypassed"} [off] why it hands the model on as it is, if it does
 * @property {{steps: number, count: number, adapt: () => void}} [misfit] the sampler's steps, if the
 *   schedule has another number
 */

/**
 * @param {(key: string, values?: object) => string} say
 */
export function createPanel(say) {
  const element = el("div", { className: "gph-report", "data-testid": "gph-report" });
  /** @type {import("./run_view.js").Report | undefined} */
  let report;
  /** @type {import("./failures.js").Failure | undefined} */
  let failure;
  /** @type {Settings} */
  let settings = {};
  let selected = -1;

  /** Show what is known of the node: the report of its last prompt, and why that failed. */
  function show(entry) {
    const { report: next } = entry;
    const follows = !report || report.prompt !== next?.prompt || next.saved !== report.saved;
    const last = (next?.runs.length ?? 0) - 1;
    if (follows || selected === report.runs.length - 1) selected = last;
    [report, failure] = [next, entry.failure];
    draw();
  }

  /** @param {Settings} found */
  function tell(found) {
    const isSame = JSON.stringify(found) === JSON.stringify(settings);
    settings = found;
    if (!isSame) draw(); // a reader may have selected text
  }

  function draw() {
    const focus = element.contains(document.activeElement) && document.activeElement.dataset.gphGo;
    element.replaceChildren(...misfit(), ...parts());
    if (focus) element.querySelector(`[data-gph-go="${focus}"]`)?.focus();
  }

  function parts() {
    if (settings.off) return [line(title(say(`report.${settings.off}`))), ...reason()];
    const isBefore = !failure?.prompt || report?.prompt !== failure.prompt;
    if (failure && isBefore) return [line(title(say(`report.state.${failure.state}`))), ...reason()];
    if (!report) return [el("div", { className: "gph-report-idle" }, say("report.idle"))];
    const run = report.runs[selected];
    if (run.state === "off") return [line(title(say("report.off")))];
    return [head(run), ...reason(), strip(run, say), legend(run, say), plan(run), notes(run)];
  }

  function misfit() {
    if (!settings.misfit) return [];
    const { steps, count, adapt } = settings.misfit;
    const button = { label: say("editor.adapt", { steps }), run: adapt };
    return [warning(say("editor.otherSteps", { steps, count }), button)];
  }

  const reason = () => (failure?.words ? [failureText(failure, say)] : []);

  function titleOfRun(run) {
    const isLast = selected === report.runs.length - 1;
    if (failure?.state !== "failed" || !isLast) return titleOf(run, say);
    if (isWhole(run)) return say("report.state.failed"); // before the next one began
    return say("report.failedAfter", { done: counts(run).reached, steps: length(run) });
  }

  function head(run) {
    const { figures } = run;
    const shown = line(title(titleOfRun(run)));
    if (isWhole(run) && figures.cachedSeconds.length) shown.append(...meter(figures, say));
    if (report.saved) shown.append(el("span", { className: "gph-report-tag" }, say("report.saved")));
    if (report.runs.length > 1) shown.append(chooser());
    return shown;
  }

  function chooser() {
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

  /** The schedule of the last run, as far as there is one. */
  const schedule = () => (report ? scheduleOf(report.runs.at(-1)) : "");

  draw();
  return { element, show, tell, schedule };
}

const line = (...parts) => el("div", { className: "gph-report-head" }, ...parts);
const title = (words) => el("strong", { className: "gph-report-title", role: "status" }, words);

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
      // A mean, so that the figures of the line add up.
      const count = sum(kinds.map((kind) => found[kind]));
      const values = { total: seconds(sum(times)), each: seconds(sum(times) / Math.max(1, count)) };
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
