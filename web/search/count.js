// A number of full steps that is typed is meant: the speed above it then says so.

import * as host from "../shared/host.js";
import { register } from "../shared/views.js";

const COUNT = "full_steps below"; // as nodes/schema/types.py

register({
  name: "golden-path.count",

  nodeCreated(node) {
    const [speed, count] = ["speed", "full_steps"].map((name) => host.findWidget(node, name));
    if (!count || !speed?.options?.values?.includes?.(COUNT)) return;
    // Only what the user types: a workflow that is loaded keeps its speed.
    host.chain(count, "callback", () => {
      if (speed.value !== COUNT) host.setValue(speed, COUNT);
    });
  },
});
