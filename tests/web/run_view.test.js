import assert from "node:assert/strict";
import { test } from "node:test";

import {
  afterEvent,
  afterFit,
  afterForgetting,
  caughtUp,
  cells,
  columns,
  counts,
  isWhole,
  length,
  mebibytes,
  savedReport,
  scheduleOf,
  seconds,
} from "../../web/report/run_view.js";

const plan = (run = 0, prompt_id = "p") => ({
  prompt_id, run, state: "planned", schedule: "0-1,3/5", origin: "uniform spacing",
});
const step = (step, kind, run = 0) => ({ prompt_id: "p", run, state: "running", step, kind });
const record = {
  schedule: "0-1,3/5",
  full_steps: [0, 1, 3],
  cached_steps: [2],
  refused_steps: [4],
  full_seconds: [0.5, 0.25, 0.25, 0.25],
  cached_seconds: [0.125],
  sigmas: [1, 0.8, 0.6, 0.4, 0.2, 0],
  cache_bytes: 1024,
  notes: ["step 4: the sampler left the grid"],
  speedup: 1.2,
  ideal_speedup: 5 / 3,
  policy: "residual reuse",
};
const kinds = (run) => cells(run).map((cell) => cell.kind);

test("a planned run shows its schedule, nothing of it reached", () => {
  const { runs } = afterEvent(null, plan());
  assert.deepEqual(kinds(runs[0]), Array(5).fill("waiting"));
  assert.deepEqual(cells(runs[0]).map((cell) => cell.plan), ["full", "full", "cached", "full", "cached"]);
  assert.equal(runs[0].origin, "uniform spacing");
});

test("each step of a running run fills its cell", () => {
  const events = [plan(), step(0, "full"), step(1, "full"), step(2, "refused")];
  const { runs } = events.reduce(afterEvent, null);
  assert.deepEqual(kinds(runs[0]), ["full", "full", "refused", "waiting", "waiting"]);
  assert.deepEqual(counts(runs[0]), { full: 2, cached: 0, refused: 1, reached: 3 });
});

test("a page that was loaded during a run catches up with it, whichever event comes first", () => {
  const told = [{ ...plan(), learned: "l", learnable: true }, step(0, "full"), step(1, "full")];
  for (const since of [[step(2, "cached")], [step(1, "full"), step(2, "cached")]]) {
    const { runs: [run] } = caughtUp(since.reduce(afterEvent, null), told, since);
    assert.deepEqual(kinds(run), ["full", "full", "cached", "waiting", "waiting"]);
    assert.deepEqual([run.origin, run.learned, run.isLearnable], ["uniform spacing", "l", true]);
  }
  const done = [{ prompt_id: "p", run: 0, state: "done", record }];
  const { runs: [run] } = caughtUp(done.reduce(afterEvent, null), told, done);
  assert.deepEqual([run.state, run.learned], ["done", "l"]);
  assert.deepEqual(kinds(run), ["full", "full", "cached", "full", "refused"]);
});

test("what the server tells replaces neither another prompt's report nor that of a file", () => {
  const other = afterEvent(null, plan(0, "newer"));
  const saved = savedReport([record]);
  for (const known of [other, saved]) assert.equal(caughtUp(known, [plan()], []), known);
  assert.equal(caughtUp(null, [plan()], []).prompt, "p");
});

test("a finished run shows its record, not what its events said", () => {
  const done = { prompt_id: "p", run: 0, state: "done", record };
  const { runs } = [plan(), step(0, "cached"), done].reduce(afterEvent, null);
  assert.deepEqual(kinds(runs[0]), ["full", "full", "cached", "full", "refused"]);
  assert.equal(runs[0].origin, "uniform spacing");
  assert.deepEqual(runs[0].figures.notes, ["step 4: the sampler left the grid"]);
  assert.equal(cells(runs[0])[1].sigma, 0.8);
});

test("a refused step is counted once, whether or not the record lists it among the full ones", () => {
  const both = savedReport([{ ...record, full_steps: [0, 1, 3, 4] }]);
  assert.deepEqual(counts(both.runs[0]), { full: 3, cached: 1, refused: 1, reached: 5 });
});

