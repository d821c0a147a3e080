/** What the tables of Quality Compare and Compare Run say. Needs no page. */

/** Metrics in the order of the columns, with their decimals. */
const COLUMNS = { psnr: 2, psnr_8bit: 2, ssim: 4, lpips: 4, frame_change: 4 };
const IDENTICAL = "identical"; // in the place of infinity, as in gph_core/comparison.py

/**
 * @typedef {object} Table
 * @property {string} kind what a row is, as a key
 * @property {{key: string, network: string}[]} columns
 * @property {{label: string, isMain: boolean, cells: string[]}[]} rows
 * @property {{key: string, values: object}[]} notes what the figures do not say
 */

/**
 * Each image; the mean of several stands first.
 * @param {object} report as nodes/quality_compare.py sends it
 * @param {(key: string, values?: object) => string} say
 * @returns {Table}
 */
export function table(report, say) {
  const { metrics, images } = report;
  const keys = Object.keys(COLUMNS).filter((key) => metrics[key]);
  const row = (label, isMain, valueOf) => ({ label, isMain, cells: keys.map((key) => cell(key, valueOf(key), say)) });
  const rows = Array.from({ length: images }, (_, n) => row(String(n), false, (key) => valueAt(metrics, key, n)));
  if (images > 1) rows.unshift(row(say("quality.mean"), true, (key) => metrics[key].mean));
  return { kind: "image", columns: columns(keys, report), rows, notes: notes(report, say) };
}

/**
 * Each run, with the means of its images; the one closest to the full run is the main one.
 * @param {object} report as nodes/compare_report.py makes it
 * @param {(key: string, values?: object) => string} say
 * @returns {Table}
 */
export function runsTable(report, say) {
  const { runs, speed, closest, unavailable } = report;
  const measured = Object.keys(COLUMNS).filter((key) => key !== "psnr_8bit" && runs[1].metrics[key]);
  const label = ({ name, steps }) => say(`quality.run.${name}`, { speed, steps });
  const rows = runs.map((run) => ({
    label: label(run),
    isMain: run.name === closest,
    cells: [
      say("quality.of", run), run.seconds.toFixed(2), `${run.speedup.toFixed(2)}×`,
      ...measured.map((key) => cell(key, run.metrics[key]?.mean, say)),
    ],
  }));
  const found = [
    { key: "quality.closest", values: { run: label(runs.find(({ name }) => name === closest)) } },
    { key: "quality.path", values: { ...report, schedule: runs[1].schedule } },
    { key: "quality.times", values: {} },
    ...runs.flatMap((run) => run.notes.map((note) => ({ key: "quality.runNote", values: { run: label(run), note } }))),
    ...missing(unavailable, say),
  ];
  return { kind: "run", columns: columns(["full_steps", "seconds", "speedup", ...measured], report), rows, notes: found };
}

function columns(keys, report) {
  return keys.map((key) => ({ key, network: networkOf(key, report) }));
}

/** The change between frames n − 1 and n stands at frame n; the first has none. */
function valueAt(metrics, key, n) {
  return metrics[key].values[key === "frame_change" ? n - 1 : n];
}

function cell(key, value, say) {
  if (value === undefined) return "–";
  if (value === IDENTICAL) return say("quality.identical");
  const text = value.toFixed(COLUMNS[key]);
  return key === "frame_change" && value > 0 ? `+${text}` : text;
}

function networkOf(key, report) {
  return key === "lpips" || key === "frame_change" ? report.lpips_network : "";
}

function notes({ metrics, images, unavailable, heat_map }, say) {
  const found = [];
  for (const [key, { identical }] of Object.entries(metrics)) {
    if (!identical || identical === images) continue;
    const values = { metric: say(`quality.${key}`), count: identical, images };
    found.push({ key: "quality.others", values });
  }
  const scale = { key: "quality.scale", values: { to: +heat_map.to.toPrecision(3) } };
  return [...found, ...missing(unavailable, say), scale];
}

function missing(unavailable, say) {
  return Object.entries(unavailable).map(([key, reason]) => (
    { key: "quality.unavailable", values: { metric: say(`quality.${key}`), reason } }
  ));
}
