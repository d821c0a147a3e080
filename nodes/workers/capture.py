"""What a search node hands over in a worker, where it only collects its inputs."""

from __future__ import annotations

from typing import Any

_taken: list[Any] | None = None  # in a worker, while it executes a workflow


def begin() -> list[Any]:
    """List that gets what the next executed search node hands over."""
    global _taken
    _taken = []
    return _taken


def end() -> None:
    """Let search nodes search again."""
    global _taken
    _taken = None


def take(session: Any) -> bool:
    """Take the session of a search node; False where nobody waits for it."""
    if _taken is None:
        return False
    _taken.append(session)
    return True
