/**
 * What the report panel shows of a run, as plain data: no page, no ComfyUI. Records and events come
 * from a file or the network: whatever is not of the expected type is left out.
 */

import { amount, list, planOf, text } from "../shared/untrusted.js";

const KINDS = ["full", "cached", "refused"];
const MOST_STEPS = 10_000; // as gph_core/schedule_text.py
const MOST_RUNS = 1000;

/** The runs of a node in its last prompt, after an event of `golden_path.run`; a new prompt begins a new report. */
export function afterEvent(report, event) {
  const same = report && !report.saved && report.prompt === event.prompt_id;
  const runs = same ? [...afterFit(report).runs] : [];
  const index = isCount(event.run, MOST_RUNS) ? event.run : 0;
  runs[index] = runAfterEvent(runs[index] ?? newRun(), event);
  // The page may have missed the first runs.
  return { prompt: event.prompt_id, runs: Array.from(runs, (r) => r ?? newRun()), saved: false };
}

/**
 * The report of a node after the server has told of its last prompt: to a page that was loaded during
 * a run, which knows only the steps since.
 * @param {object | null} known the report so far; what a file carries, or another prompt's, stays
 * @param {object[]} told events
 * @param {object[]} since events that came meanwhile; the server may have told of the first of them
 */
export function caughtUp(known, told, since) {
  const report = [...told, ...since].reduce(afterEvent, null);
  return known && (known.saved || known.prompt !== report.prompt) ? known : report;
}

/** A report whose fit, if there was one, is over. */
export function afterFit(report) {
  if (!report?.runs.some((run) => run.fitting)) return report;
  return { ...report, runs: report.runs.map((run) => ({ ...run, fitting: "" })) };
}

/** A report after what was learned under a name was forgotten; the same one if it has nothing of it. */
export function afterForgetting(report, name) {
  if (!report?.runs.some((run) => run.learned === name)) return report;
  const runs = report.runs.map((run) => (run.learned === name ? { ...run, learned: "" } : run));
  return { ...report, runs };
}

/** A report of the records that an image's workflow carries; null if there is none to show. */
export function savedReport(records) {
  const runs = list(records).filter(isObject).map(runOfRecord);
  return runs.length ? { prompt: null, runs, saved: true } : null;
}

function newRun() {
  return {
    state: "planned", // then "running" or "refused", and "done"; or "off"
    planned: [], // for each step of the schedule whether it is full
    isOpen: false, // whether a method decides on the other steps when they come
    schedule: "",
    origin: "", // why that schedule
    reason: "", // why all of it is computed in full, if it is
    kinds: [], // for each step what happened, "refused" where a cached one was computed in full
    fitting: "", // words on the weights that are being fitted before or after it, until its next event
    learned: "", // name of what the node has learned for it before
    isLearnable: false, // whether learning could help it
  };
}

function runAfterEvent(run, event) {
  if (event.state === "done" && isObject(event.record)) {
    const { learned, isLearnable } = run; // records have no such thing
    const origin = text(event.record.origin) || run.origin;
    return { ...runOfRecord(event.record), origin, learned, isLearnable };
  }
  if (event.state === "running" && isCount(event.step, MOST_STEPS) && KINDS.includes(event.kind)) {
    const kinds = [...run.kinds];
    kinds[event.step] = event.kind;
    return { ...run, state: run.state === "refused" ? "refused" : "running", kinds };
  }
  if (event.state === "planned") {
    const [schedule, isOpen] = [text(event.schedule), event.is_open === true];
    const [learned, isLearnable] = [text(event.learned), event.learnable === true];
    const planned = planOf(schedule);
    return { ...newRun(), planned, isOpen, schedule, origin: text(event.origin), learned, isLearnable };
  }
  if (event.state === "fitting") return { ...run, fitting: text(event.line) };
  if (event.state === "off") return { ...newRun(), state: "off" };
  if (event.state === "refused") return { ...newRun(), state: "refused", reason: text(event.line) };
  return run;
}

