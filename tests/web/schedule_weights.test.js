import assert from "node:assert/strict";
import { test } from "node:test";

import { parse } from "../../web/editor/schedule.js";
import { createWeights, lost } from "../../web/editor/schedule_weights.js";

const TAKEN = { path: "yours: mine", schedule: "0,2/4" };
const SELECTED = { hasPolicy: true, policy: { policy: "fitted (golden path)", path: TAKEN.path } };
const said = (text, around) => lost(parse(text), TAKEN, around)?.[0];

test("without a connected policy the weights are left behind, or lost once the schedule is edited", () => {
  assert.equal(said("0,2/4"), "weightsApart");
  assert.equal(said("0,1/4"), "weightsLost");
  assert.equal(lost(parse("0,1/4"), undefined), undefined);
});

test("with the weights connected, what the policy says decides", () => {
  assert.equal(said("0,2/4", SELECTED), undefined);
  assert.equal(said("0,1/4", { ...SELECTED, policyError: "fitted for 0,2/4" }), "weightsLost");
  assert.equal(said("0,2-3/4", SELECTED), undefined); // what is left of the weights holds
});

test("with another policy nobody misses the weights", () => {
  assert.equal(said("0,1/4", { hasPolicy: true }), undefined); // from a node that the page does not know
  const others = { hasPolicy: true, policy: { policy: "Taylor", path: "none" }, policyError: "no" };
  assert.equal(said("0,1/4", others), undefined);
});

test("a node remembers the path that it took last", () => {
  const node = { properties: {} };
  const weights = createWeights(node);
  weights.take({ fitted: TAKEN.path, schedule: TAKEN.schedule, name: "mine" });
  assert.deepEqual(weights.taken(), TAKEN);
  weights.take({ fitted: "", schedule: "0/4" });
  assert.deepEqual(node.properties, {});
});
