/**
 * The last comparison of a node, which its workflow keeps as the name of a file: figures and names of
 * pictures are in ComfyUI's folder for temporary files, which it empties when it starts.
 */

import * as host from "../shared/host.js";
import { keep } from "../shared/memory.js";

const PROPERTY = "golden_path_comparison";
const SUBFOLDER = "golden_path"; // as in nodes/compare/comparison_files.py

/** Comparisons by file: an undo shows them at once. */
const known = new Map();

/**
 * @param {object} node
 * @param {{show: (comparison: object) => void, lose: () => void}} panel `lose` if the file cannot be shown
 * @returns {(comparisons: [object]) => void} takes that of a run
 */
export function keeping(node, panel) {
  let latest;

  host.chain(node, "onConfigure", async () => {
    const filename = node.properties[PROPERTY];
    if (typeof filename !== "string" || filename === latest) return;
    latest = filename;
    try {
      const found = known.get(filename) ?? (await host.temporaryJson({ filename, subfolder: SUBFOLDER }));
      if (latest !== filename) return; // it has run meanwhile
      if (!found) return panel.lose();
      panel.show(found);
      known.set(filename, found);
    } catch { // no answer, or a file that holds no comparison
      if (latest === filename) panel.lose();
    }
  });

  return ([comparison]) => {
    known.delete(latest);
    latest = comparison.file;
    known.set(latest, comparison);
    keep(node, PROPERTY, latest);
    panel.show(comparison);
  };
}
