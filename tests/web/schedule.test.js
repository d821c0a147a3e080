import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import * as schedule from "../../web/editor/schedule.js";

const { change, parse, format } = schedule;
const CASES = JSON.parse(readFileSync(new URL("schedule_texts.json", import.meta.url), "utf8"));

/** "o" = full, "." = cached: a schedule that one can see. */
const cells = (picture) => [...picture].map((c) => c === "o");
const picture = (found) => found.map((full) => (full ? "o" : ".")).join("");

for (const { text, full, steps, error } of CASES) {
  test(`${JSON.stringify(text)} is read as Python reads it`, () => {
    if (error) {
      assert.throws(() => parse(text), { name: "Error", message: error });
    } else {
      const found = parse(text);
      assert.equal(found.length, steps);
      assert.deepEqual(found.flatMap((isFull, step) => (isFull ? [step] : [])), full);
    }
  });
}

test("format writes runs, then the step count", () => {
  assert.equal(format(cells("oooo.o..o.")), "0-3,5,8/10");
  assert.equal(format(cells("oo")), "0-1/2");
  assert.equal(format(cells("o")), "0/1");
});

test("a range has no step 0 and either direction", () => {
  assert.deepEqual(schedule.between(3, 1), [1, 2, 3]);
  assert.deepEqual(schedule.between(0, 2), [1, 2]);
  assert.deepEqual(schedule.between(0, 0), []);
});

test("unlocked, a change sets exactly the chosen steps, never step 0", () => {
  assert.equal(picture(change(cells("o..oo."), [0, 1, 3, 4], false)), "o.....");
  assert.equal(picture(change(cells("o....."), [2, 3], true)), "o.oo..");
});

test("locked, the nearest other step changes the other way, the earlier of two", () => {
  assert.equal(picture(change(cells("o.o.o."), [3], true, true)), "o..oo.");
  assert.equal(picture(change(cells("o....oo"), [5], false, true)), "o...o.o");
});

test("locked, steps that are painted are no partners of each other", () => {
  assert.equal(picture(change(cells("oo....o."), [2, 3], true, true)), "o.oo....");
});

test("locked, a step stays when nothing can be exchanged with it", () => {
  assert.equal(picture(change(cells("o..."), [2], true, true)), "o...");
  assert.equal(picture(change(cells("oo.."), [1, 2, 3], true, true)), "oo..");
});

test("locked, the number of full steps stays whatever is painted", () => {
  const before = cells("ooo..o.o....o.o");
  for (let a = 0; a < before.length; a++) {
    for (let b = 0; b < before.length; b++) {
      for (const full of [true, false]) {
        const after = change(before, schedule.between(a, b), full, true);
        assert.equal(after.filter(Boolean).length, 7);
        assert.equal(after[0], true);
      }
    }
  }
});

test("a full step moves to a cached place only, step 0 never", () => {
  assert.equal(picture(schedule.move(cells("o.o.."), 2, 4)), "o...o");
  assert.equal(picture(schedule.move(cells("o.oo."), 2, 3)), "o.oo.");
  assert.equal(picture(schedule.move(cells("o.o.."), 0, 1)), "o.o..");
  assert.equal(picture(schedule.move(cells("o.o.."), 2, 5)), "o.o..");
  assert.equal(picture(schedule.move(cells("o.o.."), 1, 3)), "o.o..");
});

test("inverting exchanges full and cached but for step 0", () => {
  assert.equal(picture(schedule.invert(cells("oo.o."), [0, 1, 2, 3, 4])), "o.o.o");
  assert.equal(picture(schedule.invert(cells("oo.o."), [2, 3])), "ooo..");
});

test("shifting turns the range, so that no full step is lost", () => {
  assert.equal(picture(schedule.shift(cells("oo.o.o"), [1, 2, 3, 4, 5], 1)), "ooo.o.");
  assert.equal(picture(schedule.shift(cells("oo.o.o"), [1, 2, 3, 4, 5], -1)), "o.o.oo");
  assert.equal(picture(schedule.shift(cells("oo.o.o"), [2, 3], -1)), "ooo..o");
  assert.equal(picture(schedule.shift(cells("o"), [], 1)), "o");
});

test("more steps are full ones, fewer cut the end", () => {
  assert.equal(picture(schedule.resize(cells("o.o."), 6)), "o.o.oo");
  assert.equal(picture(schedule.resize(cells("o.o."), 2)), "o.");
});

test("no edit changes the schedule that it got", () => {
  const before = cells("o.oo.");
  change(before, [1, 2], true, true);
  schedule.move(before, 2, 4);
  schedule.invert(before, [1, 2]);
  schedule.shift(before, [1, 2, 3], 1);
  schedule.resize(before, 9);
  assert.equal(picture(before), "o.oo.");
});

test("the read-out counts", () => {
  assert.deepEqual(schedule.readout(cells("oo...o..")), {
    numSteps: 8, numFull: 3, numCached: 5, ratio: 0.625, speedup: 8 / 3, longest: 3,
  });
  assert.equal(schedule.readout(cells("oo")).longest, 0);
});

test("a cached last step, another step count, a policy's refusal and disuse are warned of", () => {
  const names = (...found) => schedule.warnings(...found).map(([name]) => name);
  assert.deepEqual(names(cells("o.o"), { samplerSteps: 3 }), []);
  assert.deepEqual(names(cells("oo."), {}), ["lastCached"]);
  assert.deepEqual(names(cells("o.o"), { samplerSteps: 20, policyError: "no" }), [
    "otherSteps", "policy",
  ]);
  assert.deepEqual(names(cells("o.o"), { speed: "Fast" }), ["unused"]);
  assert.deepEqual(names(cells("o.o"), { speed: "Custom" }), []);
});

test("the noise curve runs from the highest level to none", () => {
  assert.deepEqual(schedule.curve([4, 3, 2, 0]), [[0, 0], [1, 0.25], [2, 0.5], [3, 1]]);
  assert.deepEqual(schedule.curve([0, 0]), [[0, 1], [1, 1]]);
});

test("the ends of a run in percent of its steps, as EasyCache counts them with evenly falling levels", () => {
  assert.deepEqual(schedule.endsOf(20, 15, 95), [1, 2, 19]); // 2 / 20 is under 15 %, 3 / 20 is not
  assert.deepEqual(schedule.endsOf(50, 15, 95), [1, 2, 3, 4, 5, 6, 7, 48, 49]); // 7.5 and 47.5 steps
  assert.deepEqual(schedule.endsOf(4, 0, 100), []);
  assert.deepEqual(schedule.endsOf(4, 60, 40), [1, 2, 3]);
});

test("a reason quotes no more of a long text than one can read", () => {
  assert.throws(() => parse("x".repeat(500)), (error) => {
    assert.equal(error.say((key, { text }) => text), `'${"x".repeat(79)}…`);
    return error.message.includes("x".repeat(500)); // Python's own
  });
});
