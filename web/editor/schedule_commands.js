/** What the buttons of the Schedule Editor do to its text as a whole. */

import * as host from "../shared/host.js";
import { parse, readout } from "./schedule.js";

/**
 * @param {ReturnType<import("./schedule_text.js").createText>} text
 * @param {(key: string, values?: object) => string} t
 * @param {() => boolean} isGone whether the editor was removed while an answer was awaited
 */
export function createCommands(text, t, isGone) {
  /** Take the schedule that a route answers with, unless the user went on in the meantime. */
  async function fromServer(path, body) {
    const before = text.value();
    try {
      const answer = await host.ask(path, { body });
      if (isGone() || text.value() !== before) return undefined;
      host.oneStep(() => text.setValue(answer.schedule));
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
    async apply(found, steps = text.cells().length) {
      if (parse(found).length === steps) return host.oneStep(() => text.setValue(found));
      const origin = await fromServer("/retarget", { schedule: found, steps });
      if (origin) {
        host.toast("info", t("editor.retargeted", { count: steps, origin: origin.origin }));
      }
    },

    async copy() {
      await host.copy(text.value(), t("editor.copy"), t("editor.exportAsk"));
    },

    async paste() {
      const pasted = await host.paste(t("editor.paste"), t("editor.pasteAsk"));
      if (pasted?.trim() && !isGone()) host.oneStep(() => text.setValue(pasted.trim()));
    },
  };
}
