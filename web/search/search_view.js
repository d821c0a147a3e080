/**
 * What the panel of Schedule Search shows, as plain data: no page, no ComfyUI. Events and outputs
 * come from the network: whatever is not of the expected type is left out.
 */

import { parse } from "../editor/schedule.js";
import { METRICS, digits } from "../shared/metrics.js";

/** What Python says; "stopped" and "failed" are the page's own: nobody tells the node. */
const RUNNING = ["preparing", "searching", "validating"];
const STATES = [...RUNNING, "done"];

/** What a worker does, in the words of Python. */
export const DOING = [
  "loading",
  "checking",
  "references",
  "scoring",
  "fitting",
  "waiting",
  "lost",
];

// By objective: how it is written, its unit, and whether its score is a distance with its sign
// changed, since a search maximizes.
const UNITS = {
  ...Object.fromEntries(Object.values(METRICS).map((metric) => [metric.title, metric])),
  "PSNR and LPIPS": { write: (value) => `${value > 0 ? "+" : ""}${value.toFixed(2)}`, unit: " σ" },
};
const OTHER_UNIT = { write: digits };

/**
 * @typedef {object} Search
 * @property {unknown} prompt
 * @property {"preparing"|"searching"|"validating"|"done"|"stopped"|"failed"} state
 * @property {string} unit the objective's name
 * @property {number} used part of the budget, 0 to 1
 * @property {number} scored schedules
 * @property {number} perMinute of them
 * @property {string} best text of the best schedule, empty if there is none yet
 * @property {boolean[]} plan for each of its steps whether it is full
 * @property {string} policy
 * @property {number} [score] of the best schedule
 * @property {number[]} part full runs or compared schedules, done and all; may be empty
 * @property {[number, number][]} curve pairs of schedules scored and best score
 * @property {boolean} isValidated whether the score is that on the validation examples
 * @property {string} table
 * @property {{worker: number, doing: string, rate: number}[]} workers what each does, and its full
 *   steps per minute
 */

/** The search after an event of `golden_path.search`, or of a node's output; null if it is none. */
export function searchOf(facts) {
  if (facts === null || typeof facts !== "object" || !STATES.includes(facts.state)) return null;
  const best = text(facts.best);
  return {
    prompt: facts.prompt_id,
    state: facts.state,
    unit: text(facts.unit),
    used: Math.min(1, amount(facts.used)),
    scored: Math.floor(amount(facts.scored)),
    perMinute: amount(facts.per_minute),
    best,
    plan: planOf(best),
    policy: text(facts.policy),
    score: Number.isFinite(facts.score) ? facts.score : undefined,
    part: isPoint(facts.part) ? facts.part : [],
    curve: (Array.isArray(facts.curve) ? facts.curve : []).filter(isPoint),
    isValidated: facts.is_validated === true,
    table: text(facts.table),
    workers: (Array.isArray(facts.workers) ? facts.workers : []).filter(isWorker),
  };
}

/** The search after its prompt ended before it; what is done stays so. */
export function ended(search, state) {
  return RUNNING.includes(search.state) ? { ...search, state, workers: [] } : search;
}

/** A score with its unit, a distance with its own sign: "31.42 dB", "0.0512". */
export function scoreText({ unit }, score) {
  const { write, unit: sign = "", isDistance } = UNITS[unit] ?? OTHER_UNIT;
  return write(isDistance ? 0 - score : score) + sign; // 0 - 0 has no sign
}

/** Whether the objective is a distance. */
export function isLowerBetter({ unit }) {
  return Boolean(UNITS[unit]?.isDistance);
}

/** "0.8", "12": no more digits than the figure is sure of. */
export function rate(perMinute) {
  return perMinute.toFixed(perMinute < 9.95 ? 1 : 0);
}

/** Whole percents, 100 only when all is used. */
export function percent(part) {
  return Math.floor(100 * part + 1e-9); // 0.29 * 100 is less than 29
}

/**
 * The best score over scored schedules as corners of a step curve, both axes from 0 to 1, y
 * upwards; null before there is a score.
 * @param {Search} search
 * @returns {{corners: [number, number][], first: number, last: number} | null}
 */
export function stepCurve({ curve, scored }) {
  if (!curve.length) return null;
  const [[begin, first], [latest, last]] = [curve[0], curve.at(-1)];
  const end = Math.max(scored, latest);
  const across = (count) => (end > begin ? (count - begin) / (end - begin) : 0);
  const up = (score) => (last > first ? (score - first) / (last - first) : 0.5);
  const corners = curve.flatMap(([count, score], n) => {
    const before = n ? [[across(count), up(curve[n - 1][1])]] : [];
    return [...before, [across(count), up(score)]];
  });
  return { corners: [...corners, [1, up(last)]], first, last };
}

function planOf(schedule) {
  try {
    return parse(schedule);
  } catch {
    return []; // the text is shown all the same
  }
}

function isPoint(pair) {
  return Array.isArray(pair) && pair.length === 2 && pair.every(Number.isFinite);
}

function isWorker(row) {
  return Number.isInteger(row?.worker) && DOING.includes(row.doing) && Number.isFinite(row.rate);
}

function amount(value) {
  return Number.isFinite(value) && value > 0 ? value : 0;
}

function text(value) {
  return typeof value === "string" ? value : "";
}
