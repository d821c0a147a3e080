/** What Quality Compare says of an image, and where a picture lies in its frame. Needs no page. */

import { METRICS } from "../shared/metrics.js";
import { cell, IDENTICAL, TALLY, tallyOf } from "./quality_view.js";

const SQUEEZED = 0.02; // more is no rounding of sides to whole blocks of a model

/**
 * The images of all parts, in order: a list of batches has a part for each.
 * @returns {{report: object, n: number}[]}
 */
export function itemsOf({ parts }) {
  return parts.flatMap((report) => Array.from({ length: report.images }, (_, n) => ({ report, n })));
}

/** One plain line on an image: how visible its difference is, and by which figures. */
export function verdictLine({ report, n }, say) {
  if (report.missing) return say(`quality.missing.${report.missing}`);
  const { psnr, ssim } = report.metrics;
  const figures = [];
  if (psnr.values[n] !== IDENTICAL) figures.push(`${psnr.values[n].toFixed(1)} dB`);
  if (ssim) figures.push(`SSIM ${ssim.values[n].toFixed(3)}`);
  return say(`quality.verdict.${report.verdicts[n]}`, { figures: figures.join(", ") });
}

/** Lines below the verdict: the figures of an image, at what size, and the means of its batch and of a list. */
export function figuresLines(item, { all }, say) {
  const { report } = item;
  if (report.missing) return [say("quality.caption", report)];
  const whole = all && say("quality.all", { line: meansLine(all, say) });
  return [figuresLine(item, say), scaledLine(report, say), meansLine(report, say), whole].filter(Boolean);
}

/** At which size images were compared, and which of them had another; empty if none had. */
export function scaledLine({ width, height, scaled = {} }, say) {
  const from = Object.entries(scaled).map(([kind, [wide, high]]) => (
    say("quality.scaledFrom", { picture: say(`quality.picture.${kind}`), wide, high })
  ));
  if (!from.length) return "";
  const isSqueezed = Object.values(scaled).some(([wide, high]) => Math.abs((wide * height) / (high * width) - 1) > SQUEEZED);
  return say(isSqueezed ? "quality.squeezed" : "quality.scaled", { width, height, from: from.join(", ") });
}

/** All figures of an image, or with `n` undefined their means, in one line. */
export function figuresLine({ report, n }, say) {
  const parts = Object.entries(report.metrics).map(([key, { mean, values }]) => {
    const value = n === undefined ? mean : values[METRICS[key].isOfFrames ? n - 1 : n];
    const unit = Number.isFinite(value) ? METRICS[key].unit : "";
    return `${say(`quality.${key}`)} ${cell(key, value, say)}${unit}`;
  });
  return parts.join(" · ");
}

/**
 * The means of all images of a report in one line, and what the mean of PSNR hides; of a clip its
 * PSNR instead, and of several what their mean hides. Empty for one image.
 */
export function meansLine(report, say) {
  const { images, clip, clips, metrics: { psnr } } = report;
  if (images < 2) return "";
  const means = say("quality.means", { images, figures: figuresLine({ report }, say) });
  const more = clip
    ? say("quality.clip", { psnr: inDecibels(clip.psnr, say) })
    : tallyLine(clips?.psnr ?? psnr, clips, say);
  return `${means} · ${more}`;
}

function tallyLine(psnr, isOfClips, say) {
  const tally = say("quality.tally", { worst: inDecibels(psnr.worst_tenth, say), share: TALLY.hardly_visible(psnr) });
  return isOfClips ? say("quality.clips", { psnr: inDecibels(psnr.mean, say), tally }) : tally;
}

/** What the words in the lines of means mean; empty where they do not stand. */
export function meansTip({ parts, all }, say) {
  const tallies = [...parts, ...(all ? [all] : [])].map(({ metrics, clips }) => (clips ?? metrics)?.psnr ?? {});
  return [...new Set(tallies.flatMap(tallyOf))].map((key) => `${say(`quality.${key}`)}: ${say(`quality.${key}.tip`)}`).join("\n");
}

/** A PSNR with its unit, unless it is infinite. */
function inDecibels(psnr, say) {
  return cell("psnr", psnr, say) + (psnr === IDENTICAL ? "" : METRICS.psnr.unit);
}

/**
 * PSNR of the frames, and of their changes, as paths in a square from 0 to 1; frames that are
 * identical are at the top.
 * @returns {{paths: Record<string, string>, low: number, high: number}} `low` and `high` in dB
 */
export function curveOf({ metrics, images }) {
  const curves = ["psnr", "frame_psnr"].filter((key) => metrics[key]);
  const finite = curves.flatMap((key) => metrics[key].values).filter(Number.isFinite);
  const [low, high] = finite.length ? [Math.min(...finite), Math.max(...finite)] : [0, 0];
  const height = (value) => (Number.isFinite(value) && high > low ? (high - value) / (high - low) : 0);
  const paths = curves.map((key) => {
    const first = METRICS[key].isOfFrames ? 1 : 0; // a change stands at the second of its frames
    const points = metrics[key].values.map((value, n) => `${(n + first + 0.5) / images} ${height(value)}`);
    return [key, points.length ? `M${points.join("L")}` : ""];
  });
  return { paths: Object.fromEntries(paths), low, high };
}

/** The number of the image whose PSNR is the lowest. */
export function worstOf(items) {
  const psnr = ({ report, n }) => {
    const value = report.metrics.psnr.values[n];
    return value === IDENTICAL ? Infinity : value;
  };
  return items.reduce((worst, item, at) => (psnr(item) < psnr(items[worst]) ? at : worst), 0);
}

/**
 * Where a picture lies in a frame, in the frame's pixels.
 * @param {[number, number]} frame its width and height
 * @param {[number, number]} picture its width and height in its own pixels
 * @param {number} [scale] of a pixel of the picture; without it the whole picture fits
 * @param {[number, number]} [middle] which part of the picture is in the middle, 0 to 1
 * @returns {{scale: number, size: number[], start: number[], middle: number[]}} `middle` within bounds
 */
export function place(frame, picture, scale, middle = [0.5, 0.5]) {
  scale ??= fitting(frame, picture);
  const size = picture.map((side) => side * scale);
  const start = frame.map((side, axis) => {
    const room = side - size[axis];
    const wanted = side / 2 - middle[axis] * size[axis];
    return room >= 0 ? room / 2 : Math.min(0, Math.max(room, wanted));
  });
  return { scale, size, start, middle: frame.map((side, axis) => (side / 2 - start[axis]) / size[axis]) };
}

/** The scale at which the whole picture just fits. */
export function fitting(frame, picture) {
  return Math.min(...frame.map((side, axis) => side / picture[axis]));
}
