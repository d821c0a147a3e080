/** What the buttons of the Schedule Editor do to its text as a whole. */

import * as host from "../shared/host.js";
import { parse, readout } from "./schedule.js";

/**
 * @param {ReturnType<import("./schedule_text.js").createText>} text
 * @param {(key: string, values?: object) => string} t
 * @param {() => boolean} isGone whether the editor was removed while an answer was awaited
 * @param {ReturnType<import("./schedule_weights.js").createWeights>} weights
 */
export function createCommands(text, t, isGone, weights) {
  /** @param {object} [source] the path that a schedule was taken from; null for none */
  function set(schedule, source) {
    host.oneStep(() => {
      if (source !== undefined) weights.take(source);
      text.setValue(schedule);
    });
  }

  /** Take the schedule that a route answers with, unless the user went on in the meantime. */
  async function fromServer(path, body, source) {
    const before = text.value();
    try {
      const answer = await host.ask(path, { body });
      if (isGone() || text.value() !== before) return undefined;
      set(answer.schedule, source);
      return answer;
    } catch (reason) {
      host.toast("error", t("editor.failed"), reason.message);
      return undefined;
    }
  }

  return {
    /** The same number of full steps, evenly spread. */
    async spread() {
      const { numSteps, numFull } = readout(text.cells());
      await fromServer("/uniform", { steps: numSteps, full: numFull });
    },

    /** Take a schedule, for another number of steps the server's proposal from it. */
    async apply(found, { steps = text.cells().length, source } = {}) {
      if (parse(found).length === steps) return set(found, source);
      const origin = await fromServer("/retarget", { schedule: found, steps }, source);
      if (origin) {
        host.toast("info", t("editor.retargeted", { count: steps, origin: origin.origin }));
      }
    },

    async copy() {
      await host.copy(text.value(), t("editor.copy"), t("editor.exportAsk"));
    },

    async paste() {
      const pasted = await host.paste(t("editor.paste"), t("editor.pasteAsk"));
      if (pasted?.trim() && !isGone()) set(pasted.trim(), null);
    },
  };
}
