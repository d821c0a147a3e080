import assert from "node:assert/strict";
import { test } from "node:test";

import { createSensitivity, sensitivityPath } from "../../web/editor/schedule_sensitivity.js";

test("the curve goes through the middles of the cells, its highest value below the upper edge", () => {
  assert.equal(sensitivityPath([0, 2, 1]), "M0.5 1L1.5 0.06000000000000005L2.5 0.53");
});

test("a step without a value leaves a gap", () => {
  assert.equal(sensitivityPath([null, 1, null, 0, 0]), "M1.5 0.06000000000000005M3.5 1L4.5 1");
});

test("without any damage the curve lies on the ground", () => {
  assert.equal(sensitivityPath([null, 0, 0]), "M1.5 1L2.5 1");
});

test("a curve is shown over as many cells as it has steps, and only while connected", () => {
  let isConnected = true;
  const curve = createSensitivity(() => isConnected);
  assert.equal(curve.shown(3), null);
  assert.equal(curve.otherSteps(3), undefined);
  curve.executed({ gph_sensitivity: [[null, 1, 2]] });
  assert.deepEqual(curve.shown(3), [null, 1, 2]);
  assert.equal(curve.otherSteps(3), undefined);
  assert.equal(curve.shown(4), null);
  assert.equal(curve.otherSteps(4), 3);
  isConnected = false;
  assert.equal(curve.shown(3), null);
  assert.equal(curve.otherSteps(4), undefined);
});
