"""Jobs: runs of one example each, made by somebody in this process or elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

Job = tuple[Any, ...]  # plain values, of which the first is the number of an example


class Answer(NamedTuple):
    """A result of a job, in plain values, and the full steps that it took."""

    result: Any
    full_steps: int


# Results of each job, in the order of the jobs, which are taken when somebody is idle. Also takes
# the number of sampling steps of all of them, for a progress bar.
Jobs = Callable[[Iterable[Job], int], Iterator[Iterable[Any]]]
