import assert from "node:assert/strict";
import { test } from "node:test";

import "./metrics.js";
import { ended, percent, rate, roughly, scoreText, searchOf, stepCurve } from "../../web/search/search_view.js";

const facts = {
  state: "searching", prompt_id: "p", unit: "PSNR", used: 0.25, scored: 8, per_minute: 30,
  best: "0-1,3/5", policy: "residual reuse", score: 30, curve: [[1, 20], [3, 25], [5, 30]],
  table: "",
};

test("an event says what is shown", () => {
  assert.deepEqual(searchOf(facts), {
    prompt: "p", state: "searching", unit: "PSNR", used: 0.25, scored: 8, perMinute: 30,
    best: "0-1,3/5", plan: [true, true, false, true, false], policy: "residual reuse", score: 30,
    curve: [[1, 20], [3, 25], [5, 30]], part: [], isValidated: false, table: "",
    workers: [], left: undefined, examples: 0,
  });
  assert.deepEqual(searchOf({ ...facts, part: [2, 7] }).part, [2, 7]);
  assert.equal(searchOf({ ...facts, is_validated: true }).isValidated, true);
});

test("what is no search is left out", () => {
  const odd = [{ state: "dancing" }, { state: ["done"] }];
  for (const nothing of [undefined, null, "done", [], {}, ...odd]) {
    assert.equal(searchOf(nothing), null);
  }
});

test("figures of other types are left out", () => {
  const odd = {
    state: "done", unit: 3, used: "half", scored: -1, per_minute: null, best: {}, policy: [],
    score: "31", curve: [[1, 20], "2", [3], [4, null], [5, NaN], null], table: { a: 1 },
    part: [1, "2"], is_validated: "yes", left: "soon", examples: "one",
    workers: [{ worker: 1, doing: "dancing", rate: 1 }, { worker: "1", doing: "scoring", rate: 1 },
      { worker: 1, doing: "scoring" }, null],
  };
  assert.deepEqual(searchOf(odd), {
    prompt: undefined, state: "done", unit: "", used: 0, scored: 0, perMinute: 0, best: "",
    plan: [], policy: "", score: undefined, curve: [[1, 20]], part: [], isValidated: false, table: "",
    workers: [], left: undefined, examples: 0,
  });
  assert.deepEqual(searchOf({ ...facts, curve: { 0: [1, 2] } }).curve, []);
  assert.equal(searchOf({ ...facts, used: 1.2 }).used, 1);
});

test("a best schedule that is no schedule is shown as text alone", () => {
  const search = searchOf({ ...facts, best: "0/99999999" });
  assert.deepEqual([search.best, search.plan], ["0/99999999", []]);
});

test("a search whose prompt ended early is stopped, one that is done stays done", () => {
  assert.equal(ended(searchOf(facts), "stopped").state, "stopped");
  assert.equal(ended(searchOf(facts), "stopped").score, 30);
  assert.equal(ended(searchOf({ ...facts, state: "done" }), "failed").state, "done");
  const failed = ended(searchOf(facts), "failed");
  assert.equal(ended(failed, "stopped").state, "failed");
});

test("workers are shown while the search runs", () => {
  const workers = [{ worker: 1, doing: "scoring", rate: 812.5 }];
  assert.deepEqual(searchOf({ ...facts, workers }).workers, workers);
  assert.deepEqual(ended(searchOf({ ...facts, workers }), "stopped").workers, []);
});

test("scores have their unit, distances their own sign", () => {
  const shown = [
    ["PSNR", 31.4159], ["SSIM", 0.95], ["LPIPS", -0.05123], ["LPIPS", -0],
    ["latent MSE", -0.000123456], ["PSNR and LPIPS", 1.234], ["PSNR and LPIPS", -0.5], ["another", 12.345],
    ["PSNR Δt", 35.512], ["PSNR up to 40 dB", 35.512], ["hardly visible", 75.0035],
  ].map(([unit, score]) => scoreText({ unit }, score));
  assert.deepEqual(shown, [
    "31.42 dB", "0.9500", "0.0512", "0.0000", "0.000123", "+1.23 σ", "-0.50 σ", "12.3", "35.51 dB",
    "35.51 dB", "75.0 %",
  ]);
});

test("rates and percents have few digits", () => {
  assert.deepEqual([0, 0.84, 9.94, 9.96, 123.4].map(rate), ["0.0", "0.8", "9.9", "10", "123"]);
  assert.deepEqual([0, 0.29, 0.999, 1].map(percent), [0, 29, 99, 100]);
});

test("the curve goes up by steps and on to the last schedule that was scored", () => {
  // Of schedules 1 to 9, in eighths; from 20 to 30 dB.
  const { corners, first, last } = stepCurve(searchOf({ ...facts, scored: 9 }));
  assert.deepEqual(corners, [[0, 0], [0.25, 0], [0.25, 0.5], [0.5, 0.5], [0.5, 1], [1, 1]]);
  assert.deepEqual([first, last], [20, 30]);
});

test("a single score is a level line, no score is no curve", () => {
  const one = searchOf({ ...facts, scored: 1, curve: [[1, 20]] });
  assert.deepEqual(stepCurve(one).corners, [[0, 0.5], [1, 0.5]]);
  assert.equal(stepCurve(searchOf({ ...facts, curve: [] })), null);
});

test("the time left is written in whole minutes, as it is an estimate", () => {
  assert.deepEqual([0, 29, 31, 3580, 3900, 7800].map(roughly), [
    "1 min", "1 min", "1 min", "1 h 0 min", "1 h 5 min", "2 h 10 min",
  ]);
  assert.equal(searchOf({ ...facts, left: 42.5 }).left, 42.5);
  assert.equal(searchOf({ ...facts, left: null }).left, undefined);
});
