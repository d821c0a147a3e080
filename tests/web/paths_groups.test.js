import assert from "node:assert/strict";
import { test } from "node:test";

import { groups, search, taken } from "../../web/library/paths_groups.js";

const path = (id, model, num_steps, more = {}) => ({
  id, name: id.replace("user/", ""), model, num_steps, num_full: 9, policy: "residual reuse",
  origin: "published", ...more,
});
const PATHS = [
  path("user/mine", "FLUX", 20),
  path("f50", "FLUX.1-dev", 50), path("f20", "FLUX.1-dev", 20),
  path("q", "Qwen-Image", 50), path("q2", "Qwen-Image-2512", 50),
  path("d", "Golden Path Demo Model", 50, { policy: "fitted" }),
];
const shown = (words) =>
  groups(PATHS, 20, words).map(({ model, isOwnModel, paths }) =>
    `${isOwnModel ? "*" : ""}${model}: ${paths.map(({ name }) => name)}`);

test("the user's paths come first, then the workflow's model, then the others by name", () => {
  const others = ["FLUX.1-dev: f20,f50", "Qwen-Image: q"];
  assert.deepEqual(shown("UNETLoader qwen_image_2512_fp8_e4m3fn.safetensors default"), [
    ": mine", "*Qwen-Image-2512: q2", "FLUX.1-dev: f20,f50", "Golden Path Demo Model: d", "Qwen-Image: q",
  ]);
  assert.deepEqual(shown("UNETLoader flux1-dev-fp8.safetensors"), [
    ": mine", "*FLUX.1-dev: f20,f50", "Golden Path Demo Model: d", "Qwen-Image: q", "Qwen-Image-2512: q2",
  ]);
  assert.deepEqual(shown("GPH_DemoModel"), [
    ": mine", "*Golden Path Demo Model: d", ...others, "Qwen-Image-2512: q2",
  ]);
});

test("a model that no path is for, or none at all, puts none in front", () => {
  for (const words of ["", "UNETLoader sd3.5_large.safetensors"]) {
    assert.equal(shown(words).filter((group) => group.startsWith("*")).length, 0, words);
    assert.equal(shown(words)[1], "FLUX.1-dev: f20,f50");
  }
});

test("a search finds what has all the words, in any order and case", () => {
  const names = (text) => search(PATHS, text).map(({ name }) => name);
  assert.deepEqual(names("qwen"), ["q", "q2"]);
  assert.deepEqual(names("9 of 20 FLUX"), ["mine", "f20"]);
  assert.deepEqual(names("Fitted demo"), ["d"]);
  assert.deepEqual(names("nothing"), []);
});

test("the server's paths come after the user's, whatever their model", () => {
  const listed = [path("server: s", "FLUX.1-dev", 20), path("server: t", "", 20), ...PATHS];
  const found = groups(listed, 20, "UNETLoader flux1-dev-fp8.safetensors on a server");
  assert.deepEqual(found.slice(0, 3).map(({ paths }) => paths.map(({ id }) => id)), [
    ["user/mine"], ["server: s", "server: t"], ["f20", "f50"],
  ]);
  assert.deepEqual(found.map(({ isOwnModel }) => isOwnModel).slice(0, 3), [false, false, true]);
});

test("what a speed takes here is of the workflow's model and steps, and of its CFG if there is such a path", () => {
  const models = ["FLUX.1-dev"];
  const listed = [
    path("user/mine", "FLUX", 20, { models, speed: "Fast" }),
    path("user/other", "SD3", 20, { models: [], speed: "Quality" }),
    path("plain", "FLUX.1-dev", 20, { models, speed: "Balanced" }),
    path("cfg 5", "FLUX.1-dev", 20, { models, speed: "Balanced", fitted: "cfg 5", cfg: 5 }),
    path("cfg 1", "FLUX.1-dev", 20, { models, speed: "Balanced", fitted: "cfg 1", cfg: 1 }),
    path("none", "FLUX.1-dev", 20, { models, speed: "" }),
    path("f50", "FLUX.1-dev", 50, { models, speed: "Quality" }),
  ];
  const names = (more) =>
    [...taken(listed, { steps: 20, model: "UNETLoader flux1-dev.safetensors", ...more })].map(({ id }) => id);
  assert.deepEqual(names({ cfg: 5 }), ["user/mine", "cfg 5"]);
  assert.deepEqual(names({ cfg: 4.5 }), ["user/mine", "cfg 5"]);
  assert.deepEqual(names({ cfg: 6 }), ["user/mine", "cfg 5"]);
  assert.deepEqual(names({ cfg: 3 }), ["user/mine", "plain"]);
  assert.deepEqual(names({ cfg: 1.1 }), ["user/mine", "plain"]);
  assert.deepEqual(names({}), ["user/mine", "plain"]);
  assert.deepEqual(names({ cfg: 5, steps: 50 }), ["f50"]);
  assert.deepEqual(names({ model: "UNETLoader sd3.5.safetensors" }), []);
});