test("runs of one prompt stand side by side, another prompt begins anew", () => {
  const first = [plan(0), plan(1), step(0, "full", 1)].reduce(afterEvent, null);
  assert.deepEqual(first.runs.map((run) => run.state), ["planned", "running"]);
  assert.equal(afterEvent(first, plan(0, "q")).runs.length, 1);
});

test("a page that missed the first run shows the second one", () => {
  const { runs } = afterEvent(null, plan(1));
  assert.deepEqual(runs.map(length), [0, 5]);
});

test("an event does not change the report before it", () => {
  const before = afterEvent(null, plan());
  afterEvent(before, step(0, "full"));
  assert.deepEqual(kinds(before.runs[0]), Array(5).fill("waiting"));
});

test("a new prompt replaces what a saved image carried", () => {
  const saved = savedReport([record, record]);
  assert.equal(saved.saved, true);
  assert.equal(saved.runs.length, 2);
  assert.equal(afterEvent(saved, plan(0, null)).runs.length, 1);
});

test("what is not a record is left out", () => {
  for (const nothing of [undefined, null, [], {}, "text", ["text"], [null]]) {
    assert.equal(savedReport(nothing), null);
  }
  const odd = { schedule: 5, full_steps: [0, -1, 1.5, 1e9, "2"], notes: [{}, "true"], speedup: "fast" };
  const [run] = savedReport([odd]).runs;
  assert.deepEqual(kinds(run), ["full"]);
  assert.deepEqual(run.figures.notes, ["true"]);
  assert.equal(run.figures.speedup, 0);
});

test("a run that is refused as a whole says why, while it runs and after it", () => {
  const refused = { prompt_id: "p", run: 0, state: "refused", line: "this model is not supported" };
  const [running] = [refused, step(0, "full")].reduce(afterEvent, null).runs;
  assert.deepEqual([running.state, running.reason], ["refused", "this model is not supported"]);
  assert.deepEqual(kinds(running), ["full"]);
});

test("of a run in full, only the steps that its sampler met are shown", () => {
  const schedule = { ...record, schedule: "0-4/5", cached_steps: [], refused_steps: [] };
  const [done] = savedReport([{ ...schedule, full_steps: [0, 3] }]).runs;
  assert.deepEqual(cells(done).map(({ step, kind }) => [step, kind]), [[0, "full"], [3, "full"]]);
  assert.equal(counts(done).reached, length(done));
  const refused = { prompt_id: "p", run: 0, state: "refused", line: "a sampler of its own" };
  const [running] = [refused, step(0, "full"), step(3, "full")].reduce(afterEvent, null).runs;
  assert.deepEqual(kinds(running), ["full", "full"]);
});

const adaptive = {
  ...record,
  schedule: "0,2,4/5", // as the method made it
  full_steps: [0, 2, 4],
  cached_steps: [1, 3],
  refused_steps: [],
  gate: "SeaCache(threshold=0.2)",
  gate_values: [null, 0.15, 0.25, 0.1, "0.3"],
};

test("the steps that a method decides on are open until they come", () => {
  const open = { ...plan(), schedule: "0,4/5", is_open: true };
  const [run] = [open, step(0, "full"), step(1, "cached"), step(2, "full")].reduce(afterEvent, null).runs;
  assert.deepEqual(kinds(run), ["full", "cached", "full", "waiting", "waiting"]);
  assert.deepEqual(cells(run).map((cell) => cell.plan), ["full", "open", "open", "open", "full"]);
  assert.equal(scheduleOf(run), "");
  assert.equal(isWhole(run), false);
});

test("a finished run of a method shows its schedule and what was compared at each step", () => {
  const done = { prompt_id: "p", run: 0, state: "done", record: adaptive };
  const [run] = [{ ...plan(), is_open: true }, done].reduce(afterEvent, null).runs;
  assert.equal(isWhole(run), true);
  assert.equal(scheduleOf(run), "0,2,4/5");
  assert.deepEqual(cells(run).map((cell) => cell.value), [null, 0.15, 0.25, 0.1, null]);
});

test("what a method did not come to stays open", () => {
  const part = { full_steps: [0], cached_steps: [1], schedule: "0,4/5", gate_values: [null, 0.15, null, null, null] };
  const [run] = savedReport([{ ...adaptive, ...part }]).runs;
  assert.deepEqual(cells(run).map((cell) => cell.plan), ["full", "open", "open", "open", "full"]);
  assert.deepEqual(cells(run).map((cell) => cell.value), [null, 0.15, undefined, undefined, undefined]);
  assert.equal(scheduleOf(run), "");
});

