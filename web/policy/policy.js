// Policy Selector shows the inputs of the chosen policy alone, and what it suits and what ruins it.

import { el } from "../shared/dom.js";
import * as host from "../shared/host.js";
import { addView } from "../shared/views.js";

const NODE = "GPH_PolicySelector";
const VIEW = "golden_path_policy";

host.register({
  name: "golden-path.policy",

  nodeCreated(node) {
    if (node.comfyClass !== NODE) return;
    const choice = host.findWidget(node, "policy");
    const inputs = host.inputOptions(node, "policy").gph_inputs;
    const advice = el("div", { className: "gph-policy gph-dim", role: "status", "data-testid": "gph-policy" });
    addView(node, VIEW, advice, { height: 62 });

    const show = () => {
      const isLinked = host.isLinked(node, "policy");
      const own = inputs[choice.value];
      advice.textContent = isLinked || !own ? host.say("policy.linked") : host.say(`policy.${choice.value}`);
      // What a wire leads to stays in sight, and so does everything while the policy is unknown.
      host.showWidgets(node, ({ name }) =>
        ["policy", VIEW].includes(name) || isLinked || !own || own.includes(name) ||
        host.isLinked(node, name));
    };
    host.onValue(node, choice, show);
    host.chain(node, "onConnectionsChange", () => queueMicrotask(show));
    show();
  },
});
