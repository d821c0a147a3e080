"""Files of a study: the memories of its policies, and the conditions that all have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...gph_core.policies.as_json import policy_to_json
from ...gph_core.policies.base import Policy
from ...gph_core.search.log import StudyLog
from ...gph_core.search.selection import PlainSteps
from ..hook import fingerprint
from ..sample.examples import Example
from ..schema import users

_NAME_LENGTH = 24  # of a policy in a file's name; Windows refuses long paths


def studies_folder() -> Path:
    """Folder of the memories of studies: ``golden_path/studies`` of the current user."""
    return users.own_folder() / "studies"


def opened(
    study: str, part: str, conditions: Mapping[str, Any], examples: Sequence[Example],
    policy: Policy | None, counts: str,
) -> StudyLog:  # fmt: skip
    """Memory of one policy, or of the conditions that all have in common.

    Other validation examples have another memory.

    Args:
        part: ``study``, ``scoring`` or ``validation``.
        conditions: that a study has throughout.
        counts: of full steps and of all, as text.
    """
    known = [
        [e.prompt, e.seed, fingerprint.of_conditionings(e.positive, e.negative)] for e in examples
    ]
    conditions = {**conditions, "examples": known}
    if part == "validation":
        part += f" {fingerprint.of_values(known)[:8]}"
    if policy is not None:
        kind = str(policy) if isinstance(policy, PlainSteps) else policy_to_json(policy)
        conditions["policy"] = kind
        slug = re.sub(r"[^a-z0-9]+", "-", str(policy).lower()).strip("-")[:_NAME_LENGTH]
        slug += f" {fingerprint.of_values(kind)[:6]}"  # two may begin alike
        part = f"{counts} {slug} {part}"
    folder = studies_folder() / study
    folder.mkdir(parents=True, exist_ok=True)
    return StudyLog(folder / f"{part}.sqlite", conditions)
