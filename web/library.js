// Shows on each Golden Path Library node what is known about the chosen path.

import * as host from "./host.js";

const NODE = "GPH_GoldenPathLibrary";
const YOURS = "yours: "; // before the names of the user's own paths, as in nodes/library.py

host.register({
  name: "golden-path.library",

  nodeCreated(node) {
    if (node.comfyClass !== NODE) return;
    const card = document.createElement("pre");
    card.className = "gph-card";
    card.setAttribute("role", "status");
    host.addView(node, "golden_path_card", card, { height: 150 });
    const choice = host.findWidget(node, "path");
    const show = () => void describe(choice.value).then((text) => (card.textContent = text));
    host.onValue(node, choice, show);
    show();
  },
});

/** The card of an option of the node, or why there is none. */
async function describe(option) {
  try {
    const { paths } = await host.ask("/paths");
    const isOwn = String(option).startsWith(YOURS);
    const id = isOwn ? `user/${option.slice(YOURS.length)}` : option;
    return paths.find((path) => path.id === id)?.card ?? "";
  } catch (error) {
    return error.message;
  }
}
