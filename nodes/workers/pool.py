"""A search's examples on several workers, in shards that move where a worker is lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..hook import samplers
from .activity import Activity
from .crew import Crew
from .ray_actors import Lost, Request, Workers
from .upstream import Prompt
from .worker import SCORING


class Part(NamedTuple):
    """Examples of a shard, by their numbers in the search."""

    scoring: tuple[int, ...]
    validation: tuple[int, ...]

    def of(self, part: str) -> tuple[int, ...]:
        return self.scoring if part == SCORING else self.validation


class Pool(Crew):
    """Workers with the examples of a search.

    Args:
        session: a ``SearchSession``.
    """

    def __init__(self, workers: Workers, session: Any, prompt: tuple[Prompt, str]) -> None:
        self._begun: set[tuple[str, bool]] = set()
        self._holders: dict[int, int] = {}  # workers, by shard
        self._activity = Activity(session.live.on_run, session.live.on_workers)
        super().__init__(workers, session, prompt, self._activity)
        try:
            count = len(self._actors.alive)
            alone = samplers.is_stochastic(session.sampler)
            # As on one machine, unless that would leave workers without any.
            self.batch = 1 if alone else min(session.batch, -(-len(session.examples) // count))
            self.shards = self._shared_out(count)
            self._holders = dict(enumerate(self._actors.alive))
            self.repeated(lambda: self._add(self._holders))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End all workers."""
        super().close()
        self.session.live.on_workers([])

    def ask(self, name: str, arguments: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Answers of shards to the same question, with arguments by shard.

        Raises:
            Again: a worker was lost; its shards are on others now.
            RuntimeError: no worker is left.
        """
        return self.asked({
            shard: Request(self._holders[shard], "ask", (shard, name, *given))
            for shard, given in arguments.items()
        }, name)  # fmt: skip

    def begin(self, part: str, is_fitted: bool) -> None:
        """Compute the full runs of all examples."""
        if (part, is_fitted) in self._begun:
            return
        count = len(self.session.examples if part == SCORING else self.session.validation)
        self.session.live.on_reference(0, count)
        given = {s: (part, is_fitted) for s, some in self.shards.items() if some.of(part)}
        self.repeated(lambda: self.ask("begin", given))
        self.session.live.on_reference(count, count)
        self._begun.add((part, is_fitted))

    def forget(self, name: str, *arguments: Any) -> None:
        """Let all shards free something."""
        self.repeated(lambda: self.ask(name, dict.fromkeys(self.shards, arguments)))
        self._begun.clear()

    def all_notes(self) -> list[str]:
        """Notes of the workers, and about them."""
        told = self.repeated(lambda: self.ask("notes", dict.fromkeys(self.shards, ())))
        return list(
            dict.fromkeys([*self.notes, *(note for some in told.values() for note in some)])
        )

    def without(self, lost: Lost) -> None:
        """Give the shards of a lost worker to others."""
        super().without(lost)
        moved = [shard for shard, holder in self._holders.items() if holder == lost.worker]
        for shard in moved:
            held = list(self._holders.values())
            self._holders[shard] = min(self._actors.alive, key=held.count)
        if moved:
            self._add({shard: self._holders[shard] for shard in moved})
            for part, is_fitted in self._begun:  # now, as its full runs take long
                some = [shard for shard in moved if self.shards[shard].of(part)]
                self.ask("begin", dict.fromkeys(some, (part, is_fitted)))

    def _shared_out(self, count: int) -> dict[int, Part]:
        """Whole batches of examples in turn: batches stay as they are on one machine."""
        session, found = self.session, {}
        for shard in range(count):
            scoring, validation = (
                tuple(n for n in range(len(some)) if n // self.batch % count == shard)
                for some in (session.examples, session.validation)
            )
            if scoring or validation:
                found[shard] = Part(scoring, validation)
        return found

    def _add(self, holders: Mapping[int, int]) -> None:
        self.asked({
            shard: Request(worker, "add_shard", (shard, *map(list, self.shards[shard])))
            for shard, worker in holders.items() if shard in self.shards
        }, "add_shard")  # fmt: skip
