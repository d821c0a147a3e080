import assert from "node:assert/strict";
import { test } from "node:test";

import { answerOf } from "../../web/shared/answers.js";
import { texts } from "../../web/shared/strings.js";

const ask = (text, options) => answerOf(texts("en"), async () => new Response(text, options));
const bad = { status: 502, statusText: "Bad Gateway" };

test("an answer is the object that the server sent", async () => {
  assert.deepEqual(await ask('{"error": null, "schedule": "0/2"}'), { error: null, schedule: "0/2" });
});

test("the server's reason is told, with the status", async () => {
  await assert.rejects(ask('{"error": "no such path"}', { status: 400 }), { message: "no such path", status: 400 });
});

for (const text of ["<html>", "", '{"sigmas": [NaN]}', "null", "[1]", '"a"', '{"a": 1']) {
  test(`a good status does not hide that an answer cannot be read: ${text}`, async () => {
    await assert.rejects(ask(text), { message: /answer \(200\) cannot be read; a proxy may/, status: 200 });
  });
}

for (const text of ["<html>Bad gateway</html>", "", "{}", '{"error": {"a": 1}}']) {
  test(`an error that no route of ours sent has words of the page's: ${text}`, async () => {
    await assert.rejects(ask(text, bad), { message: /answered 502 Bad Gateway without a reason/, status: 502 });
  });
}

test("a server that cannot be reached is named in the user's language", async () => {
  const away = () => Promise.reject(new TypeError("Failed to fetch"));
  await assert.rejects(answerOf(texts("en"), away), /ComfyUI cannot be reached.*\(Failed to fetch\)/);
  await assert.rejects(answerOf(texts("zh-CN"), away), /无法连接 ComfyUI/);
  const broken = async () => ({ text: () => Promise.reject(new TypeError("network error")) });
  await assert.rejects(answerOf(texts("en"), broken), /ComfyUI cannot be reached.*\(network error\)/);
});
