/** A prompt that ran, once more without the caches; plain data: no page, no ComfyUI. */

import { CACHES } from "./failures.js";

const COMPARISON = "GPH_QualityCompare";
const [REFERENCE, TEST] = ["reference", "test"]; // its inputs
const COPY = "gph-full-"; // begins the ids of copies: the page, which numbers its nodes, has no such node
const BYPASSED = 4; // as ComfyUI's front end has it

/** A workflow with every cache bypassed: opened from the image of a full run, it makes that image. */
export function bypassed(workflow) {
  const next = structuredClone(workflow);
  for (const graph of [next, ...(next?.definitions?.subgraphs ?? [])]) {
    for (const node of graph?.nodes ?? []) if (CACHES.includes(node.type)) node.mode = BYPASSED;
  }
  return next;
}

/**
 * The nodes of a prompt as if every cache were bypassed. Quality Compare goes on showing the cached
 * image, with the full one beside it if that place is free: what it needs is copied, and ComfyUI,
 * which goes by inputs, need not compute it again. An output node is not copied, as it would save its
 * files twice; a comparison that needs one stays as it is.
 * @param {Record<string, {class_type: string, inputs: Record<string, any>}>} nodes by execution id
 * @param {(kind: string) => boolean} isOutput whether a kind of node is an output node
 */
export function inFull(nodes, isOutput) {
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
  let count = 1;
  /** The source of a link as it was in the prompt that ran. */
  function former([id, slot]) {
    if (isCache(id) || !isCached(id)) return [id, slot];
    if (!copies.has(id)) {
      while (`${COPY}${count}` in next) count += 1; // the prompt may be such a run itself
      copies.set(id, `${COPY}${count}`);
      const copy = (next[copies.get(id)] = structuredClone(nodes[id]));
      for (const [name, link] of links(copy)) copy.inputs[name] = former(link);
    }
    return [copies.get(id), slot];
  }

  function canCopy([id]) {
    if (isCache(id) || !isCached(id)) return true;
    return !isOutput(nodes[id].class_type) && links(nodes[id]).every(([, link]) => canCopy(link));
  }

  for (const [id, { class_type: kind }] of Object.entries(nodes)) {
    if (kind !== COMPARISON) continue;
    const given = links(nodes[id]).filter(([name]) => [REFERENCE, TEST].includes(name));
    const cached = given.filter(([, [source]]) => isCached(source));
    if (!cached.every(([, link]) => canCopy(link))) continue;
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
