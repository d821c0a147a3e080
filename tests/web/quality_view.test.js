import assert from "node:assert/strict";
import { test } from "node:test";

import "./metrics.js";
import { methodsTable, runsTable, table } from "../../web/quality/quality_view.js";
import { METRICS } from "../../web/shared/metrics.js";

const say = (key) => key.replace("quality.", "");
const report = {
  images: 2,
  lpips_network: "AlexNet",
  metrics: {
    psnr: { mean: 31.256, identical: 1, values: [31.256, "identical"] },
    ssim: { mean: 0.98765, identical: 0, values: [0.9753, 1] },
    lpips: { mean: 0.05, identical: 0, values: [0.1, 0] },
  },
  unavailable: {},
  heat_map: { to: 0.123456 },
};

test("the mean stands first, then each image in the columns' order", () => {
  const { columns, rows } = table(report, say);
  assert.deepEqual(columns.map(({ key }) => key), ["psnr", "ssim", "lpips"]);
  assert.deepEqual(rows, [
    { label: "mean", isMain: true, cells: ["31.26", "0.9877", "0.0500"] },
    { label: "1", isMain: false, cells: ["31.26", "0.9753", "0.1000"] },
    { label: "2", isMain: false, cells: ["identical", "1.0000", "0.0000"] },
  ]);
});

test("one image needs no mean", () => {
  const metrics = { psnr: { mean: 20, identical: 0, values: [20] } };
  const { rows } = table({ ...report, images: 1, metrics }, say);
  assert.deepEqual(rows, [{ label: "1", isMain: false, cells: ["20.00"] }]);
});

test("a column says its unit, and which way is better", () => {
  const best = (key) => METRICS[key].best;
  assert.deepEqual(["psnr", "ssim", "lpips", "frame_change"].map(best), ["dB ↑", "↑", "↓ 0", "→ 0"]);
});

test("the metrics with a network name it", () => {
  const { columns } = table(report, say);
  assert.deepEqual(columns.map(({ network }) => network), ["", "", "AlexNet"]);
});

test("a change between frames stands at the later one, with its sign", () => {
  const metrics = { frame_change: { mean: -0.02, identical: 0, values: [0.01, -0.05] } };
  const { rows } = table({ ...report, images: 3, metrics }, say);
  assert.deepEqual(rows.map(({ cells }) => cells[0]), ["-0.0200", "–", "+0.0100", "-0.0500"]);
});

test("identical images that a mean leaves out are reported, and only those", () => {
  const others = (next) => table(next, say).notes.filter(({ key }) => key === "quality.others");
  assert.deepEqual(others(report), [
    { key: "quality.others", values: { metric: "psnr", count: 1, images: 2 } },
  ]);
  const all = { psnr: { mean: "identical", identical: 2, values: ["identical", "identical"] } };
  assert.deepEqual(others({ ...report, metrics: all }), []);
  assert.equal(table({ ...report, metrics: all }, say).rows[0].cells[0], "identical");
});

test("a metric that is missing has its reason in the place of a column", () => {
  const { lpips, ...metrics } = report.metrics;
  const { columns, notes } = table({ ...report, metrics, unavailable: { lpips: "off" } }, say);
  assert.deepEqual(columns.map(({ key }) => key), ["psnr", "ssim"]);
  assert.deepEqual(notes[1], { key: "quality.unavailable", values: { metric: "lpips", reason: "off" } });
});

test("the scale of the heat map has three digits", () => {
  assert.deepEqual(table(report, say).notes.at(-1), { key: "quality.scale", values: { to: 0.123 } });
});

