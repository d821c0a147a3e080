"""Users of ComfyUI, and the folders of their files and of the server's own.

With ``--multi-user`` ComfyUI has a folder for each user, and every request names its user. ComfyUI
trusts that name, and so does this module. The server has files of its own: those from before that
option, and those of prompts without a user. Users can read them, under marked names.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import folder_paths
from aiohttp import web
from comfy.cli_args import args
from server import PromptServer

from . import prompts

SERVERS = "server: "  # prefix for the server's files; the names of files have no colon
OURS = "/golden_path/"  # prefix of the pack's routes
# Same status and first words as ComfyUI's /v2/userdata; its other routes fail with 401 or 500.
UNKNOWN = (
    "Invalid user specified in request: with --multi-user, the header Comfy-User names a user of "
    "this server; choose one in ComfyUI's page"
)

_asking: ContextVar[str | None] = ContextVar("golden_path_user", default=None)
_queued: dict[str, str] = {}  # users, by the ids of their prompts
_assumed: str | None = None


def current() -> str | None:
    """Id of the user who sent the request or the running prompt; None stands for the server."""
    running = prompts.current().id
    return _asking.get() or (None if running is None else _queued.get(running)) or _assumed


def folder(user: str | None) -> Path:
    """Folder of all files of a user, or of the server; it may not exist yet."""
    root = folder_paths.get_public_user_directory(user) if user else None
    return Path(root or folder_paths.get_user_directory()) / "golden_path"


def own_folder() -> Path:
    """Folder of the current user, where everything is written."""
    return folder(current())


def readable_folders() -> dict[str, Path]:
    """Folders that the current user can read, by the prefix that their files' names get."""
    user = current()
    return {"": folder(user)} | ({} if user is None else {SERVERS: folder(None)})


def place_of(name: str) -> tuple[Path, str]:
    """Folder of a file to be read, and the file's name there."""
    if name.startswith(SERVERS):
        return folder(None), name.removeprefix(SERVERS)
    return own_folder(), name


def serve(server: PromptServer) -> None:
    """Keep track of the users of requests and prompts, if ComfyUI has several users."""
    if args.multi_user:
        server.app.middlewares.append(with_user)
        server.add_on_prompt_handler(remember)


def assume(user: str | None) -> None:
    """Attribute all prompts of this process to a user; for workers, which serve only one."""
    global _assumed
    _assumed = user


@web.middleware
async def with_user(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Answer a request as its user. Without a known user only the server's files are visible."""
    try:
        user = PromptServer.instance.user_manager.get_request_user_id(request)
    except KeyError:
        if request.path.removeprefix("/api").startswith(OURS):
            return web.json_response({"error": UNKNOWN}, status=403)
        user = None
    _asking.set(user)  # in the connection's task; its next request sets it again
    return await handler(request)


def remember(json_data: dict[str, Any]) -> dict[str, Any]:
    """Prompt handler for ComfyUI: keep the user of a queued prompt by the prompt's id."""
    user = _asking.get()
    if prompts.is_queued(json_data.get("prompt_id")):  # its user is known already
        return json_data
    if user is None:
        _queued.pop(str(json_data.get("prompt_id")), None)  # an earlier prompt may have this id
    else:
        _queued[prompts.id_of(json_data)] = user
        prompts.forget_done(_queued)
    return json_data
