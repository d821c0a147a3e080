import assert from "node:assert/strict";
import { test } from "node:test";

import { known, translated } from "../../web/report/said.js";
import { tables, texts } from "../../web/shared/strings.js";

const [en, zh] = [texts("en"), texts("zh")];
const beside = "this node caches nothing: EasyCache is also active on this model; remove it: two caches together spoil the image";

test("a known line is said in the language of the page, its values too", () => {
  assert.equal(translated(beside, zh), "此节点没有缓存任何步：此模型上还有 EasyCache 在起作用；请移除它：两个缓存同时使用会毁坏图像");
  assert.equal(translated("steps 3 to 19 of your schedule", zh), "您的计划的第 3 至 19 步");
  assert.equal(translated("3 steps: too few to cache any, so all are computed in full", zh), "共 3 步：步数太少，无法缓存，全部完整计算");
  assert.equal(translated("spacing by noise level", zh), "按噪声水平分布");
});

test("any other line stays as it is", () => {
  for (const line of ["", "spacing by noise level, or not", "this node caches nothing", "<b>{reason}</b>"]) {
    assert.equal(translated(line, zh), line);
    assert.equal(known(line), undefined);
  }
});

test("in English every line stays, and is known by its own key", () => {
  for (const [key, text] of Object.entries(tables.en).filter(([key]) => key.startsWith("said."))) {
    const line = text.replace(/\{\w+\}/g, "7");
    assert.equal(known(line).key, key);
    assert.equal(translated(line, en), line);
  }
});
