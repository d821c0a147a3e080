"""Fields of a request, checked against the signature of the function that answers it.

The signature is the schema. A parameter is a field, its annotation is the field's type, a default
makes it optional. A field has one place: the address, the query of a GET or a DELETE, or the JSON
object in the body of a POST. Anything in another place, or without a field, is refused by name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_args, get_origin

from aiohttp import web

from ...gph_core.files import strict_json
from ...gph_core.paths.judging import MAX_MIB
from ..schema.faults import quoted, shown, value_fault

MAX_BODY_MIB = 2 * MAX_MIB  # holds a path's file as a JSON text, where " and \ take two bytes
_KINDS = {str: "STRING", int: "INT", float: "FLOAT", bool: "BOOLEAN"}  # as ComfyUI calls them

Fields = Mapping[str, inspect.Parameter]


def fields_of(answer: Callable[..., Any]) -> Fields:
    """The fields that a route's function takes, by name."""
    return inspect.signature(answer, eval_str=True).parameters


async def body_of(request: web.Request) -> bytes:
    """The body of a request; ``ValueError`` if it is too long or incomplete."""
    content, most = bytearray(), MAX_BODY_MIB * 2**20
    size = request.content_length or 0  # a request without it may be of any size
    try:
        while size <= most and (part := await request.content.readany()):
            content += part
            size = max(size, len(content))
    except web.RequestPayloadError as error:
        raise ValueError(
            "the body of the request is broken off, or not encoded as it says; send it again"
        ) from error
    if size > most:
        raise ValueError(f"the request has more than {MAX_BODY_MIB} MiB; send a smaller one")
    return bytes(content)


def inputs_of(request: web.Request, body: bytes, fields: Fields) -> dict[str, Any]:
    """Value of each field; ``ValueError`` says which is wrong, missing or unknown."""
    placed = dict(request.match_info)
    fields = {name: field for name, field in fields.items() if name not in placed}
    if request.method == "POST":
        if request.query:
            raise ValueError(
                f"{_names(request.query)} stands in the address; write the fields of this request "
                "into its body"
            )
        given = _object(body)
    else:
        if body:
            raise ValueError("this request takes no body; write its fields into the address")
        given = _from_query(request, fields)
    check(fields, given)
    return {**placed, **given}


def _object(body: bytes) -> dict[str, Any]:
    try:
        data = strict_json.loads(body)
    except ValueError as error:
        raise ValueError(f"the request is no JSON text: {error}") from error
    if not isinstance(data, dict):
        raise ValueError(f"the request must be an object of JSON; found {shown(data)}")
    return data


def _from_query(request: web.Request, fields: Fields) -> dict[str, Any]:
    """Fields of a query, in which all but texts are written as JSON."""
    given: dict[str, Any] = {}
    for name, text in request.query.items():
        if name in given:
            raise ValueError(f"the field {quoted(name)} is given twice")
        is_text = name not in fields or fields[name].annotation is str
        given[name] = text if is_text else _read(text)
    return given


def _read(text: str) -> Any:
    try:
        return strict_json.loads(text)
    except ValueError:
        return text  # whose type is wrong: the check refuses it


def check(fields: Fields, given: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` if a required field is missing, or a field is invalid or unknown."""
    takes = f"this request takes {', '.join(fields) or 'no fields'}"
    unknown = [name for name in given if name not in fields]
    if unknown:
        raise ValueError(f"there is no field {_names(unknown)} here; {takes}")
    for name, field in fields.items():
        if name not in given:
            if field.default is field.empty:
                raise ValueError(f"the {name} is missing; {takes}")
            continue
        fault = _fault(name, field.annotation, given[name])
        if fault is not None:
            raise ValueError(fault)


def _fault(name: str, wanted: Any, value: Any) -> str | None:
    """Error message for the value of a field; None if it fits the annotation."""
    limits = {}
    if get_origin(wanted) is Annotated:
        wanted, limits = get_args(wanted)
    if get_origin(wanted) is dict:
        return (
            None
            if isinstance(value, dict)
            else f"the {name} must be an object of JSON; found {shown(value)}"
        )
    return value_fault(name, _KINDS[wanted], limits, value)


def _names(names: Any) -> str:
    """The first few names, quoted."""
    return ", ".join(map(quoted, [*names][:3]))
