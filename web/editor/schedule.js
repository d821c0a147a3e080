/**
 * What the Schedule Editor does to a schedule, without a page.
 *
 * A schedule is an array of one boolean a step, `true` = full. Step 0 is always full: before it
 * there is nothing to predict from. No function changes its argument.
 *
 * @typedef {boolean[]} Cells
 */

import { texts } from "../shared/strings.js";

const MAX_STEPS = 10_000; // as gph_core/schedule_text.py
const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g;

/** A text that is no schedule. The message is Python's; `say` translates it. */
export class ScheduleError extends Error {
  constructor(key, values = {}) {
    super(texts("en")(`schedule.${key}`, values));
    this.say = (t) => t(`schedule.${key}`, Object.fromEntries(Object.entries(values).map(shortened)));
  }
}

const MOST_QUOTED = 80; // characters: any text may have been pasted

function shortened([name, value]) {
  const isLong = typeof value === "string" && value.length > MOST_QUOTED;
  return [name, isLong ? `${value.slice(0, MOST_QUOTED)}…` : value];
}

/**
 * Read `0-3,5,8/50` (full steps, then N) or a bit string, `1` = cached, as `Schedule.parse` of
 * gph_core/schedule.py does, with the same reasons.
 * @param {string} text
 * @returns {Cells}
 * @throws {ScheduleError}
 */
export function parse(text) {
  const compact = text.replace(SPACE, "");
  const quoted = quote(text);
  if (/^[01]+$/.test(compact)) return checked([...compact].map((bit) => bit === "0"));
  const slash = compact.indexOf("/");
  if (slash < 0) throw new ScheduleError("noCount", { text: quoted });
  const count = number(compact.slice(slash + 1), quoted);
  if (count > MAX_STEPS) {
    throw new ScheduleError("tooMany", { text: quoted, count, most: MAX_STEPS });
  }
  const cells = Array(Number(count)).fill(false);
  for (const part of compact.slice(0, slash).split(",")) {
    const dash = part.indexOf("-");
    const begin = number(dash < 0 ? part : part.slice(0, dash), quoted);
    const end = dash < 0 ? begin : number(part.slice(dash + 1), quoted);
    if (end < begin) {
      throw new ScheduleError("backwards", { part: quote(part), text: quoted, begin, end });
    }
    if (end >= count) {
      throw new ScheduleError("outside", { text: quoted, step: end, count, last: count - 1n });
    }
    cells.fill(true, Number(begin), Number(end) + 1);
  }
  return checked(cells);
}

/** The canonical text: full steps, then N. */
export function format(cells) {
  const runs = [];
  for (let step = 0; step < cells.length; step++) {
    if (!cells[step]) continue;
    const begin = step;
    while (cells[step + 1]) step++;
    runs.push(begin === step ? `${begin}` : `${begin}-${step}`);
  }
  return `${runs.join(",")}/${cells.length}`;
}

/** The steps from a to b, in either direction, without step 0. */
export function between(a, b) {
  const first = Math.max(1, Math.min(a, b));
  return Array.from({ length: Math.max(0, Math.max(a, b) - first + 1) }, (_, i) => first + i);
}

/** The steps before the first percentage of a run and from the second one; step n of N is at n / N. */
export function endsOf(count, start, end) {
  return between(1, count - 1).filter((step) => 100 * step < start * count || 100 * step >= end * count);
}

/**
 * Make steps full or cached. Locked, the number of full steps stays: for every step that changes,
 * the nearest other one (the earlier of two) changes the other way; where none is left, the step
 * stays as it is.
 * @param {Cells} cells
 * @param {number[]} steps step 0 is left out
 * @param {boolean} full
 * @param {boolean} [locked]
 * @returns {Cells}
 */
export function change(cells, steps, full, locked = false) {
  const result = [...cells];
  const chosen = new Set([0, ...steps]);
  for (const step of steps) {
    if (step === 0 || result[step] === full) continue;
    if (locked) {
      const other = nearest(result, step, full, chosen);
      if (other === undefined) continue;
      result[other] = !full;
    }
    result[step] = full;
  }
  return result;
}

