"""Variants of a branch: calls for one prompt that differ only in ComfyUI's options.

Guidance methods call the model again with streams skipped, attention off or other patches, and
other extensions switch such things during a run; the options of a call show it. But some options
only count steps or tell how far the run is, and must not end caching.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Hashable, Mapping
from enum import Enum
from functools import partial
from types import MethodType
from typing import Any, NamedTuple

import torch

_MANY = 64  # values of a list that are read
_DEPTH = 3  # of lists within lists


class Mark(NamedTuple):
    """Comparable form of an option's value."""

    kind: Hashable  # equal for values that differ at most in a number, a text or an identity
    value: Hashable


Marks = Mapping[Hashable, Mark]


class _Same:
    """An object, equal to itself alone; an id could later be that of another object."""

    def __init__(self, value: Any) -> None:
        self._value = weakref.ref(value)

    def __eq__(self, other: object) -> bool:
        value = self._value()
        return isinstance(other, _Same) and value is not None and value is other._value()

    def __hash__(self) -> int:
        return hash(_Same)


class Variants:
    """Variants of each branch of one run.

    Two calls are of one variant if all of their options are equal. If they differ in flags, or in
    having an option, they are not. Numbers, texts, lists and identities of functions count if they
    differ between two calls of one evaluation, or once they had stayed equal from one step to the
    next: what changes all the time tells how far the run is. A cached step shows nothing, as
    counters of model calls do not count it.
    """

    def __init__(self) -> None:
        self._variants: dict[Hashable, list[_Variant]] = {}
        self._evaluation = 0

    def begin_evaluation(self) -> None:
        """Begin a new evaluation."""
        self._evaluation += 1

    def note_cached(self) -> None:
        """The model was not asked in this evaluation."""
        for variant in itertools.chain(*self._variants.values()):
            variant.is_shown &= variant.evaluation != self._evaluation

    def number(self, branch: Hashable, marks: Marks, sigma: float) -> int:
        """Number of the variant of a branch with these options, at a noise level."""
        variants = self._variants.setdefault(branch, [])
        for number, variant in enumerate(variants):
            if variant.marks == marks:
                variant.meet(marks, self._evaluation, sigma)
                return number
        for number, variant in reversed(list(enumerate(variants))):
            if variant.evaluation != self._evaluation and variant.may_become(marks):
                variant.meet(marks, self._evaluation, sigma)
                return number
        new = _Variant(marks, self._evaluation, sigma)
        for variant in variants:
            if variant.evaluation == self._evaluation:
                variant.tell_apart(new)
        variants.append(new)
        return len(variants) - 1


class _Variant:
    """The options of a variant, as the last call had them."""

    def __init__(self, marks: Marks, evaluation: int, sigma: float) -> None:
        self.marks = marks
        self.evaluation = evaluation  # of that call
        self.is_shown = True  # whether the model was asked then
        self._sigma = sigma
        self._telling: set[Hashable] = set()  # options whose values mean something

    def meet(self, marks: Marks, evaluation: int, sigma: float) -> None:
        """Note the options of a further call."""
        if sigma != self._sigma and self.is_shown:
            self._telling |= {name for name, mark in marks.items() if self.marks[name] == mark}
        self.marks, self.evaluation, self._sigma, self.is_shown = marks, evaluation, sigma, True

    def may_become(self, marks: Marks) -> bool:
        """Whether these options differ only in values that mean nothing so far."""
        return marks.keys() == self.marks.keys() and all(
            mark == self.marks[name]
            or (mark.kind == self.marks[name].kind and name not in self._telling)
            for name, mark in marks.items()
        )

    def tell_apart(self, other: _Variant) -> None:
        """Note that options which differ between two calls of one evaluation mean something."""
        names = self.marks.keys() & other.marks.keys()
        telling = {name for name in names if self.marks[name] != other.marks[name]}
        self._telling |= telling
        other._telling |= telling


def mark(value: Any, depth: int = _DEPTH) -> Mark:
    """Comparable form of a value."""
    if value is None or isinstance(value, (bool, Enum)):
        return Mark(value, None)
    if isinstance(value, (int, float)):
        return Mark("number", value)
    if isinstance(value, str):
        return Mark("text", value)
    if isinstance(value, torch.Tensor):
        return Mark("tensor", tuple(value.shape))  # its values would have to come from the device
    if isinstance(value, (list, tuple, set, frozenset, dict)):
        return _of_collection(value, depth - 1) if depth else Mark("list", len(value))
    if callable(value):
        return Mark(_name(value), _identity(value))
    return Mark(type(value).__qualname__, _identity(value))


def _of_collection(values: Any, depth: int) -> Mark:
    items = values.items() if isinstance(values, dict) else values
    marks = [mark(value, depth) for value in itertools.islice(items, _MANY)]
    if values and all(map(callable, items)):
        return Mark(tuple(part.kind for part in marks), tuple(marks))
    is_ordered = isinstance(values, (list, tuple))
    return Mark("list", tuple(marks) if is_ordered else frozenset(marks))


def _name(function: Any) -> str:
    """Name of a callable; it is the kind of functions, as some are made anew for each call."""
    if isinstance(function, partial):
        return _name(function.func)
    return getattr(function, "__qualname__", type(function).__qualname__)


def _identity(value: Any) -> Hashable:
    if isinstance(value, MethodType):  # made anew at each access, unlike its parts
        return _identity(value.__func__), _identity(value.__self__)
    try:
        return _Same(value)
    except TypeError:  # not all objects can be referred to weakly
        return None
