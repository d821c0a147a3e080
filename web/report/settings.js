/** What the settings of a cache node mean for its report: before it runs, and while they differ. */

import { parse } from "../editor/schedule.js";
import { adapt } from "../editor/schedule_answers.js";
import * as host from "../shared/host.js";
import { samplerBehind, scheduleWidget, value } from "../shared/links.js";
import { learningOf } from "./learning.js";

const BYPASSED = 4; // LiteGraph's mode of such a node

/**
 * @param {object} node
 * @param {ReturnType<import("./report_panel.js").createPanel>} panel
 * @param {AbortSignal} removed
 * @param {(name: string) => void} forgotten told the name of what was learned and is forgotten
 * @returns {{ran: (schedule: string, speed?: string) => void}} told the schedule of the last run
 */
export function followSettings(node, panel, removed, forgotten) {
  const field = host.findWidget(node, "schedule"); // Adaptive Cache has none
  const [speedField, learnField] = ["speed", "learn"].map((name) => host.findWidget(node, name));
  let last = { schedule: "" };
  let timer;

  function look() {
    if (!node.graph) return;
    const speed = value(node, "speed");
    const off = node.mode === BYPASSED ? "bypassed" : speed === "Off" ? "off" : undefined;
    const misfit = speed === "Custom" ? otherSteps(node) : undefined;
    const learning = learningOf(node, speed, forgotten);
    panel.tell({ off, misfit: misfit && { ...misfit, adapt: () => adaptSchedule(node) }, learning });
    const isOwn = ["Custom", undefined].includes(speed);
    if (field) host.showInstead(node, field, isOwn ? wired() : used(speed));
  }

  /** What the field shows of a schedule that comes by a wire; undefined if it is the field's own. */
  function wired() {
    if (!host.isLinked(node, "schedule")) return undefined;
    const text = scheduleWidget(node)?.value;
    return typeof text === "string" ? text : host.say("report.field.wired");
  }

  /** What the field shows of a speed that chooses the schedule itself. */
  function used(speed) {
    if (speed === "Off") return host.say("report.field.off");
    const isLast = last.speed === undefined || last.speed === speed;
    return (isLast && last.schedule) || host.say("report.field.open");
  }

  // Once the graph is whole: wires are followed.
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(look, 60);
  };
  for (const widget of [speedField, field, learnField]) if (widget) host.onValue(node, widget, soon);
  const forget = host.onGraphChanged(soon);
  removed.addEventListener("abort", () => {
    clearTimeout(timer);
    forget();
  });
  soon();
  return {
    ran(schedule, speed) {
      last = { schedule, speed };
      soon();
    },
  };
}

/** The steps of the sampler behind a cache node and of its schedule, if they differ. */
function otherSteps(node) {
  const steps = samplerBehind(node)?.steps;
  const text = scheduleWidget(node)?.value;
  if (steps === undefined || typeof text !== "string") return undefined;
  try {
    const count = parse(text).length;
    return count === steps ? undefined : { steps, count, text };
  } catch {
    return undefined; // what is no schedule is refused with the reason
  }
}

/** Let the server propose a schedule for the sampler's number of steps. */
async function adaptSchedule(node) {
  const { steps, text } = otherSteps(node) ?? {};
  if (!text) return;
  const now = () => scheduleWidget(node)?.value;
  await adapt(text, steps, now, (schedule) =>
    host.oneStep(() => host.setValue(scheduleWidget(node), schedule)));
}
