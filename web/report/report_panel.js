/** The panel that shows a report (see run_view.js). */

import { warning } from "../editor/schedule_messages.js";
import { openMenu } from "../menu/context_menu.js";
import { copy } from "../shared/clipboard.js";
import { el } from "../shared/dom.js";
import { say } from "../shared/host.js";
import { unlessPressed } from "../shared/press.js";
import { failureText } from "./failure_line.js";
import { fullRunButton } from "./full_run_button.js";
import { learningRow } from "./learning.js";
import { alarms, legend, line, meter, notes, plan, strip, title, titleOf } from "./report_parts.js";
import { counts, isWhole, length, scheduleOf } from "./run_view.js";

export function createPanel() {
  const element = el("div", {
    className: "gph-report", "data-testid": "gph-report", tabIndex: 0, role: "group", "aria-label": say("report.region"),
    // Selected text has the browser's menu, which copies that.
    oncontextmenu: (event) => (isSelected(element) ? event.stopPropagation() : openMenu(event, entries())),
  });
  let report;
  let failure;
  let settings = {};
  let selected = -1;

  /** Show what is known of the node: the report of its last prompt, and why that failed. */
  function show(entry) {
    const { report: next } = entry;
    const follows = !report || report.prompt !== next?.prompt || next.saved !== report.saved;
    const last = (next?.runs.length ?? 0) - 1;
    if (follows || selected === report.runs.length - 1) selected = last;
    [report, failure] = [next, entry.failure];
    draw();
  }

  /**
   * Show what the settings of the node say, whatever ran.
   * @param {{off?: "off" | "bypassed", misfit?: {steps: number, count: number, adapt: () => void},
   *   learning?: import("./learning.js").Learning}} found why the node hands the model on as it is; the
   *   sampler's steps if the schedule has another number; what can be learned, or forgotten
   */
  function tell(found) {
    const [before, now] = [settings, found].map(({ learning, ...others }) => [learning, others].map((part) => JSON.stringify(part)));
    settings = found;
    if (before[1] !== now[1]) draw(); // a reader may have selected text
    else if (before[0] !== now[0]) keepingFocus(drawLearning);
  }

  const draw = () => keepingFocus(() => element.replaceChildren(...misfit(), ...parts()));

  function keepingFocus(change) {
    const focus = element.contains(document.activeElement) && document.activeElement.dataset.gphGo;
    change();
    if (focus) element.querySelector(`[data-gph-go="${focus}"]`)?.focus();
  }

  function drawLearning() {
    element.querySelector(".gph-report-learning")?.remove();
    if (showsRun()) element.lastChild.append(...learningRow(report.runs[selected], settings.learning));
  }

  const isBefore = () => !failure?.prompt || report?.prompt !== failure.prompt;
  const showsRun = () => report && !settings.off && !(failure && isBefore());

  function parts() {
    if (settings.off) return [line(title(say(`report.${settings.off}`))), ...reason()];
    if (failure && isBefore()) return [line(title(say(`report.state.${failure.state}`))), ...reason()];
    if (!report) return [el("div", { className: "gph-idle" }, say("report.idle"))];
    const run = report.runs[selected];
    if (run.state === "off") return [line(title(say("report.off")))];
    if (run.fitting && !length(run)) return [line(title(titleOf(run)))]; // nothing else is known yet
    const buttons = [...fullRunButton(report, run), ...learningRow(run, settings.learning)];
    return [
      ...alarms(run), head(run), ...reason(), strip(run), legend(run), plan(run), notes(run),
      el("div", { className: "gph-report-buttons" }, ...buttons),
    ];
  }

  function misfit() {
    if (!settings.misfit) return [];
    const { steps, count, adapt } = settings.misfit;
    const button = { label: say("editor.adapt", { steps }), run: adapt };
    return [warning(say("editor.otherSteps", { steps, count }), button)];
  }

  const reason = () => (failure?.words ? [failureText(failure)] : []);

  function titleOfRun(run) {
    const isLast = selected === report.runs.length - 1;
    if (failure && isLast && !length(run)) return say(`report.state.${failure.state}`);
    if (failure?.state !== "failed" || !isLast) return titleOf(run);
    if (isWhole(run)) return say("report.state.failed"); // before the next one began
    return say("report.failedAfter", { done: counts(run).reached, steps: length(run) });
  }

  function head(run) {
    const { figures } = run;
    const shown = line(title(titleOfRun(run)));
    if (isWhole(run) && figures.cachedSeconds.length) shown.append(...meter(figures));
    if (report.saved) shown.append(el("span", { className: "gph-report-tag gph-dim" }, say("report.saved")));
    if (report.runs.length > 1) shown.append(chooser());
    return shown;
  }

  function chooser() {
    const go = (by, sign, label) => el("button", {
      type: "button", disabled: !report.runs[selected + by], title: label, "aria-label": label, "data-gph-go": by,
      onclick() {
        selected += by;
        draw();
      },
    }, sign);
    return el(
      "span", { className: "gph-report-runs" },
      go(-1, "‹", say("report.older")),
      say("report.run", { index: selected + 1, count: report.runs.length }),
      go(1, "›", say("report.newer")),
    );
  }

  /** What a right-click offers. */
  function entries() {
    const entry = (key, text) => ({
      label: say(`report.${key}`), run: () => copy(text, say(`report.${key}`), say("report.copyAsk")),
    });
    const schedule = showsRun() && scheduleOf(report.runs[selected]);
    return [entry("copy", textOf(element)), ...(schedule ? [entry("copySchedule", schedule)] : [])];
  }

  /** The schedule of the last run, as far as there is one. */
  const schedule = () => (report ? scheduleOf(report.runs.at(-1)) : "");

  draw();
  return { element, show, tell: unlessPressed(element, tell), schedule };
}

function isSelected(element) {
  const selection = document.getSelection();
  return !selection.isCollapsed && element.contains(selection.anchorNode);
}

/** What an element shows, a line for each of its rows, without buttons. */
function textOf(element) {
  const words = (node) => (node.childElementCount ? [...node.childNodes].map(words) : [node.textContent.trim()]).flat();
  const rows = [...element.children].flatMap((part) => (part.matches("ul") ? [...part.children] : [part]));
  const shown = rows.filter((row) => !row.matches(".gph-report-buttons")).map((row) => {
    const copy = row.cloneNode(true);
    copy.querySelectorAll("button").forEach((button) => button.remove());
    return words(copy).filter(Boolean).join(" ");
  });
  return shown.filter(Boolean).join("\n");
}
