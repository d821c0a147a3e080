/** A prompt that ran, once more without the caches; plain data: no page, no ComfyUI. */

import { CACHES } from "./failures.js";

const COMPARISON = "GPH_QualityCompare";
const [REFERENCE, TEST] = ["reference", "test"]; // its inputs

/**
 * The nodes of a prompt as if every cache were bypassed. Quality Compare goes on showing the cached
 * image, with the full one beside it if that place is free: what it needs is copied, and ComfyUI,
 * which goes by inputs, need not compute it again.
 * @param {Record<string, {class_type: string, inputs: Record<string, any>}>} nodes by execution id
 */
export function inFull(nodes) {
  const next = structuredClone(nodes);
  const isCache = (id) => CACHES.includes(nodes[id]?.class_type);
  const beyond = (link) => (isCache(link[0]) ? beyond(nodes[link[0]].inputs.model) : link);

  const known = new Map();
  function isCached(id) {
    if (!known.has(id)) {
      known.set(id, false); // an end for a loop, which the server refuses
      known.set(id, links(nodes[id]).some(([, [source]]) => isCache(source) || isCached(source)));
    }
    return known.get(id);
  }

  for (const node of Object.values(next)) {
    for (const [name, link] of links(node)) node.inputs[name] = beyond(link);
  }

  const copies = new Map();
  let last = Math.max(0, ...Object.keys(nodes).map((id) => parseInt(id)).filter(Number.isFinite));
  /** The source of a link as it was in the prompt that ran. */
  function former([id, slot]) {
    if (isCache(id) || !isCached(id)) return [id, slot];
    if (!copies.has(id)) {
      copies.set(id, String((last += 1)));
      const copy = structuredClone(nodes[id]);
      for (const [name, link] of links(copy)) copy.inputs[name] = former(link);
      next[copies.get(id)] = copy;
    }
    return [copies.get(id), slot];
  }

  for (const [id, { class_type: kind }] of Object.entries(nodes)) {
    if (kind !== COMPARISON) continue;
    const given = links(nodes[id]).filter(([name]) => [REFERENCE, TEST].includes(name));
    const cached = given.filter(([, [source]]) => isCached(source));
    for (const [name, link] of cached) next[id].inputs[name] = former(link);
    if (given.length !== 1 || !cached.length) continue;
    const [[, link]] = cached;
    Object.assign(next[id].inputs, { [REFERENCE]: link, [TEST]: former(link) });
  }
  return next;
}

/** The inputs of a node that come by a wire, `[name, [id, slot]]`. */
function links(node) {
  const inputs = Object.entries(node?.inputs ?? {});
  return inputs.filter(([, value]) => Array.isArray(value) && value.length === 2 && typeof value[0] === "string");
}