const means = (psnr) => ({ psnr: { mean: psnr, identical: 0, values: [psnr] }, psnr_8bit: { mean: 1 } });
const compared = {
  images: 1,
  speed: "Fast",
  origin: "uniform spacing",
  policy: "residual reuse",
  closest: "fewer",
  lpips_network: null,
  absent: { "uniform spacing": "fitted for another schedule" },
  unavailable: { lpips: "off" },
  runs: [
    { name: "full", schedule: "0-7/8", steps: 8, full_steps: 8, seconds: 4, speedup: 1, metrics: {}, notes: [] },
    {
      name: "cached", schedule: "0,3/8", steps: 8, full_steps: 2, seconds: 1.254, speedup: 3.19,
      metrics: means("identical"), notes: ["noisy"],
    },
    { name: "fewer", schedule: "0-1/2", steps: 2, full_steps: 2, seconds: 1, speedup: 4, metrics: means(20), notes: [] },
  ],
};

test("each run has its steps, time, speed and means, and the closest one stands out", () => {
  const spoken = (key, values) => [key.replace("quality.", ""), ...Object.values(values ?? {}).slice(0, 2)].join(" ");
  const { columns, rows } = runsTable(compared, spoken);
  assert.deepEqual(columns.map(({ key }) => key), ["full_steps", "seconds", "speedup", "psnr"]);
  assert.deepEqual(rows.map(({ label }) => label), ["run.full Fast 8", "run.cached Fast 8", "run.fewer Fast 2"]);
  assert.deepEqual(rows.map(({ isMain }) => isMain), [false, false, true]);
  assert.deepEqual(rows.map(({ cells }) => cells.slice(1)), [
    ["4.00", "1.00×", "–"],
    ["1.25", "3.19×", "identical"],
    ["1.00", "4.00×", "20.00"],
  ]);
});

test("of a video each run also has the PSNR of the whole clip", () => {
  const clips = [{}, { psnr: { mean: 19.5 } }, { psnr: { mean: "identical" } }];
  const runs = compared.runs.map((run, n) => ({ ...run, clips: clips[n] }));
  const { columns, rows } = runsTable({ ...compared, runs }, say);
  assert.deepEqual(columns.map(({ key }) => key).slice(3), ["psnr", "clip_psnr"]);
  assert.deepEqual(rows.map(({ cells }) => cells.at(-1)), ["–", "19.50", "identical"]);
});

const tally = { worst_tenth: 18.126, hardly_visible: 0.375 };

test("of several images each run has what the mean of PSNR hides, behind it", () => {
  const ssim = { mean: 0.9 };
  const psnrs = [undefined, { mean: 30, ...tally }, { mean: "identical", worst_tenth: "identical", hardly_visible: 1 }];
  const runs = compared.runs.map((run, n) => ({ ...run, metrics: psnrs[n] ? { psnr: psnrs[n], ssim } : {} }));
  const { columns, rows } = runsTable({ ...compared, runs }, say);
  assert.deepEqual(columns.map(({ key }) => key).slice(3), ["psnr", "worst_tenth", "hardly_visible", "ssim"]);
  assert.deepEqual(rows.map(({ cells }) => cells.slice(3)), [
    ["–", "–", "–", "–"], ["30.00", "18.13", "38\u00a0%", "0.9000"], ["identical", "identical", "100\u00a0%", "0.9000"],
  ]);
});

test("of several videos the same stands behind the PSNR of whole clips", () => {
  const clips = [{}, { psnr: { mean: 19.5, ...tally } }, { psnr: { mean: 21, worst_tenth: 20, hardly_visible: 0 } }];
  const runs = compared.runs.map((run, n) => ({ ...run, clips: clips[n] }));
  const { columns, rows } = runsTable({ ...compared, runs }, say);
  assert.deepEqual(columns.map(({ key }) => key).slice(3), ["psnr", "clip_psnr", "worst_tenth", "hardly_visible"]);
  assert.deepEqual(rows.map(({ cells }) => cells.slice(4)), [
    ["–", "–", "–"], ["19.50", "18.13", "38\u00a0%"], ["21.00", "20.00", "0\u00a0%"],
  ]);
});

