import assert from "node:assert/strict";
import { test } from "node:test";

import { inFull } from "../../web/report/full_run.js";

const node = (class_type, inputs) => ({ class_type, inputs });
const nodes = {
  1: node("Loader", { name: "a" }),
  2: node("GPH_Cache", { model: ["1", 0], speed: "Fast" }),
  3: node("KSampler", { model: ["2", 0], seed: 7, size: [64, 64] }),
  4: node("VAEDecode", { samples: ["3", 0], vae: ["1", 2] }),
  5: node("SaveImage", { images: ["4", 0] }),
};

test("without a comparison all that used the cache gets the model itself", () => {
  const full = inFull(nodes);
  assert.deepEqual(full[3].inputs, { model: ["1", 0], seed: 7, size: [64, 64] });
  assert.deepEqual(Object.keys(full), Object.keys(nodes));
  for (const id of [1, 2, 4, 5]) assert.deepEqual(full[id], nodes[id]);
  assert.deepEqual(nodes[3].inputs.model, ["2", 0]);
});

test("several caches in a row, other kinds and subgraphs are left out, too", () => {
  const full = inFull({
    ...nodes, "2:5": node("GPH_AdaptiveCache", { model: ["2", 0] }), 3: node("KSampler", { model: ["2:5", 0] }),
  });
  assert.deepEqual(full[3].inputs.model, ["1", 0]);
});

test("a comparison with a free place gets the full image and keeps the cached one", () => {
  for (const place of ["reference", "test"]) {
    const full = inFull({ ...nodes, "6:1": node("GPH_QualityCompare", { [place]: ["4", 0], video: false }) });
    assert.deepEqual(full["6:1"].inputs, { reference: ["4", 0], test: ["7", 0], video: false });
    assert.deepEqual(full[7], node("VAEDecode", { samples: ["8", 0], vae: ["1", 2] }));
    assert.deepEqual(full[8], nodes[3]); // with the cache, as it ran
    assert.deepEqual(full[3].inputs.model, ["1", 0]);
  }
});

test("a comparison with another full run stays as it is", () => {
  const more = {
    ...nodes, 6: node("KSampler", { model: ["1", 0], seed: 7 }), 7: node("VAEDecode", { samples: ["6", 0] }),
    8: node("GPH_QualityCompare", { reference: ["7", 0], test: ["4", 0] }),
  };
  const full = inFull(more);
  assert.deepEqual(full[8].inputs, { reference: ["7", 0], test: ["9", 0] });
  assert.deepEqual(full[10], nodes[3]);
  assert.deepEqual([full[6], full[7]], [more[6], more[7]]);
});

test("a comparison of other images is left alone", () => {
  const other = node("GPH_QualityCompare", { test: ["1", 1] });
  assert.deepEqual(inFull({ ...nodes, 6: other })[6], other);
});
