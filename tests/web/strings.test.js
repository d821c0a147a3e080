import assert from "node:assert/strict";
import { test } from "node:test";

import { tables, texts } from "../../web/shared/strings.js";

const values = (text) => [...text.matchAll(/\{\w+\}/g)].map(String).sort();

test("every language has every text with the same values", () => {
  for (const [language, table] of Object.entries(tables)) {
    assert.deepEqual(Object.keys(table).sort(), Object.keys(tables.en).sort(), language);
    for (const [key, text] of Object.entries(table)) {
      assert.deepEqual(values(text), values(tables.en[key]), `${language} ${key}`);
    }
  }
});

test("values are put into a text", () => {
  assert.equal(texts("en")("report.running", { done: 3, steps: 50 }), "Step 3 of 50");
});

test("a region takes its language, an unknown language English", () => {
  assert.equal(texts("zh-TW")("report.full", { count: 4 }), tables.zh["report.full"].replace("{count}", "4"));
  assert.equal(texts("fr")("report.full", { count: 4 }), "4 full");
});
