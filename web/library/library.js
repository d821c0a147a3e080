// Shows on each Golden Path Library node what is known about the chosen path.

import { el } from "../shared/dom.js";
import * as host from "../shared/host.js";
import { addView } from "../shared/views.js";

const NODE = "GPH_GoldenPathLibrary";

host.register({
  name: "golden-path.library",

  nodeCreated(node) {
    if (node.comfyClass !== NODE) return;
    const card = el("pre", { className: "gph-card", role: "status" });
    addView(node, "golden_path_card", card, { height: 150 });
    const choice = host.findWidget(node, "path");
    const show = async () => {
      const asked = choice.value;
      const text = await describe(asked);
      if (choice.value === asked) card.textContent = text; // answers may come in another order
    };
    host.onValue(node, choice, show);
    show();
  },
});

/** The card of an option of the node, or why there is none. */
async function describe(option) {
  try {
    return (await host.ask(`/card?option=${encodeURIComponent(option)}`)).card;
  } catch (error) {
    return error.message;
  }
}
