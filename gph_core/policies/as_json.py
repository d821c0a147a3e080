"""Policies as plain data: the kind and those options that differ from its defaults."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from ..files.condition_diff import plain
from .base import Policy, Site
from .table import KINDS

MAX_SHOWN = 100  # characters of what a file holds


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
            options[option.name] = value.value if isinstance(value, Site) else value
    return {"kind": kind.__name__, **options}


def policy_data(policy: Policy) -> dict[str, Any] | None:
    """Data of ``policy_to_json``, in the types that JSON gives back; None for other policies."""
    return plain(policy_to_json(policy)) if type(policy) in KINDS.values() else None


def policy_from_json(data: Mapping[str, Any]) -> Policy:
    """Read what ``policy_to_json`` wrote; ``ValueError`` that says what is wrong."""
    options = dict(data)
    name = options.pop("kind", None)
    if not isinstance(name, str) or name not in KINDS:
        raise ValueError(f"{name!r} is no kind of policy; known are {', '.join(KINDS)}")
    known = [option.name for option in fields(KINDS[name])]  # type: ignore[arg-type] - see above
    if unknown := [option for option in options if option not in known]:
        raise ValueError(
            f"the policy {name} has no option {unknown[0][:MAX_SHOWN]!r}; its options are: "
            f"{', '.join(known) or 'none'}"
        )
    _check_types(name, options)
    if "site" in options:
        options["site"] = Site(options["site"])
    try:
        options = _with_tuples(options)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"the policy {name} cannot be made from {str(options)[:MAX_SHOWN]}; a list in it has "
            "another form than it must have"
        ) from error
    return KINDS[name](**options)


def _with_tuples(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options in which the lists of lists of JSON are what policies have instead."""
    found = dict(options)
    if "spans" in found:
        found["spans"] = tuple((int(step), int(span)) for step, span in found["spans"])
    if "weights" in found:
        found["weights"] = tuple(
            (int(step), tuple((int(anchor), float(weight)) for anchor, weight in weights))
            for step, weights in found["weights"]
        )
    return found


# What an option of a type may be in JSON, by the type's name.
_WANTED = {
    "int": ("a whole number", (int,)),
    "float": ("a number", (int, float)),
    "bool": ("true or false", (bool,)),
    "str": ("a text", (str,)),
    "Mapping[str, Any]": ("an object", (dict,)),
    "int | None": ("a whole number or null", (int, type(None))),
    "float | None": ("a number or null", (int, float, type(None))),
}


def _check_types(kind: str, options: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` for an option of another type, or a number that is none."""
    for option in fields(KINDS[kind]):  # type: ignore[arg-type] - every kind is a dataclass
        if option.name not in options or option.type not in _WANTED:
            continue
        wanted, types = _WANTED[option.type]
        value = options[option.name]
        is_no_number = isinstance(value, (int, float)) and not abs(value) <= sys.float_info.max
        if type(value) not in types or is_no_number:
            raise ValueError(f"{option.name} of the policy {kind} must be {wanted}")
