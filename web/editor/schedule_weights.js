/** Memory of an editor: the path with fitted weights that its schedule was taken from. */

import { format } from "./schedule.js";

const TAKEN = "gph_fitted"; // a property of the node: kept in the workflow

/**
 * What has become of the fitted weights of the path that a schedule was taken from, as a warning.
 * @param {boolean[]} cells
 * @param {{path: string, schedule: string}} [taken]
 * @param {{hasPolicy?: boolean, policy?: object, policyError?: string}} [around]
 * @returns {[string, object] | undefined} the name of a string and its values
 */
export function lost(cells, taken, { hasPolicy = false, policy, policyError } = {}) {
  const isOther = policy && policy.path !== taken?.path;
  if (!taken || isOther || (hasPolicy && !policyError)) return undefined;
  return [format(cells) === taken.schedule ? "weightsApart" : "weightsLost", taken];
}

/** @param {object} node */
export function createWeights(node) {
  return {
    /** Remember a path of the library; one without weights, or null, forgets the former one. */
    take(path) {
      if (path?.fitted) node.properties[TAKEN] = { path: path.fitted, schedule: path.schedule };
      else delete node.properties[TAKEN];
    },
    taken: () => node.properties[TAKEN],
  };
}
