"""The running prompt, and the workflow that is saved with its images.

A MODEL outlives the prompt that made it: ComfyUI keeps it for later prompts. So the report of a
run must go to the workflow being run, not to the one that the cache node saw.
"""

from __future__ import annotations

import uuid
from collections import Counter
from typing import Any, NamedTuple

from comfy_execution.progress import get_progress_state
from comfy_execution.utils import get_executing_context
from server import PromptServer

from ...gph_core.files.strict_json import finite

METADATA = "golden_path"  # in the workflow's ``extra``
KEPT = 100  # newest prompts whose workflow is remembered, besides all that are queued

_pnginfo: dict[str, dict] = {}  # by prompt id; the same objects that image nodes write
_runs: dict[str, Counter[str | None]] = {}  # runs of each node, by the id of the running prompt


class Prompt(NamedTuple):
    """Identity of the running prompt; every field is None outside ComfyUI's execution."""

    id: str | None
    workflow: dict | None

    @property
    def workflow_id(self) -> str | None:
        return (self.workflow or {}).get("id")


def current() -> Prompt:
    """Prompt whose node runs in this thread."""
    context = get_executing_context()
    if context is None:
        return Prompt(None, None)
    workflow = _pnginfo.get(context.prompt_id, {}).get("workflow")
    return Prompt(context.prompt_id, workflow if isinstance(workflow, dict) else None)


def displayed(node_id: str | None) -> str | None:
    """Id that a running node has in the workflow; loops, for example, run copies of nodes."""
    if node_id is None:
        return None
    return str(get_progress_state().dynprompt.get_display_node_id(node_id))


def count_run(prompt: Prompt, node_id: str | None) -> int:
    """Count a run of a node or of its copy; return its number within the prompt, from 0."""
    if prompt.id is None:
        return 0
    if prompt.id not in _runs:
        _runs.clear()  # prompts run one after the other
    counter = _runs.setdefault(prompt.id, Counter())
    counter[node_id] += 1
    return counter[node_id] - 1


def listening_server() -> PromptServer | None:
    """Server that reaches the client that queued the prompt; None without one."""
    server = getattr(PromptServer, "instance", None)
    return None if server is None or server.client_id is None else server


def client() -> str | None:
    """Id of the client that queued the running prompt; a page keeps its own when it is reloaded."""
    server = listening_server()
    return None if server is None else server.client_id


def tell(event: str, payload: dict[str, Any]) -> None:
    """Send a message to the page that queued the prompt, if one listens.

    Non-finite numbers become null: otherwise the browser could not read the message at all.
    """
    server = listening_server()
    if server is not None:
        server.send_sync(event, finite(payload), server.client_id)


def remember(json_data: dict[str, Any]) -> dict[str, Any]:
    """Prompt handler for ComfyUI: keep the workflow of a queued prompt by the prompt's id."""
    extra = json_data.get("extra_data")
    pnginfo = extra.get("extra_pnginfo") if isinstance(extra, dict) else None
    if isinstance(pnginfo, dict) and not is_queued(json_data.get("prompt_id")):
        # A workflow loaded from an image still holds that image's reports.
        workflow = pnginfo.get("workflow")
        if isinstance(workflow, dict) and isinstance(workflow.get("extra"), dict):
            workflow["extra"].pop(METADATA, None)
        _pnginfo[id_of(json_data)] = pnginfo
        forget_done(_pnginfo)
    return json_data


def is_queued(prompt_id: Any) -> bool:
    """Whether a prompt with this id runs or waits; two requests can use the same id."""
    return prompt_id is not None and str(prompt_id) in _in_queue()


def _in_queue() -> set[str]:
    server = getattr(PromptServer, "instance", None)  # there is none in tests
    queue = getattr(server, "prompt_queue", None)
    running, waiting = queue.get_current_queue() if queue else ((), ())
    return {item[1] for item in (*running, *waiting)}


def id_of(json_data: dict[str, Any]) -> str:
    """Id of a prompt that is being queued; sets one if it is missing."""
    if json_data.get("prompt_id") is None:
        json_data["prompt_id"] = str(uuid.uuid4())
    return str(json_data["prompt_id"])


def attach_report(workflow: dict | None, node_id: str | None, run: int, report: dict) -> None:
    """Put the report of a node's run into the workflow that images are saved with."""
    if workflow is None or node_id is None:
        return
    if not isinstance(workflow.get("extra"), dict):  # some programs write an empty list
        workflow["extra"] = {}
    reports = workflow["extra"].setdefault(METADATA, {}).setdefault(node_id, [])
    reports[run:] = [finite(report)]  # readers of the image parse it as JSON


def forget_done(known: dict[str, Any]) -> None:
    """Drop the oldest entries whose prompts are no longer queued; keys are prompt ids."""
    if len(known) <= KEPT:
        return
    alive = _in_queue()
    for prompt_id in list(known)[: len(known) - KEPT]:
        if prompt_id not in alive:
            del known[prompt_id]
