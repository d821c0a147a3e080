/** From draft to final: the button that runs the prompt of a report once more, in full. */

import { orToast } from "../library/paths_actions.js";
import { el } from "../shared/dom.js";
import { say, toast } from "../shared/host.js";
import { isOutput, queueNodes, ranPrompt } from "../shared/queue.js";
import { bypassed, inFull } from "./full_run.js";
import { isWhole } from "./run_view.js";

/** The button, if a report knows its prompt and the run was cached. */
export function fullRunButton({ prompt, saved }, run) {
  if (!prompt || saved || !isWhole(run) || !run.figures.cachedSeconds.length) return [];
  const press = () => orToast(() => runInFull(prompt));
  return [el(
    "button", { type: "button", title: say("report.fullRunTip"), "data-gph-go": "full", onclick: press },
    say("report.fullRun"),
  )];
}

async function runInFull(prompt) {
  const ran = await ranPrompt(prompt);
  if (!ran) throw new Error(say("report.fullRunGone"));
  await queueNodes(inFull(ran.nodes, isOutput), bypassed(ran.workflow), ran.outputs);
  toast("info", say("report.fullRunQueued"));
}
