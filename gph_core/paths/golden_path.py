"""A golden path: a schedule together with the conditions under which it was measured.

It is one JSON object, in which only ``name``, ``schedule`` and ``origin`` are required. Paths whose
policy has weights of its own are of format 4, which older packs refuse; in format 3 these weights
were the same for all channels::

    {"format": 2, "name": "my Z-Image, 8 of 25", "origin": "searched here",
     "schedule": "0-2,5,9,14,19,24/25", "policy": {"kind": "Reuse"},
     "model": "Z-Image", "family": "Lumina 2 / Z-Image", "architecture": {"n_layers": 30},
     "sigmas": [1.0, ...], "conditions": {"sampler": "euler", ...},
     "quality": {"validation PSNR dB": 27.1}, "method": "searched", "source": "...", "notes": "..."}
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from ..policies.as_json import policy_from_json, policy_to_json
from ..policies.base import Policy
from ..policies.extrapolation import Reuse
from ..policies.fitted import Fitted
from ..schedule import Schedule
from ..schedule_text import MAX_STEPS

FORMAT, FITTED_FORMAT = 2, 4
READ = (FORMAT, 3, FITTED_FORMAT)
PUBLISHED, SEARCHED, LEARNED = "published", "searched here", "learned here"
WITH_PACK = "came with the pack"  # searched by us, for the demo model
RETARGETED = "retargeted, not measured"
SHARED = "searched elsewhere"
DRAWN = "drawn by hand, not measured"
ORIGINS = (PUBLISHED, WITH_PACK, SEARCHED, LEARNED, RETARGETED, SHARED, DRAWN)

# How a schedule was chosen, best first: by the quality of the final image, by a planner from
# recorded errors, as the most frequent choice of an adaptive method, or as a baseline.
METHODS = ("searched", "planned", "adaptive", "control")

MAX_SIGMAS = MAX_STEPS + 1
MAX_LINE = 300  # characters of a foreign text on a card


@dataclass(frozen=True)
class GoldenPath:
    """A named schedule, its policy, and what is known about both.

    Args:
        name: what users see.
        schedule: of all steps.
        origin: one of ``ORIGINS``.
        policy: the one it was measured with.
        model, family: the model's name, and that of its row in ``families``; empty if not stated.
        architecture: entries of ComfyUI's model configuration that tell models of a family apart.
        sigmas: N + 1 noise levels; empty if not stated.
        conditions: sampler, size, guidance and the like, for people.
        quality: measured numbers; a key names metric, unit and what was measured on.
        method: one of ``METHODS``.
    """

    name: str
    schedule: Schedule
    origin: str
    policy: Policy = field(default_factory=Reuse)
    model: str = ""
    family: str = ""
    architecture: Mapping[str, Any] = field(default_factory=dict)
    sigmas: tuple[float, ...] = ()
    conditions: Mapping[str, Any] = field(default_factory=dict)
    quality: Mapping[str, float] = field(default_factory=dict)
    method: str = "searched"
    source: str = ""
    notes: str = ""

    def __post_init__(self) -> None:
        for text, what, allowed in (
            (self.origin, "origin", ORIGINS),
            (self.method, "method", METHODS),
        ):
            if text not in allowed:
                raise ValueError(
                    f"the path {self.name!r} has the {what} {text!r}; "
                    f"it must be one of: {'; '.join(allowed)}"
                )
        if self.sigmas and len(self.sigmas) != self.schedule.num_steps + 1:
            raise ValueError(
                f"the path {self.name!r} has {len(self.sigmas)} noise levels; its "
                f"{self.schedule.num_steps} steps need {self.schedule.num_steps + 1}"
            )
        self.policy.check(self.schedule)

    @property
    def card(self) -> str:
        """Conditions and quality, a line each; the statements of others are marked as such."""
        schedule, facts = self.schedule, list(self._facts())
        lines = [
            self.name,
            f"{schedule}: {schedule.num_full} of {schedule.num_steps} steps full, "
            f"at most {schedule.num_steps / schedule.num_full:.2f}x faster",
            f"policy: {self.policy}",
        ]
        if isinstance(self.policy, Fitted) and self.policy.missing:
            missing = ", ".join(self.policy.missing)
            lines.append(f"no speed takes it: its weights do not say for which {missing} they are")
        if not facts or self.is_ours:
            return "\n".join([*lines, self.origin, *facts])
        return "\n".join([*lines, f"{self.origin}; its author states", *(f"  {f}" for f in facts)])

    @property
    def is_ours(self) -> bool:
        """Whether its figures were measured here or published with the pack."""
        claims = self.origin == SHARED or self.conditions or self.quality or self.source
        return self.origin in (PUBLISHED, WITH_PACK, SEARCHED, LEARNED) or not claims

    def _facts(self) -> Iterator[str]:
        if self.model:
            yield f"model: {one_line(self.model)}"
        if self.sigmas:
            yield f"noise levels: {_some(self.sigmas)}"
        for name, value in self.conditions.items():
            yield f"{one_line(name)}: {one_line(_plain(value))}"
        for name, number in self.quality.items():
            yield f"{one_line(name)}: {number:g}"
        if self.source:
            yield f"source: {one_line(self.source)}"
        first, *others = self.notes.splitlines() or [""]
        if self.notes:
            yield f"notes: {one_line(first)}"
        yield from (f"  {one_line(line)}" for line in others)

    def to_json(self) -> dict[str, Any]:
        """Plain data; what is not stated is left out."""
        is_fitted = isinstance(self.policy, Fitted)
        data: dict[str, Any] = {"format": FITTED_FORMAT if is_fitted else FORMAT}
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name == "schedule":
                value = str(value)
            elif item.name == "policy":
                value = policy_to_json(value)
            elif item.name == "sigmas":
                value = list(value)
            if value:
                data[item.name] = dict(value) if isinstance(value, Mapping) else value
        return data

    @classmethod
    def from_json(cls, data: Any) -> GoldenPath:
        """Read what ``to_json`` wrote; ``ValueError`` that names the field at fault."""
        found = data.get("format") if isinstance(data, dict) else None
        if type(found) is int and found > FITTED_FORMAT:
            raise ValueError(f"it is of format {found}, of a newer version of this pack: update it")
        if not isinstance(data, dict) or found not in READ:
            raise ValueError(f'this is not a golden path: an object with "format": {FORMAT}')
        known = {item.name for item in fields(cls)} | {"format"}
        if unknown := sorted(data.keys() - known):
            raise ValueError(f"unknown field {unknown[0]!r}; known are {', '.join(sorted(known))}")
        values = {name: value for name, value in data.items() if name != "format"}
        for name in ("name", "schedule", "origin"):
            if not isinstance(values.get(name), str) or not values[name].strip():
                raise ValueError(f"the field {name!r} is missing or no text")
        for name in ("model", "family", "method", "source", "notes"):
            if not isinstance(values.get(name, ""), str):
                raise ValueError(f"the field {name!r} is no text")
        for name in ("architecture", "conditions", "quality", "policy"):
            if not isinstance(values.get(name, {}), dict):
                raise ValueError(f"the field {name!r} is no object")
        if not all(_is_number(value) for value in values.get("quality", {}).values()):
            raise ValueError("the field 'quality' holds something other than numbers")
        values["schedule"] = Schedule.parse(values["schedule"])
        values["sigmas"] = _levels(values.get("sigmas", []))
        if "policy" in values:
            values["policy"] = policy_from_json(values["policy"])
        return cls(**values)


def one_line(text: str) -> str:
    """A foreign text as a part of a line: shortened, without line breaks and direction marks."""
    words = " ".join("".join(c if c.isprintable() else " " for c in text[: 2 * MAX_LINE]).split())
    return words if len(words) <= MAX_LINE else f"{words[: MAX_LINE - 1]}…"


def fall(levels: Sequence[float]) -> bool:
    """Whether noise levels fall at every step."""
    return all(b < a for a, b in itertools.pairwise(levels))


def _levels(values: Any) -> tuple[float, ...]:
    if (
        not isinstance(values, list)
        or len(values) > MAX_SIGMAS
        or not all(_is_number(value) for value in values)
        or not fall(values)
    ):
        raise ValueError("the field 'sigmas' must be a list of falling noise levels")
    return tuple(float(value) for value in values)


def _is_number(value: Any) -> bool:
    # Compared, as a whole number may be too large to become a float.
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and abs(value) <= sys.float_info.max


def _some(levels: tuple[float, ...]) -> str:
    """First, middle and last noise levels."""
    if len(levels) <= 5:
        return ", ".join(f"{level:.3g}" for level in levels)
    first, second, middle, before, last = (
        f"{levels[n]:.3g}" for n in (0, 1, len(levels) // 2, -2, -1)
    )
    return f"{first}, {second}, ... {middle}, ... {before}, {last}"


def _plain(value: Any) -> str:
    return "×".join(map(str, value[:MAX_LINE])) if isinstance(value, list) else str(value)
