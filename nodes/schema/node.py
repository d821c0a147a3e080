"""Base class of all nodes: validates inputs, and says what is wrong with them.

ComfyUI itself converts and checks numbers, plain texts, switches and choices, and reports errors in
them. It leaves the rest unchecked: a null in place of a schedule would reach ``execute``. So this
module makes ``validate_inputs`` for every node, from its schema.
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
    """Descriptor that gives each node its own ``validate_inputs``."""

    def __get__(self, _: Any, node: type[Node]) -> MethodType:
        return MethodType(_validation_of(node), node)


class Node(io.ComfyNode):
    """Node whose inputs are checked against its schema, then by ``check_inputs``.

    The value of a link is known only when the node runs; its form is checked then.
    """

    validate_inputs: Any = _Validation()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        execute = vars(cls).get("execute")
        # ComfyUI clones the class for every call; a clone has the wrapped function already.
        if execute is not None and not hasattr(execute.__func__, "__wrapped__"):
            cls.execute = cast(Any, classmethod(_checking(cls, execute.__func__)))
        fingerprint = vars(cls).get("fingerprint_inputs")
        if fingerprint is not None and not hasattr(fingerprint.__func__, "__wrapped__"):
            cls.fingerprint_inputs = cast(Any, classmethod(_by_user(fingerprint.__func__)))

    @classmethod
    def fingerprint_inputs(cls, **inputs: Any) -> Any:
        """What an output depends on besides the inputs; always includes the user.

        Otherwise ComfyUI would reuse one user's results for another, or not save a file again.
        """
        return users.current()

    @classmethod
    def check_inputs(cls) -> None:
        """Raise ``ValueError`` if an input is wrong.

        An override takes the inputs that it checks as arguments. None stands for a linked input,
        whose value is not known yet. ComfyUI then no longer looks for them in lists of choices.
        """


@functools.cache
def _inputs_of(node: type[Node]) -> dict[str, io.Input]:
    """Inputs by name; cached, as only lists of files among their choices can change."""
    return {} if node is Node else {given.id: given for given in node.define_schema().inputs}


@functools.cache
def _takes_lists(node: type[Node]) -> bool:
    """Whether ComfyUI hands over whole lists, also of one value, in place of values."""
    return node is not Node and node.define_schema().is_input_list


def _checking(node: type[Node], execute: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a node's ``execute`` so that it first checks the form of values from links."""
    bind = inspect.signature(execute).bind

    @functools.wraps(execute)
    def checking(cls: type[Node], *args: Any, **values: Any) -> Any:
        inputs = _inputs_of(node)
        for name, given in bind(cls, *args, **values).arguments.items():
            for value in given if _takes_lists(node) and name in inputs else [given]:
                fault = None if value is None or name not in inputs else _wire(inputs[name], value)
                if fault is not None:
                    raise ValueError(fault)
        output = execute(cls, *args, **values)
        if isinstance(output, io.NodeOutput) and isinstance(output.ui, dict):
            output.ui = finite(output.ui)  # a NaN would make all of it unreadable for the page
        return output

    return checking


def _wire(given: io.Input, value: Any) -> str | None:
    """Error message for a value at run time; ComfyUI does not check numbers from links."""
    kind = given.get_io_type()
    if kind in ("FLOAT", "INT") and type(value) in (int, float):
        return value_fault(given.id, "FLOAT", given.as_dict(), value)
    return wire_fault(given.id, kind, value)


def _by_user(fingerprint: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a node's ``fingerprint_inputs`` so that it tells users apart."""

    @functools.wraps(fingerprint)
    def by_user(cls: type[Node], *args: Any, **values: Any) -> Any:
        result, user = fingerprint(cls, *args, **values), users.current()
        return result if user is None else (user, result)

    return by_user


@functools.cache
def _validation_of(node: type[Node]) -> Callable[..., bool | str]:
    own = tuple(inspect.signature(node.check_inputs).parameters)
    inputs = _inputs_of(node)

    def validate_inputs(
        cls: type[Node], *args: Any, input_types: Any = None, **values: Any
    ) -> bool | str:
        values = {**dict(zip(own, args, strict=False)), **values}
        if _takes_lists(cls):  # here they have one value each
            values = {name: value[0] for name, value in values.items()}
            input_types = input_types and input_types[0]
        linked = input_types or {}  # None stands for null where an input is not linked
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
    """Signature that asks ComfyUI for unchecked inputs and for the types of links.

    ComfyUI repeats an error at each argument, so there are no more than needed. Growing inputs
    have dots in their names: only ``**others`` can take them.
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
    """Values for a node's own check; an absent optional input has its default."""
    checked = {}
    for name in own:
        default = inputs[name].as_dict().get("default") if inputs[name].optional else None
        checked[name] = None if name in linked else values.get(name, default)
    return checked


def _wrong_links(inputs: Mapping[str, io.Input], linked: Mapping[str, Any]) -> Iterator[str]:
    """Error messages for links, whose types ComfyUI passes on without comparing them."""
    for name, received in linked.items():
        needed = _input(inputs, name).get_io_type()
        if not validate_node_input(received, needed):
            yield f"the {name} must be connected to an output of type {needed}; found {received}"


def _wrong_values(
    inputs: Mapping[str, io.Input], own: Collection[str], values: Mapping[str, Any],
    linked: Collection[str],
) -> Iterator[str]:  # fmt: skip
    """Error messages for the values in a prompt."""
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
    """Values by name; for a growing input, those of its connected slots."""
    for name, value in values.items():
        if not isinstance(inputs[name], io.Autogrow.Input):
            yield name, value
            continue
        for slot, content in (value or {}).items():
            if content is not None:
                yield f"{name}.{slot}", content


def _input(inputs: Mapping[str, io.Input], name: str) -> io.Input:
    """Input by name; a name with a dot is a slot of a growing input, and has its template."""
    given = inputs[name.partition(".")[0]]
    return given.template.input if isinstance(given, io.Autogrow.Input) else given
