"""schema/faults: what a prompt of the API may give in place of what a node needs."""

import asyncio
import math
from types import MappingProxyType

import execution
import golden_path_pack
import pytest
import torch
from comfy_api.latest import io
from golden_path_pack.nodes.cache.cache import GoldenPathCache
from golden_path_pack.nodes.schema.node import Node

import nodes

OURS = {
    node.define_schema().node_id: node
    for node in asyncio.run(asyncio.run(golden_path_pack.comfy_entrypoint()).get_node_list())
}
PYTHON = ("NoneType", "object of type", "positional argument", "attribute", "unhashable", "'<")
LIST, OBJECT = [0, 1, 5], {"a": 1}
# What no input of a kind can take. ComfyUI makes a text of a number, and a switch of anything.
WRONG = {
    "INT": (None, LIST, OBJECT, "words", math.nan, 1e30, -(10**30)),
    "FLOAT": (None, LIST, OBJECT, "words", math.nan, math.inf, -1e30),
    "COMBO": (None, LIST, OBJECT, 13, 8.5, True),
    "STRING": (LIST,),
    "BOOLEAN": (LIST,),
    "STRING,GPH_SCHEDULE": (None, LIST, OBJECT, 13, 8.5, True),
    "STRING,COMBO": (None, LIST, OBJECT, 13, 8.5, True),
}
GROWS_FROM_NONE = ("GPH_ScheduleStatistics", "shootouts.shootout0")
UNCONNECTED = (LIST, OBJECT, 13, 8.5, True, "text")


@pytest.fixture(autouse=True)
def known(user, monkeypatch):
    """ComfyUI knows our nodes, and for each type one that hands it out."""
    for name, node in OURS.items():
        monkeypatch.setitem(nodes.NODE_CLASS_MAPPINGS, name, node)
        for _, given in slots(node):
            kind = given.get_io_type()
            source = type("Source", (), {"RETURN_TYPES": (kind,), "INPUT_TYPES": dict})
            monkeypatch.setitem(nodes.NODE_CLASS_MAPPINGS, kind, source)


def slots(node):
    """Names and inputs of a node; of those that grow, the first."""
    for given in node.define_schema().inputs:
        if isinstance(given, io.Autogrow.Input):
            yield f"{given.id}.{given.template.names[0]}", given.template.input
        else:
            yield given.id, given


def errors_of(name, changes=MappingProxyType({})):
    """What ComfyUI says of a node whose inputs are linked, but for the changes; ... is absent."""
    prompt, inputs = {}, {}
    for slot, given in slots(OURS[name]):
        kind = given.get_io_type()
        prompt[kind] = {"class_type": kind, "inputs": {}}
        inputs[slot] = changes.get(slot, [kind, 0])
    inputs = {slot: value for slot, value in inputs.items() if value is not ...}
    prompt["ours"] = {"class_type": name, "inputs": inputs}
    is_valid, errors, _ = asyncio.run(execution.validate_inputs("p", prompt, "ours", {}))
    assert is_valid == (not errors)
    return [f"{error['message']}: {error['details']}" for error in errors]


def test_every_node_has_the_common_check():
    for node in OURS.values():
        assert issubclass(node, Node)


def all_slots():
    return ((name, *slot) for name, node in OURS.items() for slot in slots(node))


def test_wrong_values_of_each_input_are_told_in_words():
    assert [name for name in OURS if errors_of(name)] == []
    for name, slot, given in all_slots():
        kind = given.get_io_type()
        nothing = () if given.optional or "." in slot else (None,)
        for value in WRONG.get(kind, (*UNCONNECTED, *nothing)):
            errors = errors_of(name, {slot: value})
            assert errors, f"{name}: {slot} takes {value!r}"
            ours = [text for text in errors if not text.startswith("Failed to convert")]
            assert not [text for text in ours if any(word in text for word in PYTHON)]


def test_of_an_absent_input_comfyui_says_that_it_is_missing():
    for name, slot, given in all_slots():
        missing = [f"Required input is missing: {slot.rpartition('.')[2]}"]
        is_optional = given.optional or (name, slot) == GROWS_FROM_NONE
        assert errors_of(name, {slot: ...}) == ([] if is_optional else missing)


def test_the_reason_says_what_was_found_and_what_is_needed():
    def said(value):
        (*_, last) = errors_of("GPH_Cache", {"speed": "Custom", "schedule": value})
        return last.partition("input_types - ")[2]

    needed = "the schedule must be a text such as '0-2,5,9/10'; found"
    assert said(None) == f"{needed} null"
    assert said(LIST) == f"{needed} the list [0, 1, 5]"
    assert said(13) == f"{needed} the number 13"
    assert said(OBJECT) == f"{needed} the object {{'a': 1}}"
    assert said(True) == f"{needed} true"
    assert said("0-2").startswith("'0-2' has no step count")


def test_limits_of_numbers_hold():
    def said(value):
        (*_, last) = errors_of("GPH_AdaptiveCache", {"threshold": value})
        return last.partition("input_types - ")[2]

    assert (
        said(math.nan) == "the threshold must be a number from 0.0 to 1000.0; found the number nan"
    )
    assert said(1001) == (
        "the threshold must be a number from 0.0 to 1000.0; found the number 1001.0"
    )
    assert errors_of("GPH_AdaptiveCache", {"threshold": 1000}) == []


def test_a_link_of_another_type_is_told():
    (*_, last) = errors_of("GPH_Cache", {"model": ["GPH_POLICY", 0]})
    assert last.endswith("the model must be connected to an output of type MODEL; found GPH_POLICY")


def test_a_check_without_all_inputs_judges_what_is_there():
    assert GoldenPathCache.validate_inputs() is True
    assert GoldenPathCache.validate_inputs(speed="Quality") is True
    assert "found null" in GoldenPathCache.validate_inputs(speed="Custom", schedule=None)
    linked = {"schedule": "STRING"}
    assert GoldenPathCache.validate_inputs("Custom", None, input_types=linked) is True


WRONG_FORMS = {
    "IMAGE": (torch.zeros(8, 6, 3), torch.zeros(1, 8, 6, 3, dtype=torch.uint8), [], 13),
    "LATENT": (
        {}, torch.zeros(1, 4, 8, 8), {"samples": torch.zeros(0, 4, 8, 8)},
        {"samples": torch.tensor([[[[0.0, math.nan]]]])}, 13,
    ),
    "SIGMAS": (torch.zeros(1, 9), torch.tensor([math.nan, 0.0]), [1.0, 0.0], 13),
    "FLOAT": (math.nan, math.inf, -1e30), "INT": (math.nan, -(10**30)),
}  # fmt: skip


def test_what_a_link_brings_in_a_wrong_form_is_told_before_the_node_begins():
    for name, slot, given in all_slots():
        nothing = dict.fromkeys(other for other, _ in slots(OURS[name]) if "." not in other)
        for value in WRONG_FORMS.get(given.get_io_type(), ()):
            values = nothing | {slot: value}
            if OURS[name].define_schema().is_input_list:
                values = {of: [value] for of, value in values.items()}
            with pytest.raises(ValueError, match=f"^the {slot} (must be|has|is no|holds no) "):
                OURS[name].execute(**values)
