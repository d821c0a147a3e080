"""The *Schedule Editor* node; the page draws its cells over the text (``web/``)."""

from __future__ import annotations

from comfy_api.latest import io

from ...gph_core.analysis.step_sensitivity import StepSensitivity
from ...gph_core.schedule import Schedule
from ..schema.inputs import check_known
from ..schema.node import Node
from ..schema.types import (
    CATEGORY,
    DEFAULT_SCHEDULE,
    GOLDEN,
    ScheduleText,
    ScheduleType,
    SensitivityType,
    origin_of,
)

MAX_STEPS = 200  # what the page draws legibly; a schedule in text may be longer


class ScheduleEditor(Node):
    """Edit a schedule by hand."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="GPH_ScheduleEditor",
            display_name="Schedule Editor",
            category=CATEGORY,
            description=(
                "Shows which steps are computed in full and which are cached, and lets you shape "
                "that by hand. Connect the schedule to Golden Path Cache and set its speed to "
                "Custom."
            ),
            search_aliases=[*GOLDEN, "cache schedule", "step grid", "full steps", "start_percent"],
            inputs=[
                io.MultiType.Input(
                    io.String.Input("schedule", default=DEFAULT_SCHEDULE),
                    types=[ScheduleType],
                    tooltip=(
                        "The full steps, then / and the number of steps, as in "
                        f"{DEFAULT_SCHEDULE}; or one digit a step, 1 = cached. The cells below "
                        "show and change it."
                    ),
                ),
                io.Sigmas.Input(
                    "sigmas",
                    optional=True,
                    tooltip=(
                        "Noise levels, to see after a run where the schedule spends its steps. "
                        "They do not change the schedule."
                    ),
                ),
                SensitivityType.Input(
                    "sensitivity",
                    optional=True,
                    tooltip=(
                        "From Propagation Gain, to see after a run at which steps an error grows "
                        "most until the end. It does not change the schedule."
                    ),
                ),
            ],
            outputs=[
                ScheduleType.Output(display_name="schedule"),
                io.String.Output(display_name="text"),
                io.Int.Output(display_name="num_steps", tooltip="All steps, N."),
                io.Int.Output(display_name="num_cached", tooltip="Cached steps, K."),
            ],
        )

    @classmethod
    def check_inputs(cls, schedule: str | None = None) -> None:
        check_known((parse, schedule))

    @classmethod
    def execute(
        cls, schedule: str, sigmas=None, sensitivity: StepSensitivity | None = None
    ) -> io.NodeOutput:  # fmt: skip
        parsed = parse(schedule)
        origin = origin_of(schedule)
        text = ScheduleText(parsed, origin) if origin else str(parsed)
        # Two samplers in a row share the noise levels, so a different count is no error here.
        drawn = {
            "gph_sigmas": [] if sigmas is None else [sigmas.tolist()],
            "gph_sensitivity": [] if sensitivity is None else [list(sensitivity.gains)],
        }
        return io.NodeOutput(text, text, parsed.num_steps, parsed.num_cached, ui=drawn)


def parse(text: str) -> Schedule:
    """Parse a schedule that the editor can show; ``ValueError`` says why it cannot."""
    schedule = Schedule.parse(text)
    if schedule.num_steps > MAX_STEPS:
        raise ValueError(
            f"the editor takes at most {MAX_STEPS} steps, this schedule has {schedule.num_steps}; "
            "connect or write it to Golden Path Cache itself"
        )
    return schedule