test("the notes of the runs tell the path, what happened, and what is missing", () => {
  const { notes } = runsTable(compared, say);
  assert.deepEqual(notes.map(({ key }) => say(key)), ["closest", "path", "times", "runNote", "absent", "unavailable"]);
  assert.equal(notes[0].values.run, "run.fewer");
  assert.equal(notes[1].values.schedule, "0,3/8");
  assert.deepEqual(notes[3].values, { run: "run.cached", note: "noisy" });
});

const shootout = {
  steps: 10, full_steps: 4, examples: 2, of_examples: 2, metric: "psnr", lpips_network: null,
  rows: [
    {
      name: "full", steps: 10, cached: { mean: 0, spread: 0 }, full: 10, comparable: true, seconds: 4, speedup: 1,
      metrics: {}, notes: [], runs: 2, ahead: {}, policy: null, origin: "every step",
      schedules: [{ schedule: "0-9/10", share: 1 }],
    },
    {
      name: "SeaCache", steps: 10, cached: { mean: 6.4, spread: 0.5 }, full: 3.6, comparable: true, seconds: 2, speedup: 2,
      notes: ["noisy"], runs: 2, policy: "residual reuse", origin: "SeaCache, threshold 0.2",
      ahead: { psnr: { mean: 1.25, low: -0.25, high: 2.75 }, latent_mse: { mean: 0.001, low: null, high: null } },
      schedules: [{ schedule: "0,9/10", share: 2 / 3 }, { schedule: "0,4,9/10", share: 1 / 3 }],
      metrics: { psnr: { mean: 30, low: 28.5, high: 31.5 }, latent_mse: { mean: 0.00123456, low: null, high: null } },
    },
    {
      name: "plain steps", steps: 4, cached: { mean: 0, spread: 0 }, full: 4, comparable: true, seconds: 1, speedup: 4,
      notes: [], runs: 2, policy: null, origin: "4 steps", schedules: [{ schedule: "0-3/4", share: 1 }],
      ahead: { psnr: { mean: -0.5, low: null, high: null } },
      metrics: { psnr: { mean: "identical", low: null, high: null }, latent_mse: { mean: null, low: null, high: null } },
    },
  ],
  absent: { TeaCache: "run Calibrate Ratio", L2P: "L2P needs products", DiCache: "run Calibrate Ratio" },
  unavailable: { lpips: "off" },
};

test("each method has its cached steps, time, speed and means with half their interval", () => {
  const spoken = (key, values) => [key.replace("quality.", ""), ...Object.values(values ?? {})].join(" ");
  const { columns, rows } = methodsTable(shootout, spoken);
  assert.deepEqual(columns.map(({ key }) => key), ["cached", "seconds", "speedup", "psnr", "latent_mse", "ahead"]);
  assert.deepEqual(rows.map(({ label, isMain }) => [label, isMain]), [["full", false], ["SeaCache", true], ["plain steps", false]]);
  assert.deepEqual(rows.map(({ cells }) => cells), [
    ["cachedOf 0 10", "4.00", "1.00×", "–", "–", "–"],
    ["cachedOf 6.4 ± 0.5 10", "2.00", "2.00×", "30.00 ± 1.50", "0.00123", "+1.25 ± 1.50"],
    ["cachedOf 0 4", "1.00", "4.00×", "identical", "–", "-0.50"],
  ]);
});

test("of several examples each method has what the mean of PSNR hides, a value that is no number too", () => {
  const [full, other] = shootout.rows;
  const method = (name, psnr) => ({ ...other, name, ahead: {}, metrics: { psnr } });
  const [fine, lost] = [{ mean: 30, low: 28.5, ...tally }, { mean: null, low: null, worst_tenth: null, hardly_visible: 0.5 }];
  const { columns, rows } = methodsTable({ ...shootout, rows: [full, method("L2P", fine), method("SeaCache", lost)] }, say);
  assert.deepEqual(columns.map(({ key }) => key).slice(3), ["psnr", "worst_tenth", "hardly_visible"]);
  assert.deepEqual(rows.map(({ cells }) => cells.slice(3)), [
    ["–", "–", "–"], ["30.00 ± 1.50", "18.13", "38\u00a0%"], ["–", "–", "50\u00a0%"],
  ]);
});

