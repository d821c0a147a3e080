/** What the tables of Quality Compare, Compare Run and Method Shootout say. Needs no page. */

import { parse } from "../editor/schedule.js";
import { METRICS } from "../shared/metrics.js";

export const IDENTICAL = "identical"; // in the place of infinity, as in gph_core/quality/comparison.py

/** What stands beside the mean of several PSNRs, as gph_core/reports/tallies.py has it: writers by key. */
export const TALLY = {
  worst_tenth: (psnr, say) => cell("psnr", psnr?.worst_tenth ?? undefined, say),
  hardly_visible: (psnr) => (psnr ? `${Math.round(100 * psnr.hardly_visible)}\u00a0%` : "–"),
};

/**
 * @typedef {object} Table
 * @property {string} kind what a row is, as a key
 * @property {string} [caption] its key, if it is not that of images
 * @property {{key: string, network: string}[]} columns
 * @property {{label: string, isMain: boolean, cells: string[]}[]} rows
 * @property {{key: string, values: object}[]} notes what the figures do not say
 * @property {{label: string, plan: boolean[], share: string, title: string}[]} [strips] schedules: for each
 *   step whether it is full
 */

/**
 * Each image; the mean of several stands first.
 * @param {object} report as nodes/compare/quality_compare.py sends it
 * @param {(key: string, values?: object) => string} say
 * @returns {Table}
 */
export function table(report, say) {
  const { metrics, images } = report;
  const keys = Object.keys(METRICS).filter((key) => metrics[key]);
  const row = (label, isMain, valueOf) => ({ label, isMain, cells: keys.map((key) => cell(key, valueOf(key), say)) });
  const rows = Array.from({ length: images }, (_, n) => row(String(n + 1), false, (key) => valueAt(metrics, key, n)));
  if (images > 1) rows.unshift(row(say("quality.mean"), true, (key) => metrics[key].mean));
  return { kind: "image", columns: columns(keys, report), rows, notes: notes(report, say) };
}

/**
 * Each run, with the means of its images; the one closest to the full run is the main one.
 * @param {object} report as gph_core/reports/compare_report.py makes it
 * @param {(key: string, values?: object) => string} say
 * @returns {Table}
 */
export function runsTable(report, say) {
  const { runs, speed, closest, absent, unavailable } = report;
  const measured = Object.keys(METRICS).filter((key) => key !== "psnr_8bit" && runs[1].metrics[key]);
  const label = ({ name, steps }) => say(`quality.run.${name}`, { speed, steps });
  const clips = runs[1].clips?.psnr;
  const ofClips = clips ? ["clip_psnr", ...tallyOf(clips)] : [];
  const ofItems = withTally(measured, runs[1].metrics.psnr);
  const rows = runs.map((run) => ({
    label: label(run),
    isMain: run.name === closest,
    cells: [
      say("quality.of", run), run.seconds.toFixed(2), `${run.speedup.toFixed(2)}×`,
      ...ofItems.map((key) => TALLY[key]?.(run.metrics.psnr, say) ?? cell(key, run.metrics[key]?.mean, say)),
      ...ofClips.map((key) => TALLY[key]?.(run.clips.psnr, say) ?? cell("psnr", run.clips.psnr?.mean, say)),
    ],
  }));
  const found = [
    { key: "quality.closest", values: { run: label(runs.find(({ name }) => name === closest)) } },
    { key: "quality.path", values: { ...report, schedule: runs[1].schedule } },
    { key: "quality.times", values: {} },
    ...runs.flatMap((run) => run.notes.map((note) => ({ key: "quality.runNote", values: { run: label(run), note } }))),
    ...absentees(absent),
    ...missing(unavailable, say),
  ];
  const keys = ["full_steps", "seconds", "speedup", ...ofItems, ...ofClips];
  return { kind: "run", columns: columns(keys, report), rows, notes: found };
}

/**
 * Each method of a shootout, so far or at the end; the best one is the main one.
 * @param {object} report as nodes/shootout/shootout_live.py sends it, best first behind the full run
 * @param {(key: string, values?: object) => string} say
 * @returns {Table}
 */
