// Shows on each Quality Compare and Compare Run node the figures of its last run as a table.

import { el } from "./dom.js";
import * as host from "./host.js";
import { runsTable, table } from "./quality_view.js";
import { texts } from "./strings.js";
import { addView, register } from "./views.js";

/** Of each node: the key of its output, what it says before a run, and what makes a table of a report. */
const NODES = {
  GPH_QualityCompare: { output: "gph_quality", idle: "quality.idle", tableOf: table },
  GPH_CompareRun: { output: "gph_compare", idle: "quality.runIdle", tableOf: runsTable },
};

/** What shows a node's output, by node. */
const panels = new WeakMap();

register({
  name: "golden-path.quality",

  nodeCreated(node) {
    const kind = NODES[node.comfyClass];
    if (!kind) return;
    const element = el("div", {
      className: "gph-quality", "data-testid": "gph-quality", tabIndex: 0, role: "region",
      "aria-live": "polite", "data-gph-scrolls": "", "data-capture-wheel": "true",
    });
    const show = (output) => {
      const reports = (output?.[kind.output] ?? []).filter(isOfThisWorkflow);
      if (reports.length) element.replaceChildren(...reports.flatMap((report) => draw(report, kind.tableOf(report, say))));
    };
    element.append(el("div", { className: "gph-quality-idle" }, say(kind.idle)));
    addView(node, "quality_table", element, { height: 190 });
    host.chain(node, "onExecuted", show);
    panels.set(node, show);
  },

  // A workflow was opened or came back from another tab.
  onNodeOutputsUpdated(outputs) {
    for (const [locator, output] of Object.entries(outputs)) {
      panels.get(host.findLocated(locator))?.(output);
    }
  },
});

/** ComfyUI hands a result to the node of that id in whatever workflow is open. */
function isOfThisWorkflow({ workflow_id }) {
  return !workflow_id || workflow_id === host.workflowId();
}

function say(key, values) {
  return texts(host.locale())(key, values);
}

/** Of each execution: a node that gets a list of images runs for each of them. */
function draw(report, { kind, columns, rows, notes }) {
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
    el("table", {}, el("caption", {}, say("quality.caption", report)), el("thead", {}, head), el("tbody", {}, ...body)),
    el("ul", { className: "gph-quality-notes" }, ...notes.map(({ key, values }) => el("li", {}, say(key, values)))),
  ];
}