function runOfRecord(record) {
  const schedule = text(record.schedule);
  const kinds = [];
  for (const kind of KINDS) {
    for (const step of steplist(record[`${kind}_steps`])) kinds[step] = kind; // refused comes last
  }
  return {
    ...newRun(),
    state: "done",
    planned: planOf(schedule),
    isOpen: Boolean(text(record.gate)),
    schedule,
    origin: text(record.origin),
    kinds,
    figures: {
      fullSeconds: numbers(record.full_seconds),
      cachedSeconds: numbers(record.cached_seconds),
      speedup: amount(record.speedup),
      ideal: amount(record.ideal_speedup),
      bytes: amount(record.cache_bytes),
      sigmas: numbers(record.sigmas),
      values: list(record.gate_values).map((value) => (Number.isFinite(value) ? value : null)),
      policy: text(record.policy),
      family: text(record.family),
      site: text(record.site),
      notes: list(record.notes).map(text).filter(Boolean),
    },
  };
}

/**
 * One cell a step: what happened there, or "waiting"; `plan` is what the schedule says, "open" where
 * a method decides. `value` is what the method compared with its threshold, null where it computed
 * in any case, undefined where that is not known.
 */
export function cells(run) {
  return steps(run).map((step) => ({
    step,
    kind: run.kinds[step] ?? "waiting",
    plan: run.planned[step] ? "full" : run.isOpen ? "open" : "cached",
    sigma: run.figures?.sigmas[step],
    value: run.kinds[step] && run.figures?.values[step],
  }));
}

/** Whether a run has ended with all of its steps done. */
export function isWhole(run) {
  return run.state === "done" && counts(run).reached === length(run);
}

/** The text of a run's schedule, as far as there is one: a method makes it step by step. */
export function scheduleOf(run) {
  return run.isOpen && !isWhole(run) ? "" : run.schedule;
}

/** How many steps the run has, as far as is known. */
export function length(run) {
  return steps(run).length;
}

/**
 * The steps that are shown. A sampler that a run is computed in full for may take steps of its own,
 * few of which are on the grid: only what was reached is known.
 */
function steps(run) {
  const isOwn = ["done", "refused"].includes(run.state) && run.planned.every(Boolean);
  const all = Array.from({ length: Math.max(run.planned.length, run.kinds.length) }, (_, n) => n);
  return isOwn ? all.filter((step) => run.kinds[step]) : all;
}

/** How many cells are in a row, so that all rows are about equally long. */
export function columns(count, most = 60) {
  return Math.ceil(count / Math.ceil(count / most)) || 1;
}

/** How many steps are of each kind. */
export function counts(run) {
  const of = (kind) => run.kinds.filter((k) => k === kind).length;
  const found = { full: of("full"), cached: of("cached"), refused: of("refused") };
  return { ...found, reached: found.full + found.cached + found.refused };
}

/** A duration in at most three digits: "8 ms", "0.17 s", "12.3 s", "3 min 20 s". */
export function seconds(value) {
  if (value < 0.0995) return `${Math.round(value * 1000)} ms`;
  if (value < 9.95) return `${value.toFixed(value < 0.995 ? 2 : 1)} s`;
  if (value < 59.5) return `${Math.round(value)} s`;
  const whole = Math.round(value);
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

/** A size in memory: "0.1 MiB", "24 MiB", "1.9 GiB". */
export function mebibytes(bytes) {
  const mib = bytes / 2 ** 20;
  if (mib >= 1000) return `${(mib / 1024).toFixed(1)} GiB`;
  return `${mib.toFixed(mib < 9.95 ? 1 : 0)} MiB`;
}

export function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

function isObject(value) {
  return typeof value === "object" && value !== null;
}

function isCount(value, limit) {
  return Number.isInteger(value) && value >= 0 && value < limit;
}

function numbers(values) {
  return list(values).filter(Number.isFinite);
}

function steplist(values) {
  return list(values).filter((step) => isCount(step, MOST_STEPS));
}
