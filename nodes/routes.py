"""What the page asks the server while one edits a schedule."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import comfy.model_sampling
import comfy.samplers
from aiohttp import web
from server import PromptServer

from ..gph_core.schedule import Schedule, uniform
from .policy import PolicySelector
from .schedule_editor import MAX_STEPS


def uniform_text(steps: int, full: int) -> dict[str, str]:
    """Evenly spaced full steps."""
    return {"schedule": str(uniform(_count(steps), full))}


def check(schedule: str, policy: dict[str, Any]) -> dict[str, str | None]:
    """Why a policy refuses a schedule; ``policy`` are the inputs of *Policy Selector*."""
    known = inspect.signature(PolicySelector.execute).parameters
    settings = {name: value for name, value in policy.items() if name in known}
    try:
        PolicySelector.execute(**settings).result[0].check(Schedule.parse(schedule))
    except ValueError as error:
        return {"error": str(error)}
    return {"error": None}


def nominal_sigmas(scheduler: str, steps: str) -> dict[str, list[float]]:
    """Noise levels of a scheduler of ComfyUI on a flow model without shift."""
    if scheduler not in comfy.samplers.SCHEDULER_NAMES:
        raise ValueError(
            f"{scheduler!r} is not a scheduler; choose one of "
            f"{', '.join(comfy.samplers.SCHEDULER_NAMES)}"
        )
    sampling = comfy.model_sampling.ModelSamplingDiscreteFlow()
    sigmas = comfy.samplers.calculate_sigmas(sampling, scheduler, _count(int(steps)))
    return {"sigmas": sigmas.tolist()}


def register() -> None:
    """Tell ComfyUI's server, if there is one, about the routes."""
    server = getattr(PromptServer, "instance", None)
    if server is None:
        return
    server.routes.post("/golden_path/uniform")(_route(uniform_text))
    server.routes.post("/golden_path/check")(_route(check))
    server.routes.get("/golden_path/sigmas")(_route(nominal_sigmas))


def _route(compute: Callable[..., dict]) -> Callable:
    async def handle(request: web.Request) -> web.Response:
        try:
            is_post = request.method == "POST"
            arguments = await request.json() if is_post else dict(request.query)
            return web.json_response(compute(**arguments))
        except (TypeError, ValueError) as error:  # TypeError: other arguments than it takes
            return web.json_response({"error": str(error)}, status=400)

    return handle


def _count(steps: int) -> int:
    if not 1 <= steps <= MAX_STEPS:
        raise ValueError(f"{steps} steps were asked for; the editor takes 1 to {MAX_STEPS}")
    return steps
