import assert from "node:assert/strict";
import { test } from "node:test";

import { failures, refusals } from "../../web/report/failures.js";

// Two cache nodes with a sampler each behind one loader; 5 takes its latent from 4.
const NODES = {
  1: { class_type: "Loader", inputs: {} },
  "2:7": { class_type: "GPH_Cache", inputs: { model: ["1", 0] } },
  3: { class_type: "GPH_AdaptiveCache", inputs: { model: ["1", 0] } },
  8: { class_type: "Patch", inputs: { model: ["2:7", 0] } },
  4: { class_type: "KSampler", inputs: { model: ["8", 0], positive: ["6", 0] } },
  5: { class_type: "KSampler", inputs: { model: ["3", 0], latent: ["4", 0] } },
  6: { class_type: "GPH_DemoPrompt", inputs: { text: "a" } },
  9: { class_type: "SaveImage", inputs: { images: ["5", 0] } },
};
const TYPES = { Loader: ["MODEL"], GPH_Cache: ["MODEL"], GPH_AdaptiveCache: ["MODEL"], Patch: ["MODEL"] };
const ended = (node, executed, message) => ({
  prompt_id: "p", node_id: node, node_type: NODES[node].class_type, executed, exception_message: message,
});
const states = (found) => Object.fromEntries([...found].map(([id, { state }]) => [id, state]));
const typesOf = (kind) => TYPES[kind] ?? ["LATENT"];
const of = (...end) => failures(NODES, ended(...end), [], typesOf);

test("an error of a sampler stands at the cache node whose model it samples", () => {
  const found = of("4", ["1", "2:7", "3", "8", "6"], "20 steps\n");
  assert.deepEqual(states(found), { "2:7": "failed", 3: "notRun" });
  assert.deepEqual(found.get("2:7"), { state: "failed", words: "20 steps", at: "KSampler", prompt: "p" });
});

test("an error behind all samplers is no news of a cache node", () => {
  assert.deepEqual(states(of("9", ["1", "2:7", "3", "8", "6", "4", "5"], "disk full")), {});
  const known = failures(NODES, ended("9", [], "disk full"), ["4", "5", "8"], typesOf);
  assert.deepEqual(states(known), {}); // ComfyUI had their results
});

test("an error before a sampler says that it did not run, and a node of ours has its own words", () => {
  const found = of("6", ["1", "2:7", "3"], "an unknown word");
  assert.deepEqual(states(found), { 6: "failed", "2:7": "notRun", 3: "notRun" });
});

test("a cancelled run concerns the cache nodes whose sampler did not end", () => {
  assert.deepEqual(states(of("5", ["1", "2:7", "3", "8", "6", "4"])), { 3: "cancelled" });
});

test("a loop in a prompt ends the walk", () => {
  const nodes = { 1: { class_type: "Patch", inputs: { model: ["1", 0] } } };
  assert.equal(failures(nodes, { node_id: "1", executed: [] }, [], () => ["MODEL"]).size, 0);
});

test("what the server refuses stands at nodes of ours, each reason once and without the input", () => {
  const said = (input) => ({
    type: "custom_validation_failed", message: "Custom validation failed for node",
    details: `${input} - 'zebra' is not known`, extra_info: { input_name: input },
  });
  const missing = { type: "required_input_missing", message: "Required input is missing", details: "model" };
  const found = refusals(NODES, { 6: { errors: [said("text"), said("form")] }, 3: { errors: [missing] }, 4: { errors: [missing] } });
  assert.deepEqual([...found.keys()].sort(), ["3", "6"]);
  assert.equal(found.get("6").words, "'zebra' is not known");
  assert.equal(found.get("3").words, "Required input is missing: model");
});
