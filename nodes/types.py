"""Wire types and the category shared by the nodes."""

from comfy_api.latest import io

CATEGORY = "Golden Path"

# Published for FLUX.1-dev at 50 steps: an example of the text that is a good one, too.
DEFAULT_SCHEDULE = "0-4,6,8,10,14,19,30,43,49/50"

# A schedule on a wire is its text, so a string connects too.
ScheduleType = io.Custom("GPH_SCHEDULE")

# A frozen gph_core policy.
PolicyType = io.Custom("GPH_POLICY")

# A tuple of ``examples.Example``.
ExamplesType = io.Custom("GPH_EXAMPLES")
