"""Wire types and the category shared by the nodes."""

from comfy_api.latest import io

CATEGORY = "Golden Path"

# A schedule on a wire is its text, so a string connects too.
ScheduleType = io.Custom("GPH_SCHEDULE")

# A frozen gph_core policy.
PolicyType = io.Custom("GPH_POLICY")
