"""Wire types and the category shared by the nodes."""

from __future__ import annotations

from comfy_api.latest import io

from ...gph_core.schedule import Schedule

# Places in ComfyUI's menu: what most users need at the top, the others one level below.
CATEGORY = "Golden Path"
COMPARE, ANALYSIS = f"{CATEGORY}/compare", f"{CATEGORY}/analysis"
METHODS, DEMO = f"{CATEGORY}/adaptive and methods", f"{CATEGORY}/demo"

# Search words. The pack's name finds the five nodes that most users need. The names of other caches
# find what stands in for them: Golden Path Cache, and Adaptive Cache, which has their methods.
# ComfyUI ranks full matches first, so other nodes use these names only inside longer words.
GOLDEN = ("golden", "golden path")
OTHER_CACHES = (
    "TeaCache", "MagCache", "EasyCache", "First Block Cache", "FirstBlockCache", "FBCache",
)  # fmt: skip

# The choice of speed that takes the number of full steps from another input.
COUNT = "full_steps below"

# Published for FLUX.1-dev at 50 steps: an example of the format, and a good schedule.
DEFAULT_SCHEDULE = "0-4,6,8,10,14,19,30,43,49/50"

# A schedule on a wire is its text, so a string connects too.
ScheduleType = io.Custom("GPH_SCHEDULE")

# A ``ray_actors.Workers``.
WorkersType = io.Custom("GPH_WORKERS")


class ScheduleText(str):
    """Text of a schedule that is not the user's own, with its origin.

    Args:
        schedule: the schedule.
        origin: where it comes from, in words that can follow "steps 0 to 9 of". Optional because
            ``copy`` calls ``__new__`` without it and restores the attribute afterwards.
    """

    origin: str

    def __new__(cls, schedule: Schedule | str, origin: str = "") -> ScheduleText:
        text = super().__new__(cls, str(schedule))
        text.origin = origin
        return text


def origin_of(schedule: str) -> str:
    """Where a schedule on a wire comes from; empty if it is the user's own."""
    return schedule.origin if isinstance(schedule, ScheduleText) else ""


# A frozen gph_core policy.
PolicyType = io.Custom("GPH_POLICY")

# A tuple of ``examples.Example``.
ExamplesType = io.Custom("GPH_EXAMPLES")

# A calibration's name, which connects to text inputs and to combos.
CalibrationType = io.Custom("STRING,COMBO")

# A tuple of ``record_file.RecordedRun``.
RunsType = io.Custom("GPH_RUNS")

# A ``recordings.Trajectories``.
TrajectoriesType = io.Custom("GPH_TRAJECTORIES")
# A ``step_sensitivity.StepSensitivity``.
SensitivityType = io.Custom("GPH_SENSITIVITY")

# A ``judges.SemanticMetrics``.
SemanticType = io.Custom("GPH_SEMANTIC")
