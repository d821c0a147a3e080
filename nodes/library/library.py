"""The *Golden Path Library* and *Save Golden Path* nodes."""

from __future__ import annotations

from typing import Any

from comfy_api.latest import io

from ...gph_core.paths.choice import provenance
from ...gph_core.paths.golden_path import DRAWN, RETARGETED, GoldenPath
from ...gph_core.paths.library import bundled_paths, check_name
from ...gph_core.paths.places import same_levels
from ...gph_core.paths.retarget import retarget
from ...gph_core.policies.base import Policy
from ...gph_core.policies.fitted import Fitted
from ...gph_core.schedule import Schedule
from ..hook import compatibility
from ..schema.inputs import check_known
from ..schema.node import Node
from ..schema.types import CATEGORY, PolicyType, ScheduleText, ScheduleType
from ..schema.users import SERVERS
from . import user_paths

YOURS = "yours: "


def find(choice: str) -> GoldenPath:
    """Path for an option of the node; ``ValueError`` if it no longer exists."""
    if choice.startswith((YOURS, SERVERS)):
        return user_paths.get(choice.removeprefix(YOURS))
    for path in bundled_paths():
        if path.name == choice:
            return path
    raise ValueError(f"there is no golden path {choice!r}; choose another one from the list")


def option_of(path: GoldenPath) -> str:
    """Option of the node for one of the user's or the server's paths."""
    return path.name if path.name.startswith(SERVERS) else YOURS + path.name


def fitted_paths() -> list[str]:
    """Options of the node whose paths have fitted weights, the user's first."""
    own = [option_of(path) for path in user_paths.read() if isinstance(path.policy, Fitted)]
    return own + [path.name for path in bundled_paths() if isinstance(path.policy, Fitted)]


class GoldenPathLibrary(Node):
    """Load a golden path, published or the user's own, as schedule and policy."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        bundled = [path.name for path in bundled_paths()]
        own = [option_of(path) for path in user_paths.read()]
        return io.Schema(
            node_id="GPH_GoldenPathLibrary",
            display_name="Golden Path Library",
            category=CATEGORY,
            description=(
                "Outputs a golden path, published or your own: its schedule, its policy, and "
                "what is known about it. Connect schedule and policy to Golden Path Cache and "
                "set its speed to Custom."
            ),
            search_aliases=["preset", "published", "cache schedules", "steps"],
            inputs=[
                io.Combo.Input(
                    "path",
                    options=[*own, *bundled],
                    default=bundled[0],
                    tooltip=(
                        "A path belongs to the model, the number of steps and the noise levels "
                        "that it was found with. Yours come first."
                    ),
                ),
                io.Sigmas.Input(
                    "sigmas",
                    optional=True,
                    tooltip=(
                        "The noise levels of your run, if they differ from the path's. The "
                        "schedule is then adapted to them; the result is not measured."
                    ),
                ),
            ],
            outputs=[
                ScheduleType.Output(display_name="schedule"),
                PolicyType.Output(display_name="policy"),
                io.String.Output(display_name="card"),
            ],
        )

    @classmethod
    def check_inputs(cls, path: str | None = None) -> None:
        check_known((find, path))

    @classmethod
    def fingerprint_inputs(cls, path: str | None, **kwargs) -> Any:
        # A user's path may have changed under the same name; a linked name may stand for any path.
        return [repr(possible) for possible in ([find(path)] if path else user_paths.read())]

    @classmethod
    def execute(cls, path: str, sigmas=None) -> io.NodeOutput:
        chosen = find(path)
        if sigmas is None:
            text = ScheduleText(chosen.schedule, provenance(chosen))
            return io.NodeOutput(text, chosen.policy, chosen.card)
        if not chosen.sigmas:
            raise ValueError(
                f"the noise levels of {chosen.name!r} are not known, so it cannot be adapted to "
                "others; disconnect sigmas to use it as it is"
            )
        levels, anchors = sigmas.tolist(), chosen.policy.min_anchors
        if isinstance(chosen.policy, Fitted) and not same_levels(chosen.sigmas, levels):
            raise ValueError(
                f"the weights of {chosen.name!r} were fitted at its own noise levels, so it "
                "cannot be adapted to others; disconnect sigmas, or choose another path"
            )
        schedule = retarget(chosen.schedule, chosen.sigmas, levels, min_anchors=anchors)
        card = f"{schedule}: {RETARGETED}, made for {len(levels) - 1} steps from\n{chosen.card}"
        text = ScheduleText(schedule, f"{RETARGETED}: {chosen.name}")
        return io.NodeOutput(text, chosen.policy, card)


class SaveGoldenPath(Node):
    """Save a schedule with its conditions in the user's library."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="GPH_SaveGoldenPath",
            display_name="Save Golden Path",
            category=CATEGORY,
            description=(
                "Saves a schedule under a name, with the conditions that it is for. Golden Path "
                "Library and Schedule Editor list it, and you can share its file."
            ),
            search_aliases=["preset", "export", "share"],
            is_output_node=True,
            inputs=[
                io.String.Input(
                    "name", default="my path", tooltip="Letters, digits, spaces and . , _ - + ( )"
                ),
                io.MultiType.Input(
                    io.String.Input("schedule", default=""),
                    types=[ScheduleType],
                    tooltip="The full steps, then / and the number of steps, as in 0-2,5,9/10.",
                ),
                PolicyType.Input(
                    "policy",
                    optional=True,
                    tooltip="The policy that it is for. Unconnected: residual reuse.",
                ),
                io.Model.Input(
                    "model",
                    optional=True,
                    tooltip=(
                        "The model that it is for. Without it, a speed of Golden Path Cache "
                        "cannot choose the path."
                    ),
                ),
                io.Sigmas.Input(
                    "sigmas",
                    optional=True,
                    tooltip=(
                        "The noise levels that it is for. They are needed to adapt it to others."
                    ),
                ),
                io.String.Input(
                    "notes", default="", multiline=True, optional=True, tooltip="Your own notes."
                ),
                io.Boolean.Input(
                    "overwrite",
                    default=False,
                    optional=True,
                    tooltip="Replace a path with this name. Off: the node asks for another name.",
                ),
            ],
            outputs=[io.String.Output(display_name="card")],
        )

    @classmethod
    def check_inputs(cls, name: str | None = None, schedule: str | None = None) -> None:
        check_known((check_name, name), (Schedule.parse, schedule))

    @classmethod
    def execute(
        cls, name: str, schedule: str, policy: Policy | None = None, model=None, sigmas=None,
        notes: str = "", overwrite: bool = False,
    ) -> io.NodeOutput:  # fmt: skip
        facts: dict[str, Any] = {} if policy is None else {"policy": policy}
        if model is not None:
            facts |= stated_model(model)
        if sigmas is not None:
            facts["sigmas"] = tuple(sigmas.tolist())
        path = GoldenPath(name, Schedule.parse(schedule), DRAWN, notes=notes, **facts)
        library = user_paths.library()
        if path not in library.read()[0]:  # saved already if the node is queued again
            library.save(path, overwrite)
        return io.NodeOutput(path.card)


def stated_model(model) -> dict[str, Any]:
    """Facts that identify a MODEL in a path: its family and the integers in its configuration.

    An unlisted model's class stands in for its family, and texts stand in for missing integers.
    """
    _, name = compatibility.identify(model)
    config = model.model.model_config.unet_config
    numbers = {key: value for key, value in config.items() if type(value) is int}
    texts = {key: value for key, value in config.items() if type(value) is str}
    return {"model": name, "family": name, "architecture": numbers or texts}
