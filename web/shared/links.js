/**
 * What the nodes around a Schedule Editor or a cache say: found by following wires, also into and out of
 * subgraphs. Knows ComfyUI's graph objects, nothing of the page.
 */

const SUBGRAPH_INPUT = "-10"; // the node ids that stand for a subgraph's own inputs and outputs
const SUBGRAPH_OUTPUT = "-20";
const FAR = 32; // nodes in a row; a graph with a loop must end too

/**
 * @typedef {object} Surroundings
 * @property {Set<object>} caches the Golden Path Cache nodes that take the schedule
 * @property {string} [speed] of the first of them
 * @property {boolean} hasPolicy whether a policy is connected to it
 * @property {object} [policy] the inputs of its Policy Selector, by name
 * @property {number} [steps] of the sampler behind it, or of the connected noise levels
 * @property {string} [scheduler]
 * @property {number} [cfg] of the sampler, or of a guider on the way to it
 */

/**
 * @param {object} editor
 * @returns {Surroundings}
 */
export function surroundings(editor) {
  const caches = new Set();
  for (const slot of [0, 1]) {
    for (const { node } of targets(editor, slot)) {
      if (node.comfyClass === "GPH_Cache") caches.add(node);
    }
  }
  const [cache] = caches;
  const sampler = cache && samplerBehind(cache);
  const selector = cache && sourceOf(cache, "policy")?.node;
  return {
    caches,
    speed: cache && value(cache, "speed"),
    hasPolicy: Boolean(selector),
    policy: selector?.comfyClass === "GPH_PolicySelector" ? values(selector) : undefined,
    ...(sampler ?? stepsOfSigmas(editor)),
  };
}

/**
 * What the node that loads the model is set to, such as the name of a file: that of the cache behind
 * an editor, else the first one that loads a model beside it.
 * @param {object} editor
 * @returns {string} empty without such a node
 */
export function modelWords(editor) {
  const [cache] = surroundings(editor).caches;
  const loader = cache
    ? loaderOf(cache)
    : editor.graph.nodes.find((node) => has(node.outputs, "MODEL") && !has(node.inputs, "MODEL"));
  return loader ? [loader.comfyClass, ...Object.values(values(loader))].join(" ") : "";
}

function loaderOf(node) {
  for (let depth = 0; node && has(node.inputs, "MODEL") && depth < FAR; depth++) {
    node = sourceOf(node, node.inputs.find(({ type }) => type === "MODEL").name)?.node;
  }
  return node;
}

function has(slots, type) {
  return slots?.some((slot) => slot.type === type);
}

/** `{steps, scheduler, cfg}` of the first sampler that a node's MODEL reaches. */
export function samplerBehind(node, depth = 0) {
  for (const { node: next } of (node.outputs ?? []).flatMap((output, slot) =>
    ["MODEL", "GUIDER"].includes(output.type) ? targets(node, slot) : [],
  )) {
    const samples = next.inputs?.some((input) => input.type === "LATENT");
    const found = samples
      ? (stepsOf(next) ?? stepsOfSigmas(next))
      : depth < FAR && samplerBehind(next, depth + 1);
    if (found) return { ...found, cfg: found.cfg ?? value(next, "cfg") };
  }
  return undefined;
}

/** `{steps, scheduler}` of the node that makes the noise levels of this one. */
function stepsOfSigmas(node) {
  for (let depth = 0; node && depth < FAR; depth++) {
    node = sourceOf(node, "sigmas")?.node;
    const found = node && stepsOf(node);
    if (found) return found;
  }
  return undefined;
}

/** Not of a sampler that covers a part of the noise: a schedule of more steps may be meant for it. */
function stepsOf(node) {
  const steps = value(node, "steps");
  if (typeof steps !== "number" || value(node, "denoise") < 1) return undefined;
  return { steps, scheduler: value(node, "scheduler") };
}

/** The value of an input: of its widget, or of the widget that a wire leads to. */
export function value(node, name) {
  const source = sourceOf(node, name);
  if (!source) return widget(node, name)?.value;
  const { node: origin, input } = source;
  // A promoted widget has its name, a primitive's is "value".
  return (input ? widget(origin, input) : widget(origin, "value"))?.value;
}

/** The widget that a cache node's schedule is written in; undefined if another kind of node makes it. */
export function scheduleWidget(node) {
  const source = sourceOf(node, "schedule");
  if (!source) return widget(node, "schedule");
  const { node: origin, input } = source;
  if (origin.comfyClass === "GPH_ScheduleEditor") return scheduleWidget(origin);
  return input ? widget(origin, input) : widget(origin, "value");
}

function values(node) {
  const named = (node.widgets ?? []).map(({ name }) => [name, value(node, name)]);
  return Object.fromEntries(named.filter(([, found]) => found !== undefined));
}

function widget(node, name) {
  return node.widgets?.find((found) => found.name === name);
}

/** Where the wire into an input begins, `{node}`; `{node, input}` if at a subgraph's own widget. */
function sourceOf(node, name) {
  const slot = node.inputs?.findIndex((input) => input.name === name) ?? -1;
  return slot < 0 ? undefined : sourceOfSlot(node, slot);
}

function sourceOfSlot(node, slot) {
  const link = links(node.graph).find((l) => isAt(l.target_id, node.id) && l.target_slot === slot);
  return link && origin(node.graph, link);
}

function origin(graph, link) {
  if (isAt(link.origin_id, SUBGRAPH_INPUT)) {
    const outside = hosts(graph)[0];
    if (!outside) return undefined;
    const input = outside.inputs[link.origin_slot]?.name;
    return sourceOfSlot(outside, link.origin_slot) ?? { node: outside, input };
  }
  const node = graph.getNodeById(link.origin_id);
  if (node?.type === "Reroute") return sourceOfSlot(node, 0);
  if (!node?.subgraph) return node && { node };
  const inner = links(node.subgraph).find(
    (l) => isAt(l.target_id, SUBGRAPH_OUTPUT) && l.target_slot === link.origin_slot,
  );
  return inner && origin(node.subgraph, inner);
}

/** The nodes `{node}` that an output reaches. */
function targets(node, slot, depth = 0) {
  if (!node.graph || depth > FAR) return [];
  return links(node.graph)
    .filter((l) => isAt(l.origin_id, node.id) && l.origin_slot === slot)
    .flatMap((link) => target(node.graph, link, depth));
}

function target(graph, link, depth) {
  if (isAt(link.target_id, SUBGRAPH_OUTPUT)) {
    return hosts(graph).flatMap((host) => targets(host, link.target_slot, depth + 1));
  }
  const node = graph.getNodeById(link.target_id);
  if (node?.type === "Reroute") return targets(node, 0, depth + 1);
  if (!node?.subgraph) return node ? [{ node }] : [];
  return links(node.subgraph)
    .filter((l) => isAt(l.origin_id, SUBGRAPH_INPUT) && l.origin_slot === link.target_slot)
    .flatMap((inner) => target(node.subgraph, inner, depth + 1));
}

/** The nodes that stand for a subgraph in the graphs around it. */
function hosts(subgraph) {
  const root = subgraph.rootGraph ?? subgraph;
  const within = (graph) =>
    graph.nodes.flatMap((node) => [
      ...(node.subgraph === subgraph ? [node] : []),
      ...(node.subgraph ? within(node.subgraph) : []),
    ]);
  return within(root);
}

function links(graph) {
  return graph ? [...graph.links.values()] : [];
}

// Ids are numbers in files, strings at run time.
function isAt(id, other) {
  return String(id) === String(other);
}
