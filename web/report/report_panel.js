/** The panel that shows a report (see run_view.js). */

import { warning } from "../editor/schedule_messages.js";
import { el } from "../shared/dom.js";
import { say } from "../shared/host.js";
import { createStrip } from "../shared/strip.js";
import { failureText } from "./failure_line.js";
import { learningRow } from "./learning.js";
import { cells, counts, isWhole, length, mebibytes, scheduleOf, seconds, sum } from "./run_view.js";

export function createPanel() {
  const element = el("div", { className: "gph-report", "data-testid": "gph-report" });
  let report;
  let failure;
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

  /**
   * Show what the settings of the node say, whatever ran.
   * @param {{off?: "off" | "bypassed", misfit?: {steps: number, count: number, adapt: () => void},
   *   learning?: import("./learning.js").Learning}} found why the node hands the model on as it is; the
   *   sampler's steps if the schedule has another number; what can be learned, or forgotten
   */
  function tell(found) {
    const [before, now] = [settings, found].map(({ learning, ...others }) => [learning, others].map((part) => JSON.stringify(part)));
    settings = found;
    if (before[1] !== now[1]) draw(); // a reader may have selected text
    else if (before[0] !== now[0]) keepingFocus(drawLearning); // or is about to press a button elsewhere
  }

  const draw = () => keepingFocus(() => element.replaceChildren(...misfit(), ...parts()));

  function keepingFocus(change) {
    const focus = element.contains(document.activeElement) && document.activeElement.dataset.gphGo;
    change();
    if (focus) element.querySelector(`[data-gph-go="${focus}"]`)?.focus();
  }

  function drawLearning() {
    element.querySelector(".gph-report-learning")?.remove();
    if (showsRun()) element.append(...learningRow(report.runs[selected], settings.learning));
  }

  const isBefore = () => !failure?.prompt || report?.prompt !== failure.prompt;
  const showsRun = () => report && !settings.off && !(failure && isBefore());

  function parts() {
    if (settings.off) return [line(title(say(`report.${settings.off}`))), ...reason()];
    if (failure && isBefore()) return [line(title(say(`report.state.${failure.state}`))), ...reason()];
    if (!report) return [el("div", { className: "gph-idle" }, say("report.idle"))];
    const run = report.runs[selected];
    if (run.state === "off") return [line(title(say("report.off")))];
    if (run.fitting && !length(run)) return [line(title(run.fitting))]; // nothing else is known yet
    const learning = learningRow(run, settings.learning);
    return [head(run), ...reason(), strip(run), legend(run), plan(run), notes(run), ...learning];
  }

  function misfit() {
    if (!settings.misfit) return [];
    const { steps, count, adapt } = settings.misfit;
    const button = { label: say("editor.adapt", { steps }), run: adapt };
    return [warning(say("editor.otherSteps", { steps, count }), button)];
  }

  const reason = () => (failure?.words ? [failureText(failure)] : []);

  function titleOfRun(run) {
    const isLast = selected === report.runs.length - 1;
    if (failure && isLast && !length(run)) return say(`report.state.${failure.state}`);
    if (failure?.state !== "failed" || !isLast) return titleOf(run);
    if (isWhole(run)) return say("report.state.failed"); // before the next one began
    return say("report.failedAfter", { done: counts(run).reached, steps: length(run) });
  }

  function head(run) {
    const { figures } = run;
    const shown = line(title(titleOfRun(run)));
    if (isWhole(run) && figures.cachedSeconds.length) shown.append(...meter(figures));
    if (report.saved) shown.append(el("span", { className: "gph-report-tag gph-dim" }, say("report.saved")));
    if (report.runs.length > 1) shown.append(chooser());
    return shown;
  }

  function chooser() {
    const go = (by, sign, label) => el("button", {
      type: "button", disabled: !report.runs[selected + by], title: label, "aria-label": label, "data-gph-go": by,
      onclick() {
        selected += by;
        draw();
      },
    }, sign);
    return el(
      "span", { className: "gph-report-runs" },
      go(-1, "‹", say("report.older")),
      say("report.run", { index: selected + 1, count: report.runs.length }),
      go(1, "›", say("report.newer")),
    );
  }

  /** The schedule of the last run, as far as there is one. */
  const schedule = () => (report ? scheduleOf(report.runs.at(-1)) : "");

  draw();
  return { element, show, tell, schedule };
}

const line = (...parts) => el("div", { className: "gph-report-head" }, ...parts);
const title = (words) => el("strong", { className: "gph-report-title", role: "status" }, words);

function titleOf(run) {
  const progress = { done: counts(run).reached, steps: length(run) };
  if (run.fitting) return run.fitting;
  if (run.state === "planned") return say("report.planned");
  if (run.state === "running") return say("report.running", progress);
  if (run.state === "refused") return say("report.notFaster");
  if (progress.done < progress.steps) return say("report.stopped", progress);
  if (!run.figures.cachedSeconds.length) return say("report.notFaster");
  return say("report.faster", { factor: run.figures.speedup.toFixed(2) });
}

/** The realised speed-up as a part of the ideal one. */
function meter({ speedup, ideal }) {
  if (!ideal) return [];
  const title = say("report.idealHint");
  const fill = el("span");
  fill.style.width = `${Math.min(100, (100 * speedup) / ideal)}%`;
  return [
    el("span", { className: "gph-meter gph-report-meter", title }, fill),
    el("span", { className: "gph-dim", title }, say("report.ideal", { factor: ideal.toFixed(2) })),
  ];
}

function strip(run) {
  const shown = cells(run);
  const label = say("report.strip", { ...counts(run), steps: shown.length });
  return createStrip(
    shown.map((cell) => ({ kind: `${cell.kind} gph-plan-${cell.plan}`, title: titleOfCell(cell, run) })),
    { "aria-label": label },
  );
}

function titleOfCell({ step, kind, plan, sigma, value }, run) {
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

function legend(run) {
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
      item.append(el("span", { className: "gph-dim" }, say("report.time", values)));
    }
    list.append(item);
  };
  add(["full", "refused"], figures?.fullSeconds); // refused steps are timed as full ones
  add(["cached"], figures?.cachedSeconds);
  if (figures?.bytes) {
    const size = say("report.cache", { size: mebibytes(figures.bytes) });
    list.append(el("li", { className: "gph-dim" }, size));
  }
  return list;
}

/** Which schedule, and why. */
function plan(run) {
  const why = [run.origin, run.figures?.policy, run.figures?.site].filter(Boolean).join(" · ");
  return el(
    "div", { className: "gph-report-plan" },
    el("span", { className: "gph-dim" }, why), el("code", {}, scheduleOf(run)),
  );
}

/** Why steps were computed in full, and other advice. */
function notes(run) {
  const isAlarm = run.state === "refused" || counts(run).refused > 0;
  const said = run.figures?.notes ?? [run.reason].filter(Boolean);
  return el(
    "ul", { className: `gph-report-notes ${isAlarm ? "gph-report-alarm" : ""}` },
    ...said.map((note) => el("li", {}, note)),
  );
}
