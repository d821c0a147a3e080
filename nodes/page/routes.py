"""Routes of the page; every answer is JSON, and errors are ``{"error": …}``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import comfy.model_sampling
import comfy.samplers
from aiohttp import web

from ...gph_core.paths.choice import spacing
from ...gph_core.schedule import Schedule
from ..cache.policy import PolicySelector
from ..cache.schedule_editor import MAX_STEPS
from ..library import library_routes


def uniform_text(steps: int, full: int) -> dict[str, str]:
    """Evenly spaced full steps."""
    return {"schedule": str(spacing(_count(steps), full))}


def check(schedule: str, policy: dict[str, Any]) -> dict[str, str | None]:
    """Reason why a policy refuses a schedule; ``policy`` holds the inputs of *Policy Selector*."""
    known = inspect.signature(PolicySelector.execute).parameters
    settings = {name: value for name, value in policy.items() if name in known}
    try:
        result = PolicySelector.execute(**settings).result
        assert result is not None
        result[0].check(Schedule.parse(schedule))
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


OWN = "/user_paths"
ROUTES = (
    ("POST", "/uniform", uniform_text),
    ("POST", "/check", check),
    ("GET", "/sigmas", nominal_sigmas),
    ("POST", "/retarget", library_routes.move),
    ("GET", "/paths", library_routes.list_paths),
    ("GET", "/card", library_routes.card),
    ("POST", OWN, library_routes.save),
    ("POST", f"{OWN}/import", library_routes.import_text),
    ("GET", f"{OWN}/{{path}}", library_routes.export),
    ("DELETE", f"{OWN}/{{path}}", library_routes.delete),
    ("POST", f"{OWN}/{{path}}/name", library_routes.rename),
)


def register(routes: web.RouteTableDef) -> None:
    """Add the routes to those of ComfyUI's server."""
    for method, path, compute in ROUTES:
        routes.route(method, f"/golden_path{path}")(_handler(compute))


def _handler(compute: Callable[..., dict]) -> Callable:
    """Wrap a function as a handler that passes path, query and body by name and answers in JSON."""

    async def handle(request: web.Request) -> web.Response:
        try:
            body = await request.json() if request.method == "POST" else {}
            answer = compute(**{**body, **request.query, **request.match_info})
            return web.json_response(answer)
        except FileExistsError as error:
            return web.json_response({"error": str(error)}, status=409)
        except (TypeError, ValueError) as error:  # TypeError: other arguments than it takes
            return web.json_response({"error": str(error)}, status=400)

    return handle


def _count(steps: int) -> int:
    if not 1 <= steps <= MAX_STEPS:
        raise ValueError(f"{steps} steps were asked for; the editor takes 1 to {MAX_STEPS}")
    return steps
