"""Functions that answer the page's questions about golden paths; ``routes`` serves them."""

from __future__ import annotations

from typing import Annotated, Any

from ...gph_core.architecture import is_stated
from ...gph_core.paths.evidence import psnr
from ...gph_core.paths.golden_path import DRAWN, RETARGETED, GoldenPath
from ...gph_core.paths.grids import MAX_STEPS
from ...gph_core.paths.library import bundled_paths
from ...gph_core.paths.retarget import retarget
from ...gph_core.paths.speeds import speed_of
from ...gph_core.policies.fitted import Fitted
from ...gph_core.schedule import Schedule
from . import user_paths
from .library import find, option_of


def list_paths() -> dict[str, Any]:
    """All paths, the user's first, and the user's files that could not be read."""
    own, broken = user_paths.library().read()
    every = (*own, *user_paths.servers(), *bundled_paths())
    return {
        "paths": [
            _entry(path, f"user/{path.name}", option_of(path), speed_of(path, every))
            for path in own
        ]
        + [_entry(path, path.name, path.name, speed_of(path, every)) for path in every[len(own) :]],
        "broken": [{"file": file, "reason": reason} for file, reason in broken.items()],
    }


def card(option: str) -> dict[str, str]:
    """Description of an option of *Golden Path Library*."""
    return {"card": find(option).card}


def move(schedule: str, steps: Annotated[int, {"min": 1, "max": MAX_STEPS}]) -> dict[str, str]:
    """Move a schedule to another number of steps, with evenly falling noise levels for both.

    A model's shift changes both grids alike: steps at equal levels stay at equal levels.
    """
    parsed = Schedule.parse(schedule)
    moved = retarget(parsed, _falling(parsed.num_steps), _falling(steps))
    return {"schedule": str(moved), "origin": RETARGETED}


def save(name: str, schedule: str, replace: bool = False) -> dict[str, str]:
    """Save a schedule drawn in the editor."""
    path = GoldenPath(name, Schedule.parse(schedule), DRAWN)
    user_paths.library().save(path, overwrite=replace)
    return {"name": path.name}


def import_text(text: str, replace: bool = False) -> dict[str, str]:
    """Save a path that another user shared."""
    path = user_paths.library().import_text(text, overwrite=replace)
    return {"name": path.name}


def export(path: str) -> dict[str, Any]:
    """The user's path of that name, in JSON to share."""
    return user_paths.library().get(path).to_json()


def rename(path: str, name: str) -> dict[str, str]:
    """Give the user's path another name."""
    user_paths.library().rename(path, name)
    return {"name": name}


def delete(path: str) -> dict[str, Any]:
    """Delete the user's path of that name."""
    user_paths.library().delete(path)
    return {}


def _entry(path: GoldenPath, key: str, option: str, speed: str) -> dict[str, Any]:
    """What the menu shows of a path; ``speed`` takes it under the conditions that it states."""
    schedule, is_fitted = path.schedule, isinstance(path.policy, Fitted)
    return {
        "id": key,
        "name": path.name,
        "model": path.model,
        "models": _models(path),
        "schedule": str(schedule),
        "num_steps": schedule.num_steps,
        "num_full": schedule.num_full,
        "policy": str(path.policy),
        "fitted": option if is_fitted else "",
        "cfg": path.policy.conditions.get("cfg") if is_fitted else None,
        "speed": speed,
        "psnr": psnr(path),
        "origin": path.origin,
        "card": path.card,
    }


def _models(path: GoldenPath) -> list[str]:
    """The models with bundled paths whose family and architecture a path states."""
    models = {bundled.model: bundled for bundled in bundled_paths()}
    return [
        model
        for model, bundled in models.items()
        if bundled.family == path.family and is_stated(bundled.architecture, path.architecture)
    ]


def _falling(steps: int) -> list[float]:
    return [1 - n / steps for n in range(steps + 1)]
