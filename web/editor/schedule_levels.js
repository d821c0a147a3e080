// Which noise levels the Schedule Editor draws over its cells, and where they come from.

import { nominalLevels } from "./schedule_answers.js";

/** @param {() => boolean} isConnected whether the node's SIGMAS input has a wire */
export function createLevels(isConnected) {
  let exact = null; // of the last run of a connected cache, {levels, key}
  let given = null; // of the connected SIGMAS, as the last run knew them

  const key = (around, count) => `${around.scheduler} ${around.steps} ${count}`;

  /** The connected ones; null without a wire or a run. */
  const connected = () => (isConnected() ? given : null);

  /** What to draw over so many cells and the key of its name, the most certain first. */
  function shown(around, count) {
    if (exact && exact.key === key(around, count)) return { levels: exact.levels, key: "curveExact" };
    if (connected()?.length === count + 1) return { levels: given, key: "curveNode" };
    const { scheduler } = around;
    const levels = nominalLevels(scheduler, count);
    return levels ? { levels, key: "curveNominal", values: { scheduler } } : {};
  }

  return {
    connected,
    shown,
    /** A run under these cells had these levels; they stand until the sampler's settings change. */
    ran: (levels, around, count) => (exact = { levels, key: key(around, count) }),
    /** The node was executed. */
    executed: (output) => (given = output?.gph_sigmas?.at(-1) ?? null),
  };
}
