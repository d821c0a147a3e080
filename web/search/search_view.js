/**
 * What the panel of Schedule Search shows, as plain data: no page, no ComfyUI. Events and outputs
 * come from the network: whatever is not of the expected type is left out.
 */

import { METRICS, digits, writer } from "../shared/metrics.js";
import { amount, list, planOf, text } from "../shared/untrusted.js";

/** What Python says; "stopped" and "failed" are the page's own: nobody tells the node. */
const RUNNING = ["preparing", "searching", "validating"];
const STATES = [...RUNNING, "done"];

/** What a worker does, in the words of Python. */
export const DOING = ["loading", "checking", "references", "scoring", "fitting", "waiting", "lost"];

// What a search maximizes that is no metric of the table, as gph_core/quality/objective.py has it.
const OTHERS = [
  { title: "PSNR up to 40 dB", unit: " dB", write: writer("{:.2f}") },
  { title: "hardly visible", unit: " %", write: writer("{:.1f}") },
  { title: "PSNR and LPIPS", unit: " σ", write: writer("{:+.2f}") },
];

/** How scores of an objective are written; those of a distance have their sign changed. */
function objectiveOf({ unit }) {
  const known = [...OTHERS, ...Object.values(METRICS)].find(({ title }) => title === unit);
  return known ?? { unit: "", write: digits };
}

/** The search after an event of `golden_path.search`, or of a node's output; null if it is none. */
export function searchOf(facts) {
  if (facts === null || typeof facts !== "object" || !STATES.includes(facts.state)) return null;
  const best = text(facts.best);
  return {
    prompt: facts.prompt_id,
    state: facts.state,
    unit: text(facts.unit), // the objective's name
    used: Math.min(1, amount(facts.used)), // part of the budget
    scored: Math.floor(amount(facts.scored)), // schedules
    perMinute: amount(facts.per_minute),
    best, // schedule
    plan: planOf(best),
    policy: text(facts.policy),
    score: Number.isFinite(facts.score) ? facts.score : undefined, // of the best schedule
    part: isPoint(facts.part) ? facts.part : [], // full runs or compared schedules, done and all
    curve: list(facts.curve).filter(isPoint), // schedules scored and best score
    isValidated: facts.is_validated === true, // whether the score is that on the validation examples
    table: text(facts.table),
    workers: list(facts.workers).filter(isWorker), // what each does, and its full steps per minute
    left: Number.isFinite(facts.left) ? Math.max(0, facts.left) : undefined, // seconds, estimated
    examples: amount(facts.examples), // that schedules are scored on
  };
}

/** The search after its prompt ended before it; what is done stays so. */
export function ended(search, state) {
  return isRunning(search) ? { ...search, state, workers: [] } : search;
}

export function isRunning({ state }) {
  return RUNNING.includes(state);
}

/** An estimated duration: "1 min" at least, "12 min", "2 h 10 min". */
export function roughly(seconds) {
  const minutes = Math.max(1, Math.round(seconds / 60));
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** A score with its unit, a distance with its own sign: "31.42 dB", "0.0512". */
export function scoreText(search, score) {
  const { write, unit, isDistance } = objectiveOf(search);
  return write(isDistance ? 0 - score : score) + unit; // 0 - 0 has no sign
}

/** Whether the objective is a distance. */
export function isLowerBetter(search) {
  return Boolean(objectiveOf(search).isDistance);
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

function isPoint(pair) {
  return Array.isArray(pair) && pair.length === 2 && pair.every(Number.isFinite);
}

function isWorker(row) {
  return Number.isInteger(row?.worker) && DOING.includes(row.doing) && Number.isFinite(row.rate);
}