test("the notes of a shootout tell what happened, who is absent, and what is missing", () => {
  const { notes } = methodsTable(shootout, say);
  assert.deepEqual(notes.map(({ key }) => say(key)), ["medians", "runNote", "absent", "absent", "unavailable"]);
  assert.deepEqual(notes[1].values, { run: "SeaCache", note: "noisy" });
  assert.deepEqual(notes[2].values, { reason: "TeaCache, DiCache: run Calibrate Ratio" });
  assert.deepEqual(notes[3].values, { reason: "L2P needs products" });
});

test("a method with another number of full steps is not the best one, and says why", () => {
  const [full, SeaCache] = shootout.rows;
  const other = { ...SeaCache, full: 4.96, comparable: false };
  const spoken = (key, values) => [key.replace("quality.", ""), values?.name].join(" ");
  const { rows, notes } = methodsTable({ ...shootout, rows: [full, other] }, spoken);
  assert.deepEqual(rows[1].label, "incomparable SeaCache");
  assert.ok(!rows[1].isMain);
  assert.deepEqual(notes[1], { key: "quality.otherCount", values: { name: "SeaCache", full: 5, wanted: 4 } });
});

test("without uniform spacing no column tells of it", () => {
  const rows = shootout.rows.map((row) => ({ ...row, ahead: {} }));
  assert.ok(!methodsTable({ ...shootout, rows }, say).columns.some(({ key }) => key === "ahead"));
});

test("a shootout has a strip for each schedule, whose method stands at the first of its own", () => {
  const { strips } = methodsTable(shootout, say);
  assert.deepEqual(strips.map(({ label, share }) => [label, share]), [
    ["full", "100 %"], ["SeaCache", "67 %"], ["", "33 %"], ["plain steps", "100 %"],
  ]);
  assert.deepEqual(strips[2].plan.flatMap((isFull, step) => (isFull ? [step] : [])), [0, 4, 9]);
  assert.equal(strips[2].title, "0,4,9/10; residual reuse; SeaCache, threshold 0.2");
});

test("before its end a shootout says how many examples its figures are of", () => {
  assert.equal(methodsTable(shootout, say).caption, "methods");
  assert.equal(methodsTable({ ...shootout, of_examples: 3 }, say).caption, "methodsSoFar");
});

test("images that are identical to those of the full run are reported of the method", () => {
  const [full, other] = shootout.rows;
  const metrics = { psnr: { mean: 30, low: 29, high: 31, identical: 1 } };
  const spoken = (key, values) => [key.replace("quality.", ""), ...Object.values(values ?? {})].join(" ");
  const { notes } = methodsTable({ ...shootout, rows: [full, { ...other, notes: [], metrics }] }, spoken);
  assert.deepEqual(notes[1], { key: "quality.runNote", values: { run: "SeaCache", note: "others psnr 1 2" } });
});

test("scores by the prompt stand behind the other metrics, changes with one sign", () => {
  const [full, other] = shootout.rows;
  const metrics = {
    reward_change: { mean: -0.0625, low: -0.1, high: -0.025 },
    clip_change: { mean: 0.25, low: -0.5, high: 1 },
    clip_score: { mean: 31.255, low: 30.255, high: 32.255 },
    psnr: { mean: 30, low: 28.5, high: 31.5 },
  };
  const { columns, rows } = methodsTable({ ...shootout, rows: [full, { ...other, metrics, ahead: {} }] }, say);
  assert.deepEqual(columns.slice(3).map(({ key }) => key), ["psnr", "clip_score", "clip_change", "reward_change"]);
  assert.deepEqual(rows[1].cells.slice(4), ["31.25 ± 1.00", "+0.25 ± 0.75", "-0.063 ± 0.038"]);
});
