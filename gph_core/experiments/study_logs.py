"""Files of a study: the memories of its policies, and the conditions that all have in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..fitting.closed_loop import FIT
from ..policies.as_json import policy_to_json
from ..policies.base import Policy
from ..policies.fitted import Fitted
from ..search.log import StudyLog
from ..search.selection import PlainSteps

SCORING, VALIDATION = "scoring", "validation"
_NAME_LENGTH = 24  # of a policy in a file's name; Windows refuses long paths


@dataclass(frozen=True)
class StudyLogs:
    """Logs of one study at one number of full steps.

    Args:
        conditions: that the study has throughout.
        counts: of full steps and of all, as text.
        scoring, validation: prompt, seed and fingerprint of each example.
        digest: fingerprint of any values.
    """

    folder: Path
    conditions: Mapping[str, Any]
    counts: str
    scoring: Sequence[Any]
    validation: Sequence[Any]
    digest: Callable[..., str]

    def check(self) -> None:
        """Raise ``ValueError`` if the study was begun with other settings."""
        self._opened("study", self.scoring, {}).close()

    def of(self, part: str, policy: Policy) -> StudyLog:
        """Memory of one policy on a part of the examples; other examples have another memory."""
        examples, name = self.scoring, part
        if part == VALIDATION:
            examples, name = self.validation, f"{part} {self.digest(self.validation)[:8]}"
        of_fit = {"fit": FIT} if isinstance(policy, Fitted) else {}
        is_plain = isinstance(policy, PlainSteps)
        kind = str(policy) if is_plain else {**policy_to_json(policy), **of_fit}
        slug = re.sub(r"[^a-z0-9]+", "-", str(policy).lower()).strip("-")[:_NAME_LENGTH]
        slug += f" {self.digest(kind)[:6]}"  # two may begin alike
        return self._opened(f"{self.counts} {slug} {name}", examples, {"policy": kind})

    def _opened(self, name: str, examples: Sequence[Any], more: Mapping[str, Any]) -> StudyLog:
        self.folder.mkdir(parents=True, exist_ok=True)
        conditions = {**self.conditions, "examples": list(examples), **more}
        return StudyLog(self.folder / f"{name}.sqlite", conditions)
