"""Settings of runs that can learn from each other, and what was learned there."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...gph_core.files import reading, strict_json, whole_file
from ...gph_core.files.condition_diff import plain
from ...gph_core.files.names import check_known_name
from ...gph_core.paths.golden_path import LEARNED, GoldenPath, fall
from ...gph_core.policies.fitted import Fitted
from ...gph_core.schedule import Schedule
from ..hook import fingerprint
from ..hook.setup import SamplingSetup
from ..library import user_paths
from ..library.library import stated_model
from ..schema import users
from .remembered import REMEMBERED

_MOST_BYTES = 2**16
_DIGITS = 6  # of the settings, at the end of a name
_FAILURES: dict[Path, str] = {}  # of this session


def learning_folder() -> Path:
    """Folder of what is remembered: ``golden_path/learning`` of the current user."""
    return users.own_folder() / "learning"


def forget(name: str) -> None:
    """Forget what was learned under the name of a path, and the runs that are remembered for it.

    ``ValueError`` for the name of a path that was not learned here.
    """
    library, folder = user_paths.library(), learning_folder()
    check_known_name(name)
    path = next((path for path in library.read()[0] if path.name == name), None)
    if path is not None and path.origin != LEARNED:
        raise ValueError(f"the path {name!r} was not learned here; delete it in the library")
    if path is not None:
        library.delete(name)
    outcome = folder / f"{name}.json"
    _FAILURES.pop(outcome, None)
    outcome.unlink(missing_ok=True)
    digits = name.rpartition(", ")[2]
    if len(digits) == _DIGITS:  # else the user has renamed it
        REMEMBERED.forget_named(folder, digits)


@dataclass(frozen=True)
class Settings:
    """Settings of runs with a number of full steps.

    Args:
        folder: of remembered runs, which may differ in the number of full steps.
        name: of the path.
    """

    setup: SamplingSetup
    num_full: int
    folder: Path
    name: str

    @classmethod
    def of(cls, setup: SamplingSetup, num_full: int) -> Settings:
        digest = fingerprint.of_values(plain(setup.conditions), setup.name)
        family = "".join(c if c.isalnum() or c in " .-" else " " for c in setup.name)[:40]
        cfg = setup.conditions["cfg"]
        scale = "" if cfg is None else f", CFG {cfg:g}"
        name = f"learned, {' '.join(family.split())}, {num_full} of {setup.num_steps}{scale}"
        return cls(setup, num_full, learning_folder() / digest, f"{name}, {digest[:_DIGITS]}")

    @property
    def _outcome_file(self) -> Path:
        return learning_folder() / f"{self.name}.json"

    def path(self, policy: Fitted, schedule: Schedule, quality: dict[str, float]) -> GoldenPath:
        """A path of weights that were learned here."""
        setup, conditions = self.setup, self.setup.conditions
        return GoldenPath(
            self.name, schedule, LEARNED, policy,
            sigmas=tuple(setup.sigmas) if fall(setup.sigmas) else (),
            conditions={
                "sampler": setup.sampler_name, "cfg": conditions["cfg"],
                "latent": conditions["latent"],
            },
            quality=quality, **stated_model(setup.patcher),
        )  # fmt: skip

    def check_saving(self) -> None:
        """Raise ``ValueError`` if no path could be saved; one without weights stands for it."""
        policy = Fitted(conditions=plain(self.setup.conditions))
        user_paths.library().checked(self.path(policy, Schedule.all_full(self.setup.num_steps), {}))

    def outcome(self, wanted: int) -> str:
        """Why learning from so many images brings nothing; empty if that is not known."""
        if failure := _FAILURES.get(self._outcome_file):
            return failure
        try:
            said = strict_json.loads(reading.read(self._outcome_file, _MOST_BYTES))
            is_known = isinstance(said, dict) and int(said["images"]) >= wanted
            return str(said["reason"]) if is_known else ""
        except (OSError, *reading.ERRORS):
            return ""

    def failed(self, reason: str) -> None:
        """Do not try again before ComfyUI is restarted."""
        _FAILURES[self._outcome_file] = (
            f"the weights could not be fitted ({reason}), so runs go on without it; a restart of "
            "ComfyUI tries again"
        )

    def save_outcome(self, images: int, reason: str) -> None:
        """Remember that learning brought nothing, until the user forgets it.

        A path that was learned from fewer images is deleted.
        """
        if any(path.name == self.name for path in user_paths.library().read()[0]):
            user_paths.library().delete(self.name)
        content: dict[str, Any] = {"images": images, "reason": reason}
        whole_file.write(self._outcome_file, json.dumps(content).encode())
