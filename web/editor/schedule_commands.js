/** What the buttons of the Schedule Editor do to its text as a whole. */

import { clipboardText, copy } from "../shared/clipboard.js";
import * as host from "../shared/host.js";
import { parse, readout, ScheduleError } from "./schedule.js";
import { adapt, takeAnswer } from "./schedule_answers.js";
import { cellsOf } from "./schedule_text.js";

const { say } = host;

/**
 * @param {ReturnType<import("./schedule_text.js").createText>} text
 * @param {() => boolean} isGone whether the editor was removed while an answer was awaited
 * @param {ReturnType<import("./schedule_weights.js").createWeights>} weights
 */
export function createCommands(text, isGone, weights) {
  /** @param {object} [source] the path that a schedule was taken from; null for none */
  function set(schedule, source) {
    host.oneStep(() => {
      if (source !== undefined) weights.take(source);
      text.setValue(schedule);
    });
  }

  const now = () => (isGone() ? undefined : text.value());

  /** Take a text that the user pasted; throws with the reason if the editor cannot. */
  function take(pasted) {
    try {
      cellsOf(pasted);
    } catch (reason) {
      throw reason instanceof ScheduleError ? new Error(reason.say(say)) : reason;
    }
    if (!isGone()) set(pasted, null);
  }

  return {
    /** The same number of full steps, evenly spread. */
    async spread() {
      const { numSteps, numFull } = readout(text.cells());
      await takeAnswer("/uniform", { steps: numSteps, full: numFull }, now, set);
    },

    /** Take a schedule, for another number of steps the server's proposal from it. */
    async apply(found, { steps = text.cells().length, source } = {}) {
      if (parse(found).length === steps) return set(found, source);
      await adapt(found, steps, now, (schedule) => set(schedule, source));
    },

    async copy() {
      await copy(text.value(), say("editor.copy"), say("editor.exportAsk"));
    },

    /** Take the clipboard's schedule. A text that is none leaves the present one. */
    async paste() {
      const pasted = await clipboardText();
      if (pasted === null) return host.promptUntil(say("editor.paste"), say("editor.pasteAsk"), take);
      try {
        take(pasted.trim());
      } catch (reason) {
        host.toast("error", say("editor.notPasted"), reason.message);
      }
    },
  };
}
