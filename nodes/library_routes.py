"""What the page asks for about golden paths; every answer is JSON, errors are ``{"error": …}``."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from ..gph_core.golden_path import DRAWN, RETARGETED, GoldenPath
from ..gph_core.library import bundled_paths
from ..gph_core.retarget import retarget
from ..gph_core.schedule import Schedule
from . import user_paths

OWN = "/golden_path/user_paths"
Handler = Callable[[web.Request], Awaitable[web.Response]]


def register(routes: web.RouteTableDef) -> None:
    """Add the routes to ComfyUI's."""
    routes.get("/golden_path/paths")(_answered(list_paths))
    routes.post("/golden_path/retarget")(_answered(move))
    routes.post(OWN)(_answered(save))
    routes.post(f"{OWN}/import")(_answered(import_text))
    routes.get(f"{OWN}/{{name}}")(_answered(export))
    routes.post(f"{OWN}/{{name}}/name")(_answered(rename))
    routes.delete(f"{OWN}/{{name}}")(_answered(delete))


async def list_paths(request: web.Request) -> Any:
    """All paths, the user's first, and the files that could not be read."""
    own, broken = user_paths.library().read()
    return {
        "paths": [
            *(_entry(path, f"user/{path.name}") for path in own),
            *(_entry(path, path.name) for path in bundled_paths()),
        ],
        "broken": [{"file": file, "reason": reason} for file, reason in broken.items()],
    }


async def move(request: web.Request) -> Any:
    """A schedule for another number of steps, at evenly falling noise levels unless stated."""
    body = await _body(request)
    schedule = Schedule.parse(_text(body, "schedule"))
    steps = body.get("steps")
    if not isinstance(steps, int) or not 1 <= steps <= 1000:
        raise ValueError(f"the number of steps must be 1 to 1000, got {steps!r}")
    source = body.get("sigmas") or _falling(schedule.num_steps)
    target = body.get("target_sigmas") or _falling(steps)
    return {"schedule": str(retarget(schedule, source, target)), "origin": RETARGETED}


async def save(request: web.Request) -> Any:
    """Keep a schedule drawn in the editor."""
    body = await _body(request)
    schedule = Schedule.parse(_text(body, "schedule"))
    path = GoldenPath(_text(body, "name"), schedule, DRAWN)
    user_paths.library().save(path, overwrite=bool(body.get("replace")))
    return {"name": path.name}


async def import_text(request: web.Request) -> Any:
    """Keep a path that somebody shared."""
    body = await _body(request)
    path = user_paths.library().import_text(_text(body, "text"), bool(body.get("replace")))
    return {"name": path.name}


async def export(request: web.Request) -> Any:
    """A path as it is shared."""
    return user_paths.library().get(request.match_info["name"]).to_json()


async def rename(request: web.Request) -> Any:
    """Give a path another name."""
    name = _text(await _body(request), "name")
    user_paths.library().rename(request.match_info["name"], name)
    return {"name": name}


async def delete(request: web.Request) -> Any:
    """Delete a path."""
    user_paths.library().delete(request.match_info["name"])
    return {}


def _answered(function: Callable[[web.Request], Awaitable[Any]]) -> Handler:
    """The function as a handler: its result as JSON, wrong requests as 400, taken names as 409."""

    async def handler(request: web.Request) -> web.Response:
        try:
            return web.json_response(await function(request))
        except FileExistsError as error:
            return web.json_response({"error": str(error)}, status=409)
        except ValueError as error:
            return web.json_response({"error": str(error)}, status=400)

    return handler


async def _body(request: web.Request) -> dict[str, Any]:
    body = json.loads(await request.text())
    if not isinstance(body, dict):
        raise ValueError("the request is no JSON object")
    return body


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise ValueError(f"the request has no text {name!r}")
    return value


def _entry(path: GoldenPath, key: str) -> dict[str, Any]:
    schedule = path.schedule
    return {
        "id": key,
        "name": path.name,
        "model": path.model,
        "family": path.family,
        "schedule": str(schedule),
        "num_steps": schedule.num_steps,
        "num_full": schedule.num_full,
        "policy": str(path.policy),
        "origin": path.origin,
        "card": path.card,
    }


def _falling(steps: int) -> list[float]:
    return [1 - n / steps for n in range(steps + 1)]
