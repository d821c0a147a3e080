/** What the server knows about a schedule: nominal noise levels, and what a policy makes of it. */

import * as host from "../shared/host.js";
import { format } from "./schedule.js";

/** Nominal noise levels by scheduler and steps, null where there are none; they never change. */
const nominal = new Map();

/** The nominal noise levels of a scheduler, if the server was asked for them and knows it. */
export function nominalLevels(scheduler, steps) {
  return nominal.get(`${scheduler} ${steps}`) ?? null;
}

/**
 * Ask the server about a schedule among these nodes.
 * @param {import("../shared/links.js").Surroundings} around
 * @param {boolean[]} cells
 * @returns {Promise<{policyError?: string | null, failure?: string}>} `failure`: no answer
 */
export async function askServer({ policy, scheduler }, cells) {
  try {
    if (typeof scheduler === "string") await fetchLevels(scheduler, cells.length);
    if (!policy) return {};
    const { error } = await host.ask("/check", { body: { schedule: format(cells), policy } });
    return { policyError: error };
  } catch (reason) {
    return { failure: reason.message };
  }
}

async function fetchLevels(scheduler, steps) {
  const key = `${scheduler} ${steps}`;
  if (nominal.has(key)) return;
  try {
    const query = new URLSearchParams({ scheduler, steps });
    nominal.set(key, (await host.ask(`/sigmas?${query}`)).sigmas);
  } catch (reason) {
    if (reason.status !== 400) throw reason;
    nominal.set(key, null); // a scheduler that cannot be asked without its model
  }
}
