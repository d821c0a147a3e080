import assert from "node:assert/strict";
import { test } from "node:test";

import "./metrics.js";
import {
  curveOf, figuresLine, figuresLines, itemsOf, meansLine, meansTip, place, scaledLine, verdictLine, worstOf,
} from "../../web/quality/comparison_view.js";
import { texts } from "../../web/shared/strings.js";

const say = texts("en");
const report = {
  images: 3,
  verdicts: ["hardly visible", "identical", "a different picture"],
  metrics: {
    psnr: { mean: 25.6, values: [41.24, "identical", 9.96] },
    ssim: { mean: 0.7, values: [0.9912, 1, 0.1] },
    frame_change: { mean: -0.01, values: [0.01, -0.03] },
  },
};

test("one line says how visible the difference is, and by which figures", () => {
  const lines = itemsOf({ parts: [report] }).map((item) => verdictLine(item, say));
  assert.deepEqual(lines, [
    "Difference hardly visible: 41.2 dB, SSIM 0.991",
    "Identical: no pixel differs",
    "A different picture: 10.0 dB, SSIM 0.100. If both runs have the same seed and settings, keep more steps full.",
  ]);
});

test("without SSIM the line goes by PSNR alone", () => {
  const { ssim, ...metrics } = report.metrics;
  assert.equal(verdictLine({ report: { ...report, metrics }, n: 0 }, say), "Difference hardly visible: 41.2 dB");
});

test("the figures of an image and their means stand in one line each", () => {
  assert.equal(figuresLine({ report, n: 1 }, say), "PSNR identical · SSIM 1.0000 · LPIPS Δt +0.0100");
  assert.equal(figuresLine({ report, n: 0 }, say), "PSNR 41.24 dB · SSIM 0.9912 · LPIPS Δt –");
  assert.equal(figuresLine({ report }, say), "PSNR 25.60 dB · SSIM 0.7000 · LPIPS Δt -0.0100");
});

test("several images have a line of means and what that of PSNR hides, a clip its own PSNR", () => {
  assert.equal(meansLine({ ...report, images: 1 }, say), "");
  const means = "Mean of 3: PSNR 25.60 dB · SSIM 0.7000 · LPIPS Δt -0.0100";
  const images = (tally) => ({ ...report, images: 3, metrics: { ...report.metrics, psnr: { ...report.metrics.psnr, ...tally } } });
  const some = images({ worst_tenth: 9.96, hardly_visible: 2 / 3 });
  assert.equal(meansLine(some, say), `${means} · worst tenth: PSNR 9.96 dB · hardly visible: 67\u00a0%`);
  const same = images({ worst_tenth: "identical", hardly_visible: 1 });
  assert.match(meansLine(same, say), / · worst tenth: PSNR identical · hardly visible: 100\u00a0%$/);
  const clip = { fps: 16, psnr: 14.71 };
  assert.equal(meansLine({ ...report, images: 3, clip }, say), `${means} · whole clip: PSNR 14.71 dB`);
});

test("a list has a line of its own, of clips as wholes", () => {
  const single = { ...report, images: 1, verdicts: ["hardly visible"] };
  const psnr = { mean: 25, values: [40, 10], worst_tenth: 10, hardly_visible: 0.5 };
  const all = { images: 2, metrics: { psnr } };
  const lines = figuresLines({ report: single, n: 0 }, { all }, say);
  assert.equal(lines.at(-1), "Whole list: Mean of 2: PSNR 25.00 dB · worst tenth: PSNR 10.00 dB · hardly visible: 50\u00a0%");
  assert.equal(lines.length, 2);
  const clips = { psnr: { ...psnr, mean: 24 } };
  assert.match(meansLine({ ...all, clips }, say), / · whole clips: mean PSNR 24.00 dB · worst tenth: PSNR 10.00 dB · /);
});

test("it is said which picture was scaled down, and whether that distorts it", () => {
  const sized = { width: 64, height: 48 };
  assert.equal(scaledLine(sized, say), "");
  const line = (scaled) => scaledLine({ ...sized, scaled }, say);
  assert.equal(line({ test: [128, 96] }), "Compared at 64 × 48 pixels; scaled down: test from 128 × 96");
  assert.equal(
    line({ reference: [64, 96], test: [128, 48] }),
    "Compared at 64 × 48 pixels; scaled down and distorted: reference from 64 × 96, test from 128 × 48",
  );
  // A side that is rounded to whole blocks: 1 % of the width.
  assert.doesNotMatch(line({ test: [129, 96] }), /distorted/);
});

test("one picture alone has its size and says what is missing", () => {
  const item = { report: { images: 2, width: 64, height: 48, missing: "test" }, n: 1 };
  assert.equal(itemsOf({ parts: [item.report] }).length, 2);
  assert.equal(verdictLine(item, say), "Reference alone. Connect images to “test” to compare them with it.");
  assert.deepEqual(figuresLines(item, {}, say), ["Images: 2, 64 × 48 pixels"]);
});

test("the words in the line of means are explained where they stand", () => {
  assert.equal(meansTip({ parts: [report] }, say), "");
  const tip = meansTip({ parts: [report], all: { metrics: { psnr: { worst_tenth: 20, hardly_visible: 0 } } } }, say);
  assert.match(tip, /^worst tenth: A tenth of the images .*\nhardly visible: Share of images .* 33 dB/);
});

test("the curves of a clip go from its lowest to its highest value, changes from the second frame on", () => {
  const metrics = { psnr: { values: [30, "identical", 20] }, frame_psnr: { values: [40, 35] } };
  const { paths, low, high } = curveOf({ metrics, images: 3 });
  assert.deepEqual([low, high], [20, 40]);
  const points = (path) => path.slice(1).split("L").map((point) => point.split(" ").map(Number));
  assert.deepEqual(points(paths.psnr), [[1 / 6, 0.5], [0.5, 0], [2.5 / 3, 1]]);
  assert.deepEqual(points(paths.frame_psnr), [[0.5, 0], [2.5 / 3, 0.25]]);
  const same = curveOf({ metrics: { psnr: { values: ["identical"] } }, images: 1 });
  assert.deepEqual([same.low, same.high, same.paths.psnr], [0, 0, "M0.5 0"]);
});

test("images of several reports follow one another, and the worst is found among all", () => {
  const worse = { images: 1, verdicts: ["a different picture"], metrics: { psnr: { values: [3] } } };
  const items = itemsOf({ parts: [report, worse] });
  assert.deepEqual(items.map(({ n }) => n), [0, 1, 2, 0]);
  assert.equal(worstOf(items), 3);
  assert.equal(worstOf(itemsOf({ parts: [report] })), 2);
});

test("a whole picture lies in the middle of its frame", () => {
  // 400 x 200 in 200 x 200: half the size, 50 above and below.
  const { scale, size, start } = place([200, 200], [400, 200]);
  assert.deepEqual([scale, size, start], [0.5, [200, 100], [0, 50]]);
});

test("a magnified picture shows the wanted part and never more than its edge", () => {
  assert.deepEqual(place([100, 100], [400, 400], 1).start, [-150, -150]);
  assert.deepEqual(place([100, 100], [400, 400], 1, [0.25, 0.75]).start, [-50, -250]);
  const beyond = place([100, 100], [400, 400], 1, [-3, 9]);
  assert.deepEqual(beyond.start, [0, -300]);
  assert.deepEqual(beyond.middle, [0.125, 0.875]);
  // Where the picture is narrower than the frame it stays in the middle.
  assert.deepEqual(place([100, 100], [60, 400], 1, [0, 0]).start, [20, 0]);
});
