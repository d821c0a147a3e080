"""The part of a prompt that a node's inputs come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Prompt = dict[str, dict[str, Any]]


def upstream(prompt: Mapping[str, Mapping[str, Any]], node_id: str, without: str) -> Prompt:
    """A node and everything that its inputs come from, in the API format.

    Args:
        without: input of the node that is left out, with what only it needs.

    Raises:
        ValueError: the node is not in the prompt.
    """
    if node_id not in prompt:
        raise ValueError(
            "workers need a node that stands in the workflow itself; this one was made by another "
            "node while it ran"
        )
    own = dict(prompt[node_id])
    own["inputs"] = {name: given for name, given in own["inputs"].items() if name != without}
    part: Prompt = {node_id: own}
    waiting = [own]
    while waiting:
        for given in waiting.pop()["inputs"].values():
            if is_link(given) and (source := str(given[0])) in prompt and source not in part:
                part[source] = dict(prompt[source])
                waiting.append(part[source])
    return part


def is_link(given: Any) -> bool:
    """Whether an input is the output of another node."""
    return isinstance(given, list) and len(given) == 2 and isinstance(given[1], int)
