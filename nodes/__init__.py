"""The ComfyUI nodes: thin, everything they compute is in ``gph_core``."""

from __future__ import annotations

from comfy_api.latest import ComfyExtension, io

from . import routes
from .cache import GoldenPathCache
from .demo import DemoModel, DemoPrompt
from .policy import PolicySelector
from .schedule_editor import ScheduleEditor


class GoldenPathExtension(ComfyExtension):
    """What ComfyUI asks for the node list."""

    async def on_load(self) -> None:
        routes.register()

    async def get_node_list(self) -> list[type[io.ComfyNode]]:
        return [GoldenPathCache, PolicySelector, ScheduleEditor, DemoModel, DemoPrompt]
