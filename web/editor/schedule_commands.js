/** What the buttons of the Schedule Editor do to its text as a whole. */

import * as host from "../shared/host.js";
import { parse, readout } from "./schedule.js";
import { adapt, takeAnswer } from "./schedule_answers.js";

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
      await host.copy(text.value(), host.say("editor.copy"), host.say("editor.exportAsk"));
    },

    async paste() {
      const pasted = await host.paste(host.say("editor.paste"), host.say("editor.pasteAsk"));
      if (pasted?.trim() && !isGone()) set(pasted.trim(), null);
    },
  };
}
