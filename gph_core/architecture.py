"""Architecture of a model: what tells it from others of its family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def is_stated(architecture: Mapping[str, Any], config: Mapping[str, Any]) -> bool:
    """Whether ComfyUI's configuration of a model has all entries that are stated; not if none are.

    None stands for an entry that it lacks.
    """
    return bool(architecture) and all(config.get(k) == v for k, v in architecture.items())