export function methodsTable(report, say) {
  const { rows: methods, metric, absent, unavailable } = report;
  const measured = Object.keys(METRICS).filter((key) => methods[1]?.metrics[key]);
  const ofExamples = withTally(measured, methods[1]?.metrics.psnr);
  const leads = methods.some(({ ahead }) => ahead[metric]) ? ["ahead"] : [];
  const label = (row) => (row.comparable ? row.name : say("quality.incomparable", row));
  const rows = methods.map((row, n) => ({
    label: label(row),
    isMain: n === 1 && row.comparable && Boolean(metric),
    cells: [
      cached(row, say), row.seconds.toFixed(2), `${row.speedup.toFixed(2)}×`,
      ...ofExamples.map((key) => TALLY[key]?.(row.metrics.psnr, say) ?? withReach(key, row.metrics[key], say)),
      ...leads.map(() => (row.ahead[metric]?.mean > 0 ? "+" : "") + withReach(metric, row.ahead[metric], say)),
    ],
  }));
  const found = [
    { key: "quality.medians", values: {} },
    ...methods.filter(({ comparable }) => !comparable).map(({ name, full }) => (
      { key: "quality.otherCount", values: { name, full: +full.toFixed(1), wanted: report.full_steps } }
    )),
    ...methods.flatMap(({ name, notes, metrics, runs }) => (
      [...notes, ...identical(metrics, runs, say).map(({ key, values }) => say(key, values))]
        .map((note) => ({ key: "quality.runNote", values: { run: name, note } }))
    )),
    ...absentees(absent),
    ...missing(unavailable, say),
  ];
  const keys = ["cached", "seconds", "speedup", ...ofExamples, ...leads];
  const strips = methods.flatMap((row) => row.schedules.map(({ schedule, share }, n) => ({
    label: n ? "" : label(row),
    plan: parse(schedule),
    share: `${Math.round(100 * share)} %`,
    title: [schedule, row.policy, row.origin].filter(Boolean).join("; "),
  })));
  const caption = report.examples < report.of_examples ? "methodsSoFar" : "methods";
  return { kind: "method", caption, columns: columns(keys, report), rows, notes: found, strips };
}

/** Who is left out and why, those with the same reason together; some reasons begin with the name. */
function absentees(absent) {
  const reasons = [...new Set(Object.values(absent))];
  return reasons.map((reason) => {
    const names = Object.keys(absent).filter((name) => absent[name] === reason).join(", ");
    return { key: "quality.absent", values: { reason: reason.startsWith(`${names} `) ? reason : `${names}: ${reason}` } };
  });
}

function cached({ cached: { mean, spread }, steps }, say) {
  const varies = spread ? ` ± ${spread.toFixed(1)}` : "";
  return say("quality.cachedOf", { cached: `${+mean.toFixed(1)}${varies}`, steps });
}

/** A mean with half its interval. */
function withReach(key, figures, say) {
  const text = cell(key, figures?.mean ?? undefined, say);
  if (!Number.isFinite(figures?.low)) return text;
  return `${text} ± ${cell(key, figures.mean - figures.low, say).replace("+", "")}`;
}

/** Keys of what stands beside the mean of a PSNR; none for a single image. */
export function tallyOf(psnr) {
  return "worst_tenth" in psnr ? Object.keys(TALLY) : [];
}

/** The metrics, with the columns of a tally behind PSNR. */
function withTally(metrics, psnr) {
  return metrics.flatMap((key) => (key === "psnr" ? [key, ...tallyOf(psnr)] : [key]));
}

function columns(keys, report) {
  return keys.map((key) => ({ key, network: networkOf(key, report) }));
}

/** A change between frames n − 1 and n stands at frame n; the first has none. */
function valueAt(metrics, key, n) {
  return metrics[key].values[METRICS[key].isOfFrames ? n - 1 : n];
}

/** A value as a table writes it. */
export function cell(key, value, say) {
  if (value === undefined) return "–";
  if (value === IDENTICAL) return say("quality.identical");
  return METRICS[key].write(value);
}

function networkOf(key, report) {
  return METRICS[key]?.needsNetwork ? report.lpips_network : "";
}

function notes({ metrics, images, unavailable, heat_map }, say) {
  const scale = { key: "quality.scale", values: { to: +heat_map.to.toPrecision(3) } };
  return [...identical(metrics, images, say), ...missing(unavailable, say), scale];
}

/** Images that a mean leaves out, unless it leaves out all. */
function identical(metrics, images, say) {
  return Object.entries(metrics)
    .filter(([, { identical: count }]) => count && count !== images)
    .map(([key, { identical: count }]) => (
      { key: "quality.others", values: { metric: say(`quality.${key}`), count, images } }
    ));
}

function missing(unavailable, say) {
  return Object.entries(unavailable).map(([key, reason]) => (
    { key: "quality.unavailable", values: { metric: say(`quality.${key}`), reason } }
  ));
}
