"""A search's examples on several workers, in shards that move if a worker is lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from ...gph_core.experiments.study_logs import SCORING
from ..hook import samplers
from .activity import Activity
from .crew import Again, Crew
from .ray_actors import Lost, Request, Workers
from .upstream import Prompt
from .worker import AGAIN

Result = TypeVar("Result")


class Shard(NamedTuple):
    """Examples that move together, by their numbers in each part."""

    scoring: tuple[int, ...]
    validation: tuple[int, ...]

    def of(self, part: str) -> tuple[int, ...]:
        return self.scoring if part == SCORING else self.validation


class Pool(Crew):
    """Workers with the examples of a search.

    Args:
        inputs: ``SearchInputs``.
        live: ``SearchLive``.
    """

    def __init__(
        self, workers: Workers, inputs: Any, live: Any, prompt: tuple[Prompt, str]
    ) -> None:
        self.inputs, self.live = inputs, live
        self._begun: dict[str, list[Any]] = {}  # policies that have full runs, by part
        self._holders: dict[int, int] = {}  # workers, by shard
        super().__init__(workers, inputs, prompt, Activity(live.on_run, live.on_workers))
        try:
            count, scoring = len(self._actors.alive), inputs.scoring
            alone = samplers.is_stochastic(scoring.sampler)
            # As on one machine, unless some workers would get no examples.
            self.batch = 1 if alone else min(inputs.batch, -(-len(scoring) // count))
            self.shards = self._shared_out(count)
            self._holders = dict(enumerate(self._actors.alive))
            self.repeated(lambda: self._add(self._holders))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End all workers."""
        super().close()
        self.live.on_workers([])

    def ask(self, name: str, arguments: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Answers of shards to the same question, with arguments by shard.

        Raises:
            Again: a worker was lost and its shards moved to others, or one has smaller batches.
            RuntimeError: no worker is left.
        """
        answers = self.asked({
            shard: Request(self._holders[shard], "ask", (shard, name, *given))
            for shard, given in arguments.items()
        }, name)  # fmt: skip
        if AGAIN in answers.values():
            raise Again
        return answers

    def begin(
        self, part: str, policy: Any, name: str, given: Mapping[int, tuple[Any, ...]]
    ) -> dict[int, Any]:
        """Like ``ask``, for a question that makes shards compute the full runs for a policy."""
        begun = self._begun.setdefault(part, [])
        count = len(self.inputs.scoring if part == SCORING else self.inputs.validation)
        if not begun:
            self.live.on_reference(0, count)
        answers = self.ask(name, given)
        if not begun:
            self.live.on_reference(count, count)
        begun.append(policy)
        return answers

    def has_begun(self, part: str, policy: Any) -> bool:
        """Whether the full runs of a part have been computed for a policy."""
        return policy in self._begun.get(part, ())

    def forget(self, part: str, policy: Any) -> None:
        """Make all shards free what runs under a policy left behind."""
        self.repeated(lambda: self.ask("forget", dict.fromkeys(self.shards, (part, policy))))
        self._begun[part] = [begun for begun in self._begun.get(part, ()) if begun != policy]

    def without(self, lost: Lost) -> None:
        """Give the shards of a lost worker to others."""
        super().without(lost)
        moved = [shard for shard, holder in self._holders.items() if holder == lost.worker]
        for shard in moved:
            held = list(self._holders.values())
            self._holders[shard] = min(self._actors.alive, key=held.count)
        if moved:
            self._add({shard: self._holders[shard] for shard in moved})
            for part, policies in self._begun.items():  # now, as full runs take long
                some = [shard for shard in moved if self.shards[shard].of(part)]
                for policy in policies:
                    self.ask("full", dict.fromkeys(some, (part, policy)))

    def _shared_out(self, count: int) -> dict[int, Shard]:
        """Deal out whole batches of examples in turn, so that batches are as on one machine."""
        shards = {}
        for number in range(count):
            scoring, validation = (
                tuple(n for n in range(len(part)) if n // self.batch % count == number)
                for part in (self.inputs.scoring, self.inputs.validation)
            )
            if scoring or validation:
                shards[number] = Shard(scoring, validation)
        return shards

    def _add(self, holders: Mapping[int, int]) -> None:
        self.asked({
            shard: Request(worker, "add_shard", (shard, *map(list, self.shards[shard])))
            for shard, worker in holders.items() if shard in self.shards
        }, "add_shard")  # fmt: skip
