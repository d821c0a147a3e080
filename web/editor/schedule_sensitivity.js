// The sensitivity curve that the Schedule Editor draws over its cells: where an error grows most.

/** @param {() => boolean} isConnected whether the node's sensitivity input has a wire */
export function createSensitivity(isConnected) {
  let given = null; // as the last run knew it: a value for each step, null where none was measured
  const connected = () => (isConnected() ? given : null);

  return {
    /** What to draw over so many cells; null if nothing is connected or it has other steps. */
    shown: (count) => (connected()?.length === count ? given : null),
    /** Of how many steps the connected curve is, if not of so many. */
    otherSteps: (count) => (connected() && connected().length !== count ? connected().length : undefined),
    /** The node was executed. */
    executed: (output) => (given = output?.gph_sensitivity?.at(-1) ?? null),
  };
}

/**
 * The curve through the middles of the cells, as a path in a box of one unit a step and the height 1;
 * the highest value is at 0.06. A step without a value leaves a gap.
 * @param {(number | null)[]} values
 */
export function sensitivityPath(values) {
  const most = Math.max(...values.filter(Number.isFinite), Number.MIN_VALUE);
  const at = (value, step) => `${step + 0.5} ${1 - (0.94 * Math.max(0, value)) / most}`;
  const begins = (step) => (values[step - 1] ?? null) === null;
  return values
    .map((value, step) => (value === null ? "" : `${begins(step) ? "M" : "L"}${at(value, step)}`))
    .join("");
}
