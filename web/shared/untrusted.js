/** Values from files and the network: what is not of the expected type counts as none. No page. */

import { parse } from "../editor/schedule.js";

export const text = (value) => (typeof value === "string" ? value : "");
export const amount = (value) => (Number.isFinite(value) && value > 0 ? value : 0);
export const list = (value) => (Array.isArray(value) ? value : []);

/** For each step of a schedule whether it is full; empty if the text is no schedule. */
export function planOf(schedule) {
  try {
    return parse(schedule);
  } catch {
    return []; // the text is shown all the same
  }
}