/** The schedule with the full step `from` at `to` instead; unchanged where that cannot be. */
export function move(cells, from, to) {
  if (from === 0 || !cells[from] || cells[to] !== false) return cells;
  const result = [...cells];
  [result[from], result[to]] = [false, true];
  return result;
}

/** Full and cached exchanged on these steps. */
export function invert(cells, steps) {
  const result = [...cells];
  for (const step of steps) if (step !== 0) result[step] = !cells[step];
  return result;
}

/** These consecutive steps moved by one, the one that falls off comes in at the other end. */
export function shift(cells, steps, by) {
  const result = [...cells];
  const n = steps.length;
  steps.forEach((step, i) => (result[steps[(i + by + n) % n]] = cells[step]));
  return result;
}

/** Cut, or lengthened by full steps, which never make a run worse. */
export function resize(cells, numSteps) {
  return Array.from({ length: numSteps }, (_, step) => cells[step] ?? true);
}

/** The figures of a schedule. `longest` is the longest run of cached steps. */
export function readout(cells) {
  const numFull = cells.filter(Boolean).length;
  let [longest, run] = [0, 0];
  for (const full of cells) longest = Math.max(longest, (run = full ? 0 : run + 1));
  return {
    numSteps: cells.length,
    numFull,
    numCached: cells.length - numFull,
    ratio: 1 - numFull / cells.length,
    speedup: cells.length / numFull, // if a cached step cost nothing
    longest,
  };
}

/**
 * What is worth a warning, as pairs of a string's name and its values.
 * @param {Cells} cells
 * @param {{samplerSteps?: number, policyError?: string, speed?: string}} [known] of the connected
 *   nodes
 */
export function warnings(cells, { samplerSteps, sensitivitySteps, policyError, speed = "Custom" } = {}) {
  const found = [];
  if (speed !== "Custom") found.push(["unused", { speed }]);
  if (samplerSteps !== undefined && samplerSteps !== cells.length) {
    found.push(["otherSteps", { steps: samplerSteps, count: cells.length }]);
  }
  if (sensitivitySteps !== undefined) {
    found.push(["otherSensitivity", { steps: sensitivitySteps, count: cells.length }]);
  }
  if (policyError) found.push(["policy", { reason: policyError }]);
  if (!cells.at(-1)) found.push(["lastCached", { step: cells.length - 1 }]);
  return found;
}

/**
 * The outline of the curve above the cells, as points `[x, y]`: a step is 1 wide, y runs from 0
 * (the highest noise level) to 1 (none).
 * @param {number[]} sigmas N + 1 levels
 */
export function curve(sigmas) {
  const most = Math.max(...sigmas);
  return sigmas.map((sigma, step) => [step, most > 0 ? 1 - sigma / most : 1]);
}

function nearest(cells, step, full, except) {
  for (let distance = 1; distance < cells.length; distance++) {
    for (const other of [step - distance, step + distance]) {
      if (cells[other] === full && !except.has(other)) return other;
    }
  }
  return undefined;
}

function checked(cells) {
  if (!cells[0]) throw new ScheduleError("firstCached");
  return cells;
}

// A typing error can be longer than a JavaScript number is exact.
function number(digits, quoted) {
  if (!/^[0-9]+$/.test(digits)) {
    throw new ScheduleError("notANumber", { part: quote(digits), text: quoted });
  }
  return BigInt(digits);
}

/** A text as Python quotes it. */
function quote(text) {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  const named = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", [mark]: `\\${mark}` };
  const escaped = [...text].map((character) => {
    if (named[character]) return named[character];
    if (character === " " || !/[\p{C}\p{Z}]/u.test(character)) return character;
    const code = character.codePointAt(0);
    const [letter, width] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
    return `\\${letter}${code.toString(16).padStart(width, "0")}`;
  });
  return `${mark}${escaped.join("")}${mark}`;
}
