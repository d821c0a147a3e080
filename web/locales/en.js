/** Every text of the pack's views, in English. `{name}` stands for a value. */
import quality from "./en_quality.js";

export default {
  "report.idle": "After a run: which steps were computed in full, how long they took, what it saved.",
  "report.faster": "{factor}× faster",
  "report.ideal": "ideal {factor}×",
  "report.idealHint":
    "Ideal: as if cached steps took no time. Faster: estimated from the median full step of this run.",
  "report.notFaster": "Computed in full",
  "report.planned": "About to start",
  "report.running": "Step {done} of {steps}",
  "report.stopped": "Stopped after {done} of {steps} steps",
  "report.off": "Off: all steps are computed in full",
  "report.bypassed": "Bypassed: all steps are computed in full",
  "report.field.off": "all steps are full",
  "report.field.open": "chosen when it runs",
  "report.state.refused": "Refused: nothing ran",
  "report.state.failed": "Failed",
  "report.failedAfter": "Failed after {done} of {steps} steps",
  "report.state.notRun": "Not run",
  "report.state.cancelled": "Cancelled before the first step",
  "report.endedAt": "{node} failed before: {words}",
  "report.saved": "from the saved image",
  "report.run": "Run {index} of {count}",
  "report.newer": "Newer run",
  "report.older": "Older run",
  "report.full": "{count} full",
  "report.cached": "{count} cached",
  "report.refused": "{count} refused",
  "report.time": "{total} ({each} each)",
  "report.cache": "{size} cache",
  "report.strip": "{full} full, {cached} cached, {refused} refused, of {steps} steps",
  "report.step": "Step {step}: {kind}",
  "report.sigma": "noise {sigma}",
  "report.value": "{method}, value {value}",
  "report.anyValue": "{method}, full at any value",
  "report.kind.full": "full",
  "report.kind.cached": "cached",
  "report.kind.refused": "planned as cached, computed in full",
  "report.kind.refused.open": "computed in full, though the method did not ask for it",
  "report.kind.waiting.full": "planned as full",
  "report.kind.waiting.cached": "planned as cached",
  "report.kind.waiting.open": "undecided",

  ...quality,

  "search.idle": "During a run: the best schedule so far, how its score rises, how much of the budget is used.",
  "search.preparing": "Preparing…",
  "search.references": "Full runs: {done} of {all}…",
  "search.searching": "Searching…",
  "search.validating": "Comparing the best ones: {done} of {all}…",
  "search.done": "Done",
  "search.stopped": "Stopped",
  "search.failed": "Ended by an error",
  "search.kept.stopped": "All scores are saved. Queue again with the same study and settings to continue.",
  "search.kept.failed": "All scores are saved. Fix the error and queue again to continue.",
  "search.score": "{objective} {score}",
  "search.validated": "{objective} {score} on the validation examples",
  "search.higher": "Mean over the scoring examples, at the end over the validation examples; higher is better",
  "search.lower": "Mean over the scoring examples, at the end over the validation examples; lower is better",
  "search.strip": "Best schedule: {full} of {steps} steps full",
  "search.curve": "Best {objective} over {count} scored schedules, from {first} to {last}",
  "search.scored": "{count} scored",
  "search.rate": "{rate} per minute",
  "search.used": "{percent} % used",
  "search.usedTip": "Used part of the budget, including former runs of this study",
  "search.table": "Result of the search",
  "search.workers": "Workers",
  "search.worker": "Worker {number}: {does}",
  "search.worker.loading": "starting",
  "search.worker.checking": "control runs",
  "search.worker.references": "full runs",
  "search.worker.scoring": "scoring",
  "search.worker.fitting": "fitting weights",
  "search.worker.waiting": "waiting for the others",
  "search.worker.lost": "lost",
  "search.workerRate": "{rate} full steps per minute",
  "search.workerRateTip": "Mean over the time in which the worker computes",

  // The reasons of `Schedule.parse` in gph_core/schedule.py, word by word.
  "schedule.noCount": "{text} has no step count; write the full steps, then /N, as in '0-2,5,9/10'",
  "schedule.tooMany": "{text} has {count} steps, at most {most} are supported",
  "schedule.backwards": "{part} in {text} runs backwards; write {end}-{begin}",
  "schedule.outside":
    "step {step} in {text} is outside the schedule; {count} steps are numbered 0 to {last}",
  "schedule.firstCached": "step 0 is cached, but nothing is computed before it; make step 0 full",
  "schedule.notANumber":
    "{part} in {text} is not a step number; write the full steps, then /N, as in '0-2,5,9/10'",
  "schedule.tooManyHere": "the editor takes at most {most} steps, this schedule has {count}; connect or write it to " +
    "Golden Path Cache itself",

  "editor.grid": "Schedule of {count} steps",
  "editor.full": "full",
  "editor.cached": "cached",
  "editor.stepIs": "Step {step} of {count}: {kind}",
  "editor.stepIsAt": "Step {step} of {count}: {kind}, noise level {sigma}",
  "editor.stepZero": "Step 0 is always full: nothing is computed before it",
  "editor.rangeIs": "Steps {first} to {last} selected",
  "editor.linked": "The schedule comes from the connected node.",

  "editor.otherSteps": "The sampler takes {steps} steps, this schedule has {count}.",
  "editor.adapt": "Adapt to {steps}",
  "editor.policy": "Refused by the policy: {reason}",
  "editor.weightsApart":
    "Fitted weights not in use: choose fitted and {path} in Policy Selector. A schedule carries no weights.",
  "editor.weightsLost":
    "Fitted weights lost: the weights of {path} hold only for its own steps. Schedule Search can fit others.",
  "editor.lastCached": "The last step ({step}) is cached; it is usually full.",
  "editor.wrongText": "This text is not a schedule: {reason}",
  "editor.restore": "Restore",
  "editor.failed": "That did not work",
  "editor.noAnswer": "This could not be checked: {reason}",

  "editor.stepsTip": "Number of steps, 1 to 200. New steps are added as full ones; a smaller number cuts the end.",
  "editor.lock": "Lock the number of full steps: every edit then moves one",
  "editor.locked": "The number of full steps is locked; press to unlock",
  "editor.lockedSteps": "Unlock the number of full steps to change the number of steps",
  "editor.uniform": "Spread the full steps evenly, the first three and the last one included",
  "editor.copy": "Copy the schedule as text",
  "editor.paste": "Paste a schedule",
  "editor.pasteAsk": "The schedule as text",
  "editor.presets": "Golden paths: choose, save, share",

  "editor.menuNone": "There is no path yet",
  "editor.menuSearch": "Search: model, policy, 13 of 50…",
  "editor.menuNothing": "No path has all these words",
  "editor.menuMore": "{count} more: add a word to the search",
  "editor.menuModel": "{model} (this workflow's model)",
  "editor.menuSave": "Save this schedule…",
  "editor.menuImport": "Import from text…",
  "editor.menuImportFile": "Import from file…",
  "editor.menuRename": "Rename {name}",
  "editor.menuDelete": "Delete {name}",
  "editor.menuExport": "Copy {name} as text to share",
  "editor.menuExportFile": "Save {name} as a file to share",
  "editor.menuBroken": "{file} cannot be read: {reason}",
  "editor.pathLine": "{full} of {count} full · {policy} · {origin}",
  "editor.nameAsk": "Name of the path",
  "editor.importAsk": "Paste the text of a shared path",
  "editor.deleteAsk": "Delete {name}? This cannot be undone.",
  "editor.saved": "Saved as {name}",
  "editor.retargeted": "Adapted to {count} steps: {origin}",
  "editor.exported": "{name} was copied to the clipboard",
  "editor.exportAsk": "The clipboard cannot be used; copy the text from here",

  "editor.figures": "{full} of {count} full · {cached} cached, {ratio} % · up to {speedup}× · longest gap {longest}",
  "editor.figuresTip":
    "Full and cached steps, the share of cached ones, the speed-up if a cached step took no time, " +
    "the longest run of cached steps",
  "editor.unused": "Not used: Golden Path Cache is set to {speed}.",
  "editor.useCustom": "Set to Custom",
  "editor.fullAll": "Make full: the selected range, or all steps",
  "editor.cachedAll": "Make cached: the selected range, or all steps but the first",
  "editor.invertAll": "Swap full and cached: in the selected range, or everywhere",
  "editor.leftAll": "Shift left by one step: the selected range, or everything",
  "editor.rightAll": "Shift right by one step: the selected range, or everything",
  "editor.lockedInvert": "Would change the number of full steps, which is locked",
  "editor.help":
    "Click or drag: full, cached. Shift-drag: move a full step. Ctrl-drag: select. " +
    "Keys: arrows, Space, Shift+arrows.",
  "editor.curveExact": "noise: last run",
  "editor.curveExactTip": "Noise level above each step, from the last run of the connected cache",
  "editor.curveNode": "noise: SIGMAS",
  "editor.curveNodeTip": "Noise level above each step, from the connected SIGMAS",
  "editor.curveNominal": "noise: nominal",
  "editor.curveNominalTip":
    "Noise level above each step, nominal: {scheduler} on a flow model without shift. A run shows " +
    "the real ones.",
  "editor.sensitivity": "orange: sensitivity",
  "editor.sensitivityTip": "How much an error made at each step has grown at the end, from the connected Propagation Gain",
  "editor.stepGain": "sensitivity {value}",
  "editor.otherSensitivity": "The sensitivity was measured on {steps} steps, this schedule has {count}.",
  "editor.menuOwn": "Your paths",
  "editor.menuServers": "The server's paths",
  "editor.menuSame": "For {steps} steps",
  "editor.menuOthers": "For other step counts; adapted when chosen, not measured",
  "editor.replaceTitle": "Replace it?",
  "editor.deleted": "{name} is deleted",

  "server.away": "ComfyUI cannot be reached; check that it runs, then try again ({reason})",
  "server.noReason": "the server answered {status} without a reason; look into ComfyUI's log, or at the proxy before it",
  "server.unreadable":
    "the server's answer ({status}) cannot be read; a proxy may have changed it. Reload the page, or look into ComfyUI's log",

  "policy.linked": "The policy comes from the connected node, so all inputs are shown.",
  "policy.residual reuse": "Suits every schedule, above all one with few full steps: errors do not grow. Fine detail is lost.",
  "policy.Taylor":
    "Suits schedules with 40 % full steps or more. Long gaps ruin the picture, above all with CFG: 12 of 28 full " +
    "steps gave 40 dB, 7 of 28 only 16 dB (demo model, CFG 3).",
  "policy.Hermite":
    "Suits schedules with 40 % full steps or more. It is a damped Taylor, but long gaps still ruin the picture: 12 of " +
    "28 full steps gave 40 dB, 7 of 28 only 20 dB (demo model, CFG 3).",
  "policy.two-anchor (DiCache)":
    "Suits schedules that were searched with it, and 40 % full steps or more. It runs the first block at every step, " +
    "which costs time. With few full steps residual reuse is often closer.",
  "policy.token prediction (DPCache)":
    "Suits schedules with 40 % full steps or more. Long gaps ruin the picture, above all with CFG: 21 of 50 full " +
    "steps gave 50 dB, 9 of 50 only 17 dB (demo model, CFG 3).",
  "policy.causal linear (L2P)":
    "Suits the schedule and model that its weights were fitted to; others give noise. Weights that build on " +
    "predictions can drift: Plan Schedule says how far. L2P (full steps only) is safer.",
  "policy.output reuse":
    "Suits models that are not on the list: it works with all, and cached steps are nearly free. With few full " +
    "steps the picture differs as much as with fewer steps.",
  "policy.output Taylor":
    "Suits models that are not on the list, with 40 % full steps or more. Long gaps ruin the picture, above all " +
    "with CFG.",
  "policy.velocity reuse":
    "Suits every model; cached steps are free. With Euler it is the same as fewer, uneven steps, so few full steps " +
    "change the picture as much.",
  "policy.velocity Taylor":
    "Suits every model, with 40 % full steps or more; cached steps are free. Long gaps ruin the picture, above all " +
    "with CFG.",
  "policy.mean velocity (MeanCache)":
    "Suits every model, with 40 % full steps or more; cached steps are free. Few full steps ruin the picture, above " +
    "all with CFG: 21 of 50 gave 48 dB, 7 of 28 only 23 dB (demo model, CFG 3).",
  "policy.fitted (golden path)":
    "Suits the golden path that it was fitted to, and is closest to the full run there. Another schedule, model, CFG " +
    "or other noise levels have no weights: such a run is refused, with the reason.",

  "summary.GPH_RecordTrajectory": "After a run: what was recorded, and where.",
  "summary.GPH_TrajectoryProfile": "After a run: how straight, how planar and how alike the runs are.",
  "summary.GPH_ErrorDecomposition": "After a run: how much of the error comes from the step itself and how much from the state before it.",
  "summary.GPH_PropagationGain": "After a run: at which steps an error grows most and least until the end.",
  "summary.GPH_Coverage": "After a run: on what share of the prompts a schedule is close to the best one, with a lower bound for all prompts.",
  "summary.GPH_ScheduleStatistics": "After a run: how many schedules occurred, and how often the most frequent ones.",
};
