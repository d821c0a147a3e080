"""Session that a node hands over in a worker, where the node only collects its inputs."""

from __future__ import annotations

from typing import Any

_taken: list[Any] | None = None  # in a worker, while it executes a workflow


def begin() -> list[Any]:
    """List that receives what the next executed node hands over."""
    global _taken
    _taken = []
    return _taken


def end() -> None:
    """Let nodes do their own work again."""
    global _taken
    _taken = None


def take(session: Any) -> bool:
    """Take over the session of a node; return False outside a worker."""
    if _taken is None:
        return False
    _taken.append(session)
    return True
