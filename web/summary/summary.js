// Shows on each analysis node the main numbers of its last run.

import { blocks, el } from "../shared/dom.js";
import * as host from "../shared/host.js";
import { onOutput, partsOf } from "../shared/memory.js";
import { tables } from "../shared/strings.js";
import { addView } from "../shared/views.js";

host.register({
  name: "golden-path.summary",

  nodeCreated(node) {
    const key = `summary.${node.comfyClass}`; // a node that shows a text has one for before its runs
    if (!(key in tables.en)) return;
    const element = el("div", { className: "gph-summary", "data-testid": "gph-summary", role: "status" });
    element.append(el("div", { className: "gph-idle" }, host.say(key)));
    addView(node, "golden_path_summary", element, { height: 60 });
    onOutput(node, (output) => {
      const parts = partsOf(output, "gph_summary");
      if (parts.length) element.replaceChildren(...parts.flatMap(({ text }) => blocks(text)));
    });
  },
});
