"""The base of all nodes: it answers wrong inputs at validation, in words.

ComfyUI converts numbers, plain texts and switches itself, looks for choices in their lists, and
says what is wrong with them. It leaves the rest unchecked: a null where a schedule is needed would
reach ``execute``. So ``validate_inputs`` is made here for every node, from its schema.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import MethodType
from typing import Any, cast

from comfy_api.latest import io
from comfy_execution.validation import validate_node_input

from ...gph_core.files.strict_json import finite
from . import users
from .faults import choice_fault, value_fault
from .wires import wire_fault

CHECKED_BY_COMFYUI = {"BOOLEAN", "COMBO", "INT", "STRING"}


class _Validation:
    """The function ``validate_inputs`` of the node that it is read from."""

    def __get__(self, _: Any, node: type[Node]) -> MethodType:
        return MethodType(_validation_of(node), node)


class Node(io.ComfyNode):
    """A node whose inputs are checked by its schema, then by itself.

    What a link brings is known when the node runs: its form is checked then.
    """

    validate_inputs: Any = _Validation()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        execute = vars(cls).get("execute")
        # ComfyUI makes a clone for every call, which has the function of its original.
        if execute is not None and not hasattr(execute.__func__, "__wrapped__"):
            cls.execute = cast(Any, classmethod(_checking(cls, execute.__func__)))
        found = vars(cls).get("fingerprint_inputs")
        if found is not None and not hasattr(found.__func__, "__wrapped__"):
            cls.fingerprint_inputs = cast(Any, classmethod(_by_user(found.__func__)))

    @classmethod
    def fingerprint_inputs(cls, **inputs: Any) -> Any:
        """What an output depends on beside the inputs; the user is always part of it.

        Else ComfyUI would give one user what it keeps of another's files, or save nothing.
        """
        return users.current()

    @classmethod
    def check_inputs(cls) -> None:
        """Raise ``ValueError`` that says what is wrong with some inputs.

        An override has these inputs as arguments. None stands for one that is linked, and so not
        known yet. ComfyUI does not look for their values in lists.
        """


@functools.cache
def _inputs_of(node: type[Node]) -> dict[str, io.Input]:
    """Inputs by name; their types stay, only the choices of some change with the files."""
    return {} if node is Node else {given.id: given for given in node.define_schema().inputs}


def _checking(node: type[Node], execute: Callable[..., Any]) -> Callable[..., Any]:
    """The function ``execute`` of a node, which begins when what the links brought has its form."""
    bind = inspect.signature(execute).bind

    @functools.wraps(execute)
    def checking(cls: type[Node], *known: Any, **values: Any) -> Any:
        inputs = _inputs_of(node)
        for name, value in bind(cls, *known, **values).arguments.items():
            fault = None if value is None or name not in inputs else _wire(inputs[name], value)
            if fault is not None:
                raise ValueError(fault)
        output = execute(cls, *known, **values)
        if isinstance(output, io.NodeOutput) and isinstance(output.ui, dict):
            output.ui = finite(output.ui)  # else the page and the history could not read any of it
        return output

    return checking


def _wire(given: io.Input, value: Any) -> str | None:
    """What is wrong with a value at run time; ComfyUI does not look at numbers of links."""
    kind = given.get_io_type()
    if kind in ("FLOAT", "INT") and type(value) in (int, float):
        return value_fault(given.id, "FLOAT", given.as_dict(), value)
    return wire_fault(given.id, kind, value)


def _by_user(fingerprint: Callable[..., Any]) -> Callable[..., Any]:
    """The function ``fingerprint_inputs`` of a node, which tells users apart."""

    @functools.wraps(fingerprint)
    def by_user(cls: type[Node], *known: Any, **values: Any) -> Any:
        found, user = fingerprint(cls, *known, **values), users.current()
        return found if user is None else (user, found)

    return by_user


@functools.cache
def _validation_of(node: type[Node]) -> Callable[..., bool | str]:
    own = tuple(inspect.signature(node.check_inputs).parameters)
    inputs = _inputs_of(node)

    def validate_inputs(
        cls: type[Node], *known: Any, input_types: Mapping[str, Any] | None = None, **values: Any
    ) -> bool | str:
        linked = input_types or {}  # an input that is not linked, yet None, is a null
        values = {**dict(zip(own, known, strict=False)), **values}
        faults = (*_wrong_links(inputs, linked), *_wrong_values(inputs, own, values, linked))
        if faults:
            return faults[0]
        try:
            cls.check_inputs(**_known(inputs, own, values, linked))
        except ValueError as error:
            return str(error)
        return True

    vars(validate_inputs)["__signature__"] = _signature(inputs.values(), own)
    return validate_inputs


def _signature(inputs: Iterable[io.Input], own: Iterable[str]) -> inspect.Signature:
    """The arguments that ComfyUI fills: what it leaves unchecked, and the types of the links.

    It repeats a reason at each of them, so there are no more than needed. Inputs that grow have
    dots in their names: only a signature that takes everything gets them.
    """
    kind, rest = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.VAR_KEYWORD
    unchecked = [given.id for given in inputs if given.get_io_type() not in CHECKED_BY_COMFYUI]
    names = dict.fromkeys(("cls", *own, *unchecked, "input_types"))
    arguments = [inspect.Parameter(name, kind, default=None) for name in names]
    if any(isinstance(given, io.Autogrow.Input) for given in inputs):
        arguments.append(inspect.Parameter("others", rest))
    return inspect.Signature(arguments)


def _known(
    inputs: Mapping[str, io.Input], own: Iterable[str], values: Mapping[str, Any],
    linked: Collection[str],
) -> dict[str, Any]:  # fmt: skip
    """Values for a node's own check; an optional input that is absent has its default."""
    known = {}
    for name in own:
        default = inputs[name].as_dict().get("default") if inputs[name].optional else None
        known[name] = None if name in linked else values.get(name, default)
    return known


def _wrong_links(inputs: Mapping[str, io.Input], linked: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with links: ComfyUI does not compare the types that it hands over."""
    for name, received in linked.items():
        needed = _input(inputs, name).get_io_type()
        if not validate_node_input(received, needed):
            yield f"the {name} must be connected to an output of type {needed}; found {received}"


def _wrong_values(
    inputs: Mapping[str, io.Input], own: Collection[str], values: Mapping[str, Any],
    linked: Collection[str],
) -> Iterator[str]:  # fmt: skip
    """What is wrong with the values of a prompt."""
    for name, value in _flat(inputs, values):
        if name in linked:
            continue
        given = _input(inputs, name)
        kind, options = given.get_io_type(), given.as_dict()
        fault = value_fault(name, kind, options, value)
        if fault is None and kind == "COMBO" and name not in own:
            fault = choice_fault(name, options, value)
        if fault is not None:
            yield fault


def _flat(inputs: Mapping[str, io.Input], values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Values by name; of an input that grows, those of its parts that are known."""
    for name, value in values.items():
        if not isinstance(inputs[name], io.Autogrow.Input):
            yield name, value
            continue
        for part, found in (value or {}).items():
            if found is not None:
                yield f"{name}.{part}", found


def _input(inputs: Mapping[str, io.Input], name: str) -> io.Input:
    """The input of a name; that of a name with a dot is the template of its parts."""
    given = inputs[name.partition(".")[0]]
    return given.template.input if isinstance(given, io.Autogrow.Input) else given
