"""Policies as plain data: the kind and those options that differ from its defaults."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from ..files.condition_diff import plain
from ..schedule_text import MAX_STEPS
from . import allowed
from .base import Policy, Site
from .table import KINDS
from .weights import MOST_CHANNELS, MOST_TERMS, SECOND, Term

MAX_SHOWN = 100  # characters of what a file holds
MAX_TERMS = sum(MOST_TERMS.values())


def policy_to_json(policy: Policy) -> dict[str, Any]:
    """``{"kind": "Taylor", "order": 2}``; ``ValueError`` for a policy that is not plain data."""
    kind = type(policy)
    if KINDS.get(kind.__name__) is not kind:
        raise ValueError(
            f"the policy {policy} cannot be kept in a golden path; choose another, or none"
        )
    options = {}
    for option in fields(policy):  # type: ignore[arg-type] - every kind is a dataclass
        value = getattr(policy, option.name)
        if value != option.default or option.default is MISSING:
            options[option.name] = _plain(value)
    return {"kind": kind.__name__, **options}


def _plain(value: Any) -> Any:
    """A value of an option in JSON types; what is the rule is left out of a term."""
    if isinstance(value, Site):
        return value.value
    if isinstance(value, Mapping):
        return plain(value)
    if isinstance(value, Term):
        weights = value.weights[0] if len(value.weights) == 1 else list(value.weights)
        return [value.step, weights, *([value.stream] if value.stream else [])]
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


def policy_data(policy: Policy) -> dict[str, Any] | None:
    """Data of ``policy_to_json`` as JSON gives it back; None for policies that are not plain."""
    return policy_to_json(policy) if type(policy) in KINDS.values() else None


def policy_from_json(data: Mapping[str, Any]) -> Policy:
    """Read what ``policy_to_json`` wrote; ``ValueError`` that says what is wrong."""
    options = dict(data)
    name = options.pop("kind", None)
    if not isinstance(name, str) or name not in KINDS:
        raise ValueError(f"{name!r} is no kind of policy; known are {', '.join(KINDS)}")
    names = [option.name for option in fields(KINDS[name])]  # type: ignore[arg-type] - see above
    if unknown := [option for option in options if option not in names]:
        raise ValueError(
            f"the policy {name} has no option {unknown[0][:MAX_SHOWN]!r}; its options are: "
            f"{', '.join(names) or 'none'}"
        )
    _check_options(name, options)
    if "site" in options:
        options["site"] = Site(options["site"])
    for option, read in _READ.items():
        if option in options:
            options[option] = read(options[option])
    return KINDS[name](**options)


# Forms of an option in JSON, by the name of its type.
_WANTED = {
    "int": ("a whole number", (int,)),
    "float": ("a number", (int, float)),
    "bool": ("true or false", (bool,)),
    "str": ("a text", (str,)),
    "Mapping[str, Any]": ("an object", (dict,)),
    "int | None": ("a whole number or null", (int, type(None))),
    "float | None": ("a number or null", (int, float, type(None))),
}


def _check_options(kind: str, options: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` for an option of another type or a number out of its range."""
    for option in fields(KINDS[kind]):  # type: ignore[arg-type] - every kind is a dataclass
        if option.name not in options or option.type not in _WANTED:
            continue
        wanted, types = _WANTED[option.type]
        value = options[option.name]
        is_no_number = isinstance(value, (int, float)) and not abs(value) <= sys.float_info.max
        if type(value) not in types or is_no_number:
            raise ValueError(f"{option.name} of the policy {kind} must be {wanted}")
        allowed.check_number(kind, option.name, value)


def _pairs(values: Any, what: str) -> list[tuple[int, Any]]:
    """Pairs of a step and something; ``ValueError`` for anything else."""
    is_list = isinstance(values, (list, tuple)) and len(values) <= MAX_STEPS
    if not is_list or not all(_is_pair(pair) for pair in values):
        raise ValueError(f"{what} must be a list of pairs, a step and what belongs to it")
    return [(step, value) for step, value in values]


def _is_pair(pair: Any) -> bool:
    if not isinstance(pair, (list, tuple)) or len(pair) != 2 or type(pair[0]) is not int:
        return False
    return 0 <= pair[0] < MAX_STEPS


def _spans(values: Any) -> tuple[tuple[int, int], ...]:
    pairs = _pairs(values, "spans")
    if not all(type(span) is int for _, span in pairs):
        raise ValueError("each of the spans must be a whole number")
    return tuple(pairs)


def _weights(values: Any) -> tuple[tuple[int, Any], ...]:
    return tuple((step, _of_step(step, own)) for step, own in _pairs(values, "weights"))


def _of_step(step: int, values: Any) -> Any:
    is_list = isinstance(values, (list, tuple)) and len(values) <= MAX_TERMS
    if not is_list or not all(_is_term(value) for value in values):
        raise ValueError(
            f"the weights of step {step} must be a list, at most {MAX_TERMS} long: of each full "
            "step its number, the weights of the channels, and 1 if they are of the second prompt"
        )
    return values


def _is_term(value: Any) -> bool:
    if not isinstance(value, (list, tuple)) or not _is_pair(value[:2]):
        return False
    weights = value[1] if isinstance(value[1], (list, tuple)) else [value[1]]
    are_numbers = all(type(w) in (int, float) and abs(w) <= sys.float_info.max for w in weights)
    are_streams = all(type(stream) is int and stream == SECOND for stream in value[2:])
    return are_numbers and are_streams and len(value) <= 3 and len(weights) <= MOST_CHANNELS


# Readers of options that hold several values.
_READ: dict[str, Callable[[Any], Any]] = {
    "spans": _spans, "weights": _weights, "conditions": allowed.conditions,
}  # fmt: skip
