"""A switch for the wrappers of a run: while it is off, calls go straight to the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager


class Switch:
    """On, except within ``off``; what is called then, the run takes no notice of."""

    def __init__(self) -> None:
        self._is_on = True

    @contextmanager
    def off(self) -> Iterator[None]:
        self._is_on = False
        try:
            yield
        finally:
            self._is_on = True

    def over(self, wrappers: Mapping[str, Callable]) -> dict[str, Callable]:
        """The same wrappers by their place in ComfyUI, under this switch."""
        return {place: self._switched(wrapper) for place, wrapper in wrappers.items()}

    def _switched(self, wrapper: Callable) -> Callable:
        def switched(executor, *args, **kwargs):
            return (wrapper if self._is_on else _pass)(executor, *args, **kwargs)

        return switched


def _pass(executor, *args, **kwargs):
    return executor(*args, **kwargs)
