import assert from "node:assert/strict";
import { test } from "node:test";

import { bypassed, inFull as made } from "../../web/report/full_run.js";

const inFull = (prompt) => made(prompt, (kind) => kind.startsWith("Save"));
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
    assert.deepEqual(full["6:1"].inputs, { reference: ["4", 0], test: ["gph-full-1", 0], video: false });
    assert.deepEqual(full["gph-full-1"], node("VAEDecode", { samples: ["gph-full-2", 0], vae: ["1", 2] }));
    assert.deepEqual(full["gph-full-2"], nodes[3]); // with the cache, as it ran
    assert.deepEqual(full[3].inputs.model, ["1", 0]);
  }
});

test("a comparison with another full run stays as it is", () => {
  const more = {
    ...nodes, 6: node("KSampler", { model: ["1", 0], seed: 7 }), 7: node("VAEDecode", { samples: ["6", 0] }),
    8: node("GPH_QualityCompare", { reference: ["7", 0], test: ["4", 0] }),
  };
  const full = inFull(more);
  assert.deepEqual(full[8].inputs, { reference: ["7", 0], test: ["gph-full-1", 0] });
  assert.deepEqual(full["gph-full-2"], nodes[3]);
  assert.deepEqual([full[6], full[7]], [more[6], more[7]]);
});

test("a comparison of other images is left alone", () => {
  const other = node("GPH_QualityCompare", { test: ["1", 1] });
  assert.deepEqual(inFull({ ...nodes, 6: other })[6], other);
});

test("a comparison behind an output node stays as it is: a copy would save its files twice", () => {
  const behind = {
    ...nodes, 5: node("SaveVideo", { images: ["4", 0] }), 6: node("Load", { from: ["5", 0] }),
    7: node("GPH_QualityCompare", { test: ["6", 0] }),
  };
  const full = inFull(behind);
  assert.deepEqual(Object.keys(full), Object.keys(behind));
  assert.deepEqual(full[7], behind[7]);
});

test("a run that is one in full itself keeps its copies", () => {
  const once = inFull({ ...nodes, 6: node("GPH_QualityCompare", { test: ["4", 0] }) });
  const twice = inFull(once);
  assert.deepEqual(twice["gph-full-1"], { ...once["gph-full-1"] });
  assert.deepEqual(twice[6].inputs, { reference: ["4", 0], test: ["gph-full-3", 0] });
  assert.deepEqual(twice["gph-full-4"], nodes[3]);
});

test("the workflow of a full run has every cache bypassed, in subgraphs too, and the rest as it was", () => {
  const of = (...modes) => modes.map(([type, mode], id) => ({ id, type, mode }));
  const workflow = {
    id: "w", nodes: of(["GPH_Cache", 0], ["KSampler", 0], ["Note", 2]),
    definitions: { subgraphs: [{ id: "s", nodes: of(["GPH_AdaptiveCache", 0], ["VAEDecode", 0]) }] },
  };
  assert.deepEqual(bypassed(workflow), {
    id: "w", nodes: of(["GPH_Cache", 4], ["KSampler", 0], ["Note", 2]),
    definitions: { subgraphs: [{ id: "s", nodes: of(["GPH_AdaptiveCache", 4], ["VAEDecode", 0]) }] },
  });
  assert.equal(workflow.nodes[0].mode, 0);
  assert.equal(bypassed(undefined), undefined);
});
