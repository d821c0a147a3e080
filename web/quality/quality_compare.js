// Shows on each node that compares what its last run found: pictures or a table, of a shootout also live.

import { el } from "../shared/dom.js";
import * as host from "../shared/host.js";
import { createComparison } from "./comparison_panel.js";
import { methodsTable, runsTable, table } from "./quality_view.js";
import { fillStrip } from "../shared/strip.js";
import { texts } from "../shared/strings.js";
import { addView, register } from "../shared/views.js";

const EVENT = "golden_path.shootout"; // sent by nodes/shootout/shootout_live.py

/**
 * Of each node: the key of its output, what makes its panel, how wide the node and how high the panel
 * (as in the style sheet) are at least, and whether the panel fills a higher node.
 */
const NODES = {
  GPH_QualityCompare: { output: "gph_quality", create: comparison, width: 420, height: 440, fills: true },
  GPH_CompareRun: { output: "gph_compare", create: tables("quality.runIdle", runsTable), width: 0, height: 190 },
  GPH_MethodShootout: {
    output: "gph_shootout", create: tables("quality.methodsIdle", methodsTable), width: 860, height: 300,
  },
};

/** What shows a node's output, by node. */
const panels = new WeakMap();

/** The last reports of shootouts that have not ended, by workflow and node: newer than any output. */
const live = new Map();

register({
  name: "golden-path.quality",

  setup() {
    host.onEvent(EVENT, (node, report) => {
      live.set(keyOf(report), report);
      panels.get(node)?.({ gph_shootout: [report] });
    });
    host.onEvent("executed", (_node, { output }) => {
      output?.gph_shootout?.forEach((report) => live.delete(keyOf(report)));
    });
  },

  nodeCreated(node) {
    const kind = NODES[node.comfyClass];
    if (!kind) return;
    const panel = kind.create(kind.output);
    const show = (output) => {
      const reports = (output?.[kind.output] ?? []).filter(isOfThisWorkflow);
      if (reports.length) panel.show(reports);
    };
    host.heighten(host.findWidget(node, "methods"), 120); // ten of its lines
    addView(node, "quality_table", panel.element, { height: kind.height, fills: kind.fills, focus: panel.focus });
    if (node.size[0] < kind.width) node.setSize([kind.width, node.size[1]]);
    host.chain(node, "onExecuted", show);
    panels.set(node, show);
  },

  // A workflow was opened or came back from another tab.
  onNodeOutputsUpdated(outputs) {
    for (const [locator, output] of Object.entries(outputs)) {
      panels.get(host.findLocated(locator))?.(output);
    }
    showLive();
  },

  // The same, or an undo made the nodes anew.
  afterConfigureGraph: showLive,
});

function showLive() {
  for (const report of live.values()) {
    if (isOfThisWorkflow(report)) panels.get(host.findNode(report.node_id))?.({ gph_shootout: [report] });
  }
}

function keyOf({ workflow_id, node_id }) {
  return `${workflow_id} ${node_id}`;
}

/** ComfyUI hands a result to the node of that id in whatever workflow is open. */
function isOfThisWorkflow({ workflow_id }) {
  return !workflow_id || workflow_id === host.workflowId();
}

function say(key, values) {
  return texts(host.locale())(key, values);
}

/** The pictures of Quality Compare. */
function comparison() {
  return createComparison({
    language: () => say,
    urlOf: host.temporaryUrl,
    draw: (report) => draw(report, table(report, say)),
  });
}

/** A panel of tables; `tableOf` makes one of a report. */
function tables(idle, tableOf) {
  return (output) => {
    const element = el("div", {
      className: `gph-quality ${output}`, "data-testid": "gph-quality", tabIndex: 0, role: "region",
      "aria-live": "polite", "data-gph-scrolls": "", "data-capture-wheel": "true",
    }, el("div", { className: "gph-quality-idle" }, say(idle)));
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
    return el("th", { scope: "col", title: say(`quality.${key}.tip`) }, name, el("small", {}, say(`quality.${key}.best`)));
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
  const strip = el("div", { className: "gph-strip", role: "img", "aria-label": title, title });
  fillStrip(strip, plan, say);
  return [el("span", {}, label), strip, el("span", {}, share)];
}