test("a run without a method compares nothing and keeps its schedule when it stops", () => {
  const [run] = savedReport([{ ...record, full_steps: [0, 1], refused_steps: [] }]).runs;
  assert.deepEqual(cells(run).map((cell) => cell.value), Array(5).fill(undefined));
  assert.equal(scheduleOf(run), "0-1,3/5");
});

test("a record whose schedule is no schedule shows what happened", () => {
  for (const schedule of ["", "0-2", "0/99999999", "<b>/5"]) {
    const [run] = savedReport([{ ...record, schedule }]).runs;
    assert.equal(length(run), 5);
    assert.equal(run.schedule, schedule);
  }
});

const done = (run = 0) => ({ prompt_id: "p", run, state: "done", record });
const fitting = (line, run = 0) => ({ prompt_id: "p", run, state: "fitting", line });
const learning = ({ runs }) => runs.map(({ learned, isLearnable }) => [learned, isLearnable]);

test("what a run has learned, and whether it could, is known to its end", () => {
  const learned = { ...plan(0), learned: "mine", learnable: false };
  const learnable = { ...plan(1), learned: "", learnable: true };
  const events = [learned, step(0, "full"), done(), learnable, step(0, "full", 1), done(1)];
  assert.deepEqual(learning(events.reduce(afterEvent, null)), [["mine", false], ["", true]]);
});

test("what is not said of learning in words is not known", () => {
  const odd = { ...plan(), learned: ["mine"], learnable: "yes" };
  for (const event of [plan(), odd]) assert.deepEqual(learning(afterEvent(null, event)), [["", false]]);
  const saved = { ...record, learned: "mine", learnable: true };
  assert.deepEqual(learning(savedReport([saved])), [["", false]]);
});

test("words on a fit stand until the next event", () => {
  const full = [plan(), step(0, "full"), fitting("fitting: 64 evaluations")].reduce(afterEvent, null);
  assert.deepEqual([full.runs[0].fitting, kinds(full.runs[0])[0]], ["fitting: 64 evaluations", "full"]);
  assert.equal(afterEvent(full, done()).runs[0].fitting, "");
  // Between two runs the server names the one before.
  assert.deepEqual(afterEvent(full, plan(1)).runs.map((run) => run.fitting), ["", ""]);
  assert.deepEqual(afterFit(full).runs, [{ ...full.runs[0], fitting: "" }]);
  assert.equal(afterEvent(full, fitting({})).runs[0].fitting, "");
});

test("a fit before the first run is a report of its own", () => {
  for (const before of [null, undefined, savedReport([record])]) {
    const { runs, saved } = afterEvent(before, { ...fitting("fitting"), prompt_id: null });
    assert.deepEqual(runs.map((run) => [run.fitting, length(run)]), [["fitting", 0]]);
    assert.equal(saved, false);
  }
});

test("what was forgotten is learned in no run any more", () => {
  const events = ["mine", "other", "mine"].map((learned, run) => ({ ...plan(run), learned }));
  const report = events.reduce(afterEvent, null);
  const after = afterForgetting(report, "mine");
  assert.deepEqual(learning(after).map(([learned]) => learned), ["", "other", ""]);
  for (const nothing of [null, undefined, after]) assert.equal(afterForgetting(nothing, "mine"), nothing);
});

test("long schedules are shown in rows of about equal length", () => {
  assert.deepEqual([0, 1, 50, 60, 61, 120, 200].map((n) => columns(n)), [1, 1, 50, 60, 31, 60, 50]);
});

test("durations have few digits", () => {
  const shown = [0, 0.0084, 0.172, 0.996, 9.96, 12.34, 59.6, 200.2].map(seconds);
  assert.deepEqual(shown, ["0 ms", "8 ms", "0.17 s", "1.0 s", "10 s", "12 s", "1 min 0 s", "3 min 20 s"]);
});

test("sizes are in MiB and GiB", () => {
  assert.deepEqual([0.1, 24, 1945].map((n) => mebibytes(n * 2 ** 20)), ["0.1 MiB", "24 MiB", "1.9 GiB"]);
});
