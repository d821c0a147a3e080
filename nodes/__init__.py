"""The ComfyUI nodes: thin, everything they compute is in ``gph_core``."""

from __future__ import annotations

from comfy_api.latest import ComfyExtension, io

from .cache import GoldenPathCache
from .demo import DemoModel, DemoPrompt
from .policy import PolicySelector


class GoldenPathExtension(ComfyExtension):
    """What ComfyUI asks for the node list."""

    async def get_node_list(self) -> list[type[io.ComfyNode]]:
        return [GoldenPathCache, PolicySelector, DemoModel, DemoPrompt]
