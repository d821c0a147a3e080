/** What a report says of one run (see run_view.js), part by part. */

import { el } from "../shared/dom.js";
import { say } from "../shared/host.js";
import { createStrip } from "../shared/strip.js";
import { cells, counts, length, mebibytes, scheduleOf, seconds, sum } from "./run_view.js";
import { known, translated } from "./said.js";

export const line = (...parts) => el("div", { className: "gph-report-head" }, ...parts);
export const title = (words) => el("strong", { className: "gph-report-title", role: "status" }, words);

export function titleOf(run) {
  const progress = { done: counts(run).reached, steps: length(run) };
  if (run.fitting) return translated(run.fitting, say);
  if (run.state === "planned") return say("report.planned");
  if (run.state === "running") return say("report.running", progress);
  if (run.state === "refused") return say("report.notFaster");
  if (progress.done < progress.steps) return say("report.stopped", progress);
  if (!run.figures.cachedSeconds.length) return say("report.notFaster");
  return say("report.faster", { factor: run.figures.speedup.toFixed(2) });
}

/** The realised speed-up as a part of the ideal one. */
export function meter({ speedup, ideal }) {
  if (!ideal) return [];
  const title = say("report.idealHint");
  const fill = el("span");
  fill.style.width = `${Math.min(100, (100 * speedup) / ideal)}%`;
  return [
    el("span", { className: "gph-meter gph-report-meter", title }, fill),
    el("span", { className: "gph-dim", title }, say("report.ideal", { factor: ideal.toFixed(2) })),
  ];
}

export function strip(run) {
  const shown = cells(run);
  const label = say("report.strip", { ...counts(run), steps: shown.length });
  return createStrip(
    shown.map((cell) => ({ kind: `${cell.kind} gph-plan-${cell.plan}`, title: titleOfCell(cell, run) })),
    { "aria-label": label },
  );
}

function titleOfCell({ step, kind, plan, sigma, value }, run) {
  const method = translated(run.origin, say);
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

export function legend(run) {
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
export function plan(run) {
  const { origin } = run;
  // A schedule says itself that its weights are fitted, and a full run predicts nothing.
  const isSaid = !counts(run).cached || /\b(fitted|learned)\b/.test(origin);
  const policy = isSaid ? "" : (run.figures?.policy ?? "");
  const why = [
    origin && el("span", { title: say("report.originTip") }, translated(origin, say)),
    policy && el("span", { title: say(policyTip(policy)) }, policy),
  ].filter(Boolean);
  return el(
    "div", { className: "gph-report-plan" },
    el("span", { className: "gph-dim" }, ...why.flatMap((part, n) => (n ? [" · ", part] : [part]))),
    el("code", {}, scheduleOf(run)),
  );
}

const POLICIES = ["residual reuse", "damped velocity", "fitted"]; // those that a speed takes by itself

function policyTip(policy) {
  return POLICIES.includes(policy) ? `report.policy.${policy}` : "report.policyTip";
}

/** Why nothing was cached although it was to be: the first thing to read. */
export function alarms(run) {
  return said(run).filter(isAlarm).map((line) => {
    const { reason } = known(line).values; // the title says the rest
    return el("div", { className: "gph-report-alarm", role: "alert" }, translated(reason, say));
  });
}

/** Why single steps were computed in full, and other advice. */
export function notes(run) {
  const { refused } = counts(run);
  const others = said(run).filter((line) => !isAlarm(line));
  return el(
    "ul", { className: `gph-report-notes ${refused ? "gph-report-forced" : ""}` },
    ...others.map((line) => el("li", {}, translated(line, say))),
  );
}

const said = (run) => run.figures?.notes ?? [run.reason].filter(Boolean);
const isAlarm = (line) => known(line)?.key === "said.inFull";
