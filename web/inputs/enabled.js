// Only the field that counts can be edited: beside a speed, the others have no effect.

import * as host from "../shared/host.js";
import { value } from "../shared/links.js";

/** A field, the field that decides about it, and the values there with which it counts. */
const RULES = [
  ["full_steps", "speed", ["full_steps below"]], // as nodes/schema/types.py
  ["schedule", "speed", ["Custom"]],
  ["threshold", "speed", ["Threshold"]],
  ["cache_budget_mib", "cache_device", ["automatic"]],
  ["learn", "speed", ["Automatic", "Quality", "Balanced", "Fast"]],
];

/** What sets the fields of a node, by node. */
const nodes = new Map();

host.register({
  name: "golden-path.inputs",

  setup() {
    host.onGraphChanged(lookAll); // a wire may lead to what decides
  },

  nodeCreated(node) {
    if (!node.comfyClass?.startsWith("GPH_")) return;
    const looks = RULES.flatMap((rule) => follow(node, ...rule));
    if (!looks.length) return;
    nodes.set(node, () => looks.forEach((look) => look()));
    host.chain(node, "onRemoved", () => nodes.delete(node));
  },

  afterConfigureGraph: lookAll,
});

function lookAll() {
  for (const look of nodes.values()) look();
}

/** What sets a field, if the node has it and its rule. */
function follow(node, name, by, choices) {
  const [field, decides] = [host.findWidget(node, name), host.findWidget(node, by)];
  const isOfRule = choices.every((choice) => decides?.options?.values?.includes?.(choice));
  if (!field || !isOfRule) return [];
  const look = () => {
    const chosen = value(node, by); // undefined if it comes from a wire that ends nowhere we know
    host.setEnabled(field, chosen === undefined || choices.includes(chosen));
  };
  host.onValue(node, decides, look);
  look();
  return [look];
}
