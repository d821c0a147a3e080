"""Switch for the wrappers of a run: while it is off, calls go straight to the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager


class Switch:
    """Switch that is on except within ``off``; the run ignores calls made there."""

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
        """Wrappers by their place in ComfyUI, put under this switch."""
        return {place: self._switched(wrapper) for place, wrapper in wrappers.items()}

    def _switched(self, wrapper: Callable) -> Callable:
        def switched(executor, *args, **kwargs):
            return (wrapper if self._is_on else _pass)(executor, *args, **kwargs)

        return switched


def _pass(executor, *args, **kwargs):
    return executor(*args, **kwargs)
