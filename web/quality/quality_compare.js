// Shows on each node that compares what its last run found: pictures or a table, of a shootout also live.

import { el, SCROLLS } from "../shared/dom.js";
import * as host from "../shared/host.js";
import { Memory, onOutput, partsOf, placeOf } from "../shared/memory.js";
import { learn, METRICS } from "../shared/metrics.js";
import { cellsOf, createStrip } from "../shared/strip.js";
import { addView } from "../shared/views.js";
import { createComparison } from "./comparison_panel.js";
import { keeping } from "./kept_comparison.js";
import { methodsTable, runsTable, table } from "./quality_view.js";

const { say } = host;
const EVENT = "golden_path.shootout"; // sent by nodes/shootout/shootout_live.py

/**
 * Of each node: the key of its output, what makes its panel, how wide the node and how high the panel
 * (as in the style sheet) are at least, and whether the panel fills a higher node.
 */
const NODES = {
  GPH_QualityCompare: { output: "gph_quality", create: comparison, width: 420, height: 440, fills: true },
  GPH_CompareRun: { output: "gph_compare", create: tables("quality.runIdle", runsTable), width: 600, height: 260 },
  GPH_MethodShootout: {
    output: "gph_shootout", create: tables("quality.methodsIdle", methodsTable), width: 920, height: 300,
  },
};

/** The last reports of shootouts that have not ended: newer than any output. */
const live = new Memory();

host.register({
  name: "golden-path.quality",

  setup() {
    host.onEvent(EVENT, (_node, report) => live.set(...placeOf(report), report));
    host.onEvent("executed", (_node, { output }) => {
      output?.gph_shootout?.forEach((report) => live.delete(...placeOf(report)));
    });
  },

  beforeRegisterNodeDef(_kind, { name, input }) {
    if (name === "GPH_ScheduleSearch") learn(input.optional.objective[1].gph_metrics);
  },

  nodeCreated(node) {
    const kind = NODES[node.comfyClass];
    if (!kind) return;
    const panel = kind.create(kind.output);
    host.heighten(host.findWidget(node, "methods"), 120); // ten of its lines
    addView(node, "quality_table", panel.element, { height: kind.height, fills: kind.fills, focus: panel.focus });
    if (node.size[0] < kind.width) node.setSize([kind.width, node.size[1]]);
    const show = panel.lose ? keeping(node, panel) : panel.show;
    onOutput(node, (output) => {
      const reports = partsOf(output, kind.output);
      if (reports.length) show(reports);
    });
    if (kind.output === "gph_shootout") live.shownBy(node, (report) => panel.show([report]));
  },
});

/** The pictures of Quality Compare. */
function comparison() {
  return createComparison((report) => draw(report, table(report, say)));
}

/** A panel of tables; `tableOf` makes one of a report. */
function tables(idle, tableOf) {
  return (output) => {
    const element = el("div", {
      className: `gph-quality ${output}`, "data-testid": "gph-quality", tabIndex: 0, role: "region",
      "aria-live": "polite", ...SCROLLS,
    }, el("div", { className: "gph-idle" }, say(idle)));
    const show = (reports) => {
      element.replaceChildren(...reports.flatMap((report) => draw(report, tableOf(report, say))));
    };
    return { element, show };
  };
}

/** Of each execution: a node that gets a list of images runs for each of them. */
function draw(report, { kind, caption = "caption", columns, rows, notes, strips = [] }) {
  const titles = columns.map(({ key, network }) => {
    const name = [say(`quality.${key}`), network && `(${network})`].filter(Boolean).join(" ");
    const best = METRICS[key]?.best ?? say(`quality.${key}.best`);
    return el("th", { scope: "col", title: say(`quality.${key}.tip`) }, name, el("small", {}, best));
  });
  const head = el("tr", {}, el("th", { scope: "col" }, say(`quality.${kind}`)), ...titles);
  const body = rows.map(({ label, isMain, cells }) =>
    el(
      "tr", { className: isMain ? "gph-quality-main" : "" },
      el("th", { scope: "row" }, label), ...cells.map((text) => el("td", {}, text)),
    ),
  );
  return [
    el("table", {}, el("caption", {}, say(`quality.${caption}`, report)), el("thead", {}, head), el("tbody", {}, ...body)),
    el("div", { className: "gph-quality-strips" }, ...strips.flatMap(schedule)),
    el("ul", { className: "gph-quality-notes" }, ...notes.map(({ key, values }) => el("li", {}, say(key, values)))),
  ];
}

/** Whose schedule, its steps, and in which part of the runs it occurred. */
function schedule({ label, plan, share, title }) {
  const strip = createStrip(cellsOf(plan), { "aria-label": title, title });
  return [el("span", {}, label), strip, el("span", {}, share)];
}
