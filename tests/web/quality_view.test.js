import assert from "node:assert/strict";
import { test } from "node:test";

import { runsTable, table } from "../../web/quality_view.js";

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
    { label: "0", isMain: false, cells: ["31.26", "0.9753", "0.1000"] },
    { label: "1", isMain: false, cells: ["identical", "1.0000", "0.0000"] },
  ]);
});

test("one image needs no mean", () => {
  const metrics = { psnr: { mean: 20, identical: 0, values: [20] } };
  const { rows } = table({ ...report, images: 1, metrics }, say);
  assert.deepEqual(rows, [{ label: "0", isMain: false, cells: ["20.00"] }]);
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

test("identical images that a mean leaves out are told, and only those", () => {
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

test("the notes of the runs tell the path, what happened, and what is missing", () => {
  const { notes } = runsTable(compared, say);
  assert.deepEqual(notes.map(({ key }) => say(key)), ["closest", "path", "times", "runNote", "unavailable"]);
  assert.equal(notes[0].values.run, "run.fewer");
  assert.equal(notes[1].values.schedule, "0,3/8");
  assert.deepEqual(notes[3].values, { run: "run.cached", note: "noisy" });
});
