"""Routes of the page; every answer is JSON, and errors are ``{"error": …}``."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable
from typing import Any

import comfy.model_sampling
import comfy.samplers
from aiohttp import web

from ...gph_core.paths.choice import spacing
from ...gph_core.schedule import Schedule
from ..cache.policy import CHOICES, PolicySelector
from ..cache.schedule_editor import MAX_STEPS
from ..library import library_routes
from ..library.library_routes import text_of

MAX_BODY_MIB = 16  # as of a path's file, which can be imported


def uniform_text(steps: int, full: int) -> dict[str, str]:
    """Evenly spaced full steps."""
    if type(full) is not int:
        raise ValueError(f"the number of full steps must be a whole number, got {_shown(full)}")
    return {"schedule": str(spacing(_count(steps), full))}


def check(schedule: str, policy: dict[str, Any]) -> dict[str, str | None]:
    """Reason why a policy refuses a schedule; ``policy`` holds the inputs of *Policy Selector*."""
    text = text_of(schedule, "schedule")
    if not isinstance(policy, dict):
        raise ValueError(f"policy must be the inputs of Policy Selector, got {_shown(policy)}")
    known = inspect.signature(PolicySelector.execute).parameters
    settings = {name: value for name, value in policy.items() if name in known}
    for name, value in settings.items():
        default = known[name].default
        types = (int, float) if isinstance(default, (int, float)) else str
        if not isinstance(value, types):
            raise ValueError(f"{name} of the policy is {_shown(value)}, which is of another kind")
    if settings.get("policy") not in CHOICES:
        raise ValueError(f"{_shown(settings.get('policy'))} is not a policy")
    try:
        result = PolicySelector.execute(**settings).result
        assert result is not None
        result[0].check(Schedule.parse(text))
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
    one_at_a_time = asyncio.Lock()
    for method, path, compute in ROUTES:
        routes.route(method, f"/golden_path{path}")(_handler(compute, one_at_a_time))


def _handler(compute: Callable[..., dict], lock: asyncio.Lock) -> Callable:
    """Wrap a function as a handler that passes path, query and body by name and answers in JSON."""

    async def handle(request: web.Request) -> web.Response:
        try:
            body = await _body(request) if request.method == "POST" else {}
            inputs = {**body, **request.query, **request.match_info}
            async with lock:  # in a thread: a thousand steps take seconds to move
                answer = await asyncio.to_thread(compute, **inputs)
            return web.json_response(answer)
        except FileExistsError as error:
            return web.json_response({"error": str(error)}, status=409)
        except (TypeError, ValueError) as error:  # TypeError: other arguments than it takes
            return web.json_response({"error": str(error)}, status=400)
        except OSError as error:  # the user's folder is full, or not ours to write
            return web.json_response({"error": f"{error.strerror}: {error.filename}"}, status=500)

    return handle


async def _body(request: web.Request) -> dict[str, Any]:
    """The JSON object that a request brings; ``ValueError`` for anything else."""
    size, most = request.content_length or 0, MAX_BODY_MIB * 2**20
    content = b"" if size > most else await request.read()
    if max(size, len(content)) > most:
        raise ValueError(f"the request has more than {MAX_BODY_MIB} MiB; send a smaller one")
    try:
        body = json.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the request is no JSON text: {error}") from error
    if not isinstance(body, dict):
        raise ValueError(f"the request is {_shown(body)}, not a mapping of names to values")
    return body


def _count(steps: int) -> int:
    if type(steps) is not int or not 1 <= steps <= MAX_STEPS:
        raise ValueError(f"{_shown(steps)} steps were asked for; the editor takes 1 to {MAX_STEPS}")
    return steps


def _shown(value: Any) -> str:
    """A value of a request, without the end of a long one."""
    return text if len(text := repr(value)) <= 50 else f"{text[:47]}..."
