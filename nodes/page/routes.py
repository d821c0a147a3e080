"""Routes of the page; every answer is JSON, and errors are ``{"error": …}``."""

from __future__ import annotations

import asyncio
import errno
import math
from collections.abc import Callable
from typing import Annotated, Any

import comfy.model_sampling
import comfy.samplers
from aiohttp import web

from ...gph_core.files import strict_json
from ...gph_core.paths.spacings import spacing
from ...gph_core.schedule import Schedule
from ...gph_core.texts import counted
from ..cache import last_reports
from ..cache.policy import PolicySelector
from ..cache.schedule_editor import MAX_STEPS
from ..learn import settings
from ..library import library_routes
from ..schema.faults import quoted, short
from . import requests
from .requests import Fields, body_of, fields_of, inputs_of

MAX_REASON = 900  # characters
Steps = Annotated[int, {"min": 1, "max": MAX_STEPS}]


def uniform_text(steps: Steps, full: int) -> dict[str, str]:
    """Evenly spaced full steps."""
    return {"schedule": str(spacing(steps, full))}


def check(schedule: str, policy: dict[str, Any]) -> dict[str, str | None]:
    """Reason why a policy refuses a schedule; ``policy`` holds the inputs of *Policy Selector*."""
    inputs = fields_of(PolicySelector.execute)
    settings = {name: value for name, value in policy.items() if name in inputs}
    requests.check(inputs, settings)
    verdict = PolicySelector.validate_inputs(**settings)
    if verdict is not True:
        return {"error": short(verdict, MAX_REASON)}
    try:
        result = PolicySelector.execute(**settings).result
        assert result is not None
        result[0].check(Schedule.parse(schedule))
    except ValueError as error:
        return {"error": short(str(error), MAX_REASON)}
    return {"error": None}


def nominal_sigmas(scheduler: str, steps: Steps) -> dict[str, list[float]]:
    """Noise levels of one of ComfyUI's schedulers on a flow model without shift."""
    if scheduler not in comfy.samplers.SCHEDULER_NAMES:
        raise ValueError(
            f"{quoted(scheduler)} is not a scheduler; choose one of "
            f"{', '.join(comfy.samplers.SCHEDULER_NAMES)}"
        )
    sampling = comfy.model_sampling.ModelSamplingDiscreteFlow()
    try:
        sigmas = comfy.samplers.calculate_sigmas(sampling, scheduler, steps).tolist()
    except Exception as error:  # of any kind, as the function may be another extension's
        raise ValueError(
            f"the scheduler {scheduler} fails for {counted(steps, 'step')}: {error}"
        ) from error
    if not all(map(math.isfinite, sigmas)):
        raise ValueError(
            f"the scheduler {scheduler} gives noise levels that are no finite numbers for "
            f"{counted(steps, 'step')}; choose another number of steps, or another scheduler"
        )
    return {"sigmas": sigmas}


def forget_learned(path: str) -> dict[str, Any]:
    """Forget what was learned under the name of a path."""
    settings.forget(path)
    last_reports.forget(path)
    return {}


def reports(workflow: str, client: str) -> dict[str, Any]:
    """What the cache nodes of a workflow reported last, as the page with this id was told."""
    return {"events": last_reports.of(workflow, client)}


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
    ("DELETE", "/learned/{path}", forget_learned),
    ("GET", "/reports/{workflow}", reports),
)


def register(routes: web.RouteTableDef) -> None:
    """Add the routes to those of ComfyUI's server."""
    one_at_a_time = asyncio.Lock()
    for method, path, compute in ROUTES:
        routes.route(method, f"/golden_path{path}")(_handler(compute, one_at_a_time))


def _handler(compute: Callable[..., dict[str, Any]], lock: asyncio.Lock) -> Callable:
    """Wrap a function as a handler that passes the fields of a request and answers in JSON."""
    fields = fields_of(compute)

    async def handle(request: web.Request) -> web.Response:
        status, text = await _answer(compute, fields, request, lock)
        response = web.json_response(text=text, status=status)
        if not request.content.is_eof():  # the rest of a refused body stays unread
            response.force_close()
        return response

    return handle


async def _answer(
    compute: Callable[..., dict[str, Any]], fields: Fields, request: web.Request, lock: asyncio.Lock
) -> tuple[int, str]:  # fmt: skip
    """Status and JSON text of an answer."""
    try:
        body = await body_of(request)
        async with lock:  # in a thread, because moving a thousand steps takes seconds
            return 200, await asyncio.to_thread(_computed, compute, fields, request, body)
    except ValueError as error:
        return 400, _refusal(str(error))
    except OSError as error:
        if isinstance(error, FileExistsError) and error.errno is None:  # the library has this name
            return 409, _refusal(str(error))
        if error.errno == errno.ENAMETOOLONG:
            return 400, _refusal("the name is too long for a file of this system; shorten it")
        # The disk is full, or we may not write to the user's folder.
        return 500, _refusal(f"{error.strerror or error}: {error.filename}")


def _computed(
    compute: Callable[..., dict[str, Any]], fields: Fields, request: web.Request, body: bytes
) -> str:  # fmt: skip
    answer = compute(**inputs_of(request, body, fields))
    try:
        return strict_json.dumps(answer)
    except ValueError as error:
        raise ValueError(f"the answer cannot be sent: {error}") from error


def _refusal(reason: str) -> str:
    """JSON text of a reason, cut if it quotes a long text of the request."""
    return strict_json.dumps({"error": short(reason, MAX_REASON)})
