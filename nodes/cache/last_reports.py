"""The events of the last prompts, for a page that is loaded anew.

ComfyUI keeps what nodes gave. So an equal prompt that is queued after a reload runs nothing, and
nothing would be reported again. Once ComfyUI is restarted it runs anew, so memory is enough.
"""

from __future__ import annotations

import itertools
from typing import Any

from ..schema import prompts, users

Event = dict[str, Any]

KEPT = 100  # workflows

# By user, page and workflow, the latest last: of each node the events of its last prompt. Workflows
# that many people open, such as the examples, have one id for all.
_events: dict[tuple[str | None, str, str], dict[str, list[Event]]] = {}


def keep(event: Event) -> None:
    """Keep an event of ``golden_path.run``; the steps of a run only until it is done."""
    client, workflow, node = prompts.client(), event["workflow_id"], event["node_id"]
    state = event["state"]
    if client is None or workflow is None or node is None:
        return
    if state == "fitting":  # which may be cancelled unheard
        return
    key = users.current(), client, workflow
    nodes = _events[key] = _events.pop(key, {})
    former = nodes.get(node, [])
    if former and former[0]["prompt_id"] != event["prompt_id"]:
        former = []
    if state == "done":
        former = [e for e in former if (e["run"], e["state"]) != (event["run"], "running")]
    nodes[node] = [*former, event]
    while len(_events) > KEPT:
        del _events[next(iter(_events))]


def of(workflow: str, client: str) -> list[Event]:
    """Events of a workflow that a page of the current user ran, those of a node in their order."""
    nodes = _events.get((users.current(), client, workflow), {})
    return [event for events in list(nodes.values()) for event in events]


def forget(name: str) -> None:
    """Offer the current user no more to forget what was learned under a name."""
    for (user, _, _), nodes in list(_events.items()):
        for event in itertools.chain(*nodes.values()):
            if user == users.current() and event.get("learned") == name:
                event["learned"] = ""
