/** What the end of a prompt means for the pack's nodes in it, as plain data: no page, no ComfyUI. */

export const CACHES = ["GPH_Cache", "GPH_AdaptiveCache"];
const OURS = "GPH_";
const MODELS = ["MODEL", "GUIDER"];

/**
 * What kept a node from its result. Without `words` the user cancelled.
 * @typedef {{state: "failed"|"notRun"|"refused"|"cancelled", words: string, at: string, prompt?: string}} Failure
 */

/** What the server refuses about nodes of ours, by node. @returns {Map<string, Failure>} */
export function refusals(nodes, errors) {
  const ours = Object.entries(errors).filter(([id]) => isOurs(nodes[id]));
  return new Map(ours.map(([id, { errors: found }]) => [id, { state: "refused", words: reasons(found), at: "" }]));
}

/**
 * What an error or a cancellation means for nodes of ours, by node: for the one that failed, and for
 * each cache whose model was to be sampled and was not.
 * @param {Record<string, {class_type: string, inputs: object}>} nodes of the prompt
 * @param {{prompt_id: string, node_id: string, node_type: string, executed: string[],
 *   exception_message?: string}} end ComfyUI's event
 * @param {string[]} cached nodes whose results ComfyUI had already
 * @param {(kind: string) => string[]} typesOf the types of the outputs of a kind of node
 * @returns {Map<string, Failure>}
 */
export function failures(nodes, end, cached, typesOf) {
  const failed = String(end.node_id);
  const done = new Set([...(end.executed ?? []), ...cached].map(String));
  const words = end.exception_message?.trim() ?? "";
  const failure = (state) => ({ state, words, at: end.node_type, prompt: end.prompt_id });
  const found = new Map();
  for (const [id, { class_type: kind }] of Object.entries(nodes)) {
    if (done.has(id) || CACHES.includes(kind)) continue; // a cache is told by what it feeds
    for (const cache of cachesOf(nodes, id, typesOf)) {
      found.set(cache, failure(words ? "notRun" : "cancelled"));
    }
  }
  if (!words) return found;
  const blamed = cachesOf(nodes, failed, typesOf);
  if (isOurs(nodes[failed])) blamed.add(failed);
  for (const id of blamed) found.set(id, failure("failed"));
  return found;
}

/** The caches whose model a node gets: the nearest ones, and itself. */
function cachesOf(nodes, id, typesOf, seen = new Set()) {
  if (seen.has(id) || !nodes[id]) return new Set();
  seen.add(id);
  if (CACHES.includes(nodes[id].class_type)) return new Set([id]);
  const models = Object.values(nodes[id].inputs ?? {}).filter(
    (value) => Array.isArray(value) && MODELS.includes(typesOf(nodes[value[0]]?.class_type)[value[1]]),
  );
  return new Set(models.flatMap(([source]) => [...cachesOf(nodes, String(source), typesOf, seen)]));
}

/** The server's reasons in words, each once: it repeats one for every input that a check reads. */
function reasons(errors) {
  const said = errors.map(({ type, message, details, extra_info: { input_name: input } = {} }) => {
    const prefix = `${input} - `;
    if (type === "custom_validation_failed" && details?.startsWith(prefix)) return details.slice(prefix.length);
    return [message, details].filter(Boolean).join(": ");
  });
  return [...new Set(said)].join("\n");
}

function isOurs(node) {
  return Boolean(node?.class_type.startsWith(OURS));
}
