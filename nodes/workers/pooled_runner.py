"""Runner that asks workers, and the choice between it and one in this process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from torch import Tensor

from ...gph_core.experiments.runner import Runner
from ...gph_core.experiments.study_logs import SCORING, VALIDATION
from ...gph_core.fitting.steps import Steps
from ...gph_core.policies.as_json import policy_to_json
from ...gph_core.policies.base import Policy
from ...gph_core.policies.fitted import Fitted
from ...gph_core.quality.objective import Metrics
from ...gph_core.schedule import Schedule
from ...gph_core.search.selection import PlainSteps
from ...gph_core.search.study import Measurement
from ..sample.sampler_steps import steps_of
from .pool import Pool
from .ray_actors import Workers
from .upstream import upstream
from .worker import PLAIN_STEPS

Result = TypeVar("Result")


class PooledRunner:
    """A part of the examples of a pool; see ``Runner``.

    A search asks for one batch after another, and may drop a schedule before the last. So each
    worker measures one batch at a time; the batches of the other workers are ready when the search
    gets to them.
    """

    def __init__(self, pool: Pool, part: str) -> None:
        self._pool, self._part = pool, part
        self._workload = pool.inputs.scoring if part == SCORING else pool.inputs.validation
        self._of = {s: some for s, shard in pool.shards.items() if (some := shard.of(part))}
        self._measured: tuple[Any, dict[int, Any]] = (None, {})

    def __len__(self) -> int:
        return len(self._workload)

    @property
    def batch(self) -> int:
        return min(self._pool.batch, len(self))

    @property
    def grouping(self) -> Hashable:
        answers = self._ask("grouping", dict.fromkeys(self._of, (self._part,)))
        return tuple(sorted((shard, str(groups)) for shard, groups in answers.items()))

    @property
    def notes(self) -> list[str]:
        by_shard = self._ask("notes", dict.fromkeys(self._of, (self._part,)))
        of_workers = (note for some in by_shard.values() for note in some)
        return list(dict.fromkeys([*self._workload.notes, *self._pool.notes, *of_workers]))

    def steps(self) -> Steps:
        return steps_of(self._workload.setup)

    def full(self, policy: Policy) -> None:
        part, of_workers = self._part, told(policy)
        if not self._pool.has_begun(part, of_workers):
            given = dict.fromkeys(self._of, (part, of_workers))
            self._pool.repeated(lambda: self._pool.begin(part, of_workers, "full", given))

    def watched(self, keep: Callable[[int, int, Tensor], None], present: Collection[int]) -> None:
        given = {
            shard: (self._part, self._local(shard, present))
            for shard, own in self._of.items() if not set(present).issuperset(own)
        }  # fmt: skip
        for shard, answer in self._pool.begin(self._part, told(Fitted()), "watched", given).items():
            for number, step, state in answer["states"]:
                keep(self._of[shard][number], step, state)

    def measure(
        self, schedule: Schedule, policy: Policy, examples: Sequence[int], state_bytes: float = 0
    ) -> Measurement:
        """Metrics of some examples; their batches are sampled at the same time."""
        key = schedule, policy
        if self._measured[0] != key:
            self._measured = key, {}
        measured = self._measured[1]
        wanted = sorted({number // self._pool.batch for number in examples})
        for batch in wanted:
            if batch not in measured:
                wave = partial(self._wave, schedule, policy, batch, state_bytes)
                measured |= self._pool.repeated(wave)
        metrics = {n: m for batch in wanted for n, m in measured[batch]["metrics"].items()}
        steps = sum(measured[batch]["full_steps"] for batch in wanted)
        return Measurement([metrics[number] for number in examples], steps)

    def velocities(self, step: int, states: Mapping[int, Tensor]) -> dict[int, Tensor]:
        given = {
            shard: (self._part, step, [states[number] for number in own])
            for shard, own in self._of.items()
        }
        answers = self._pool.ask("velocities", given)
        return self._by_number({s: answer["velocities"] for s, answer in answers.items()})

    def measure_ends(self, ends: Mapping[int, Tensor], level: float) -> list[Metrics]:
        given = {
            shard: (self._part, [ends[number] for number in own], level)
            for shard, own in self._of.items()
        }
        by_number = self._by_number(self._pool.ask("measure_ends", given))
        return [by_number[number] for number in range(len(self))]

    def repeated(self, work: Callable[[], Result]) -> Result:
        """Result of ``work``, repeated after a worker was lost or got smaller batches."""
        return self._pool.repeated(work)

    def forget(self, policy: Policy) -> None:
        self._pool.forget(self._part, told(policy))

    def _ask(self, name: str, given: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        return self._pool.repeated(lambda: self._pool.ask(name, given))

    def _wave(
        self, schedule: Schedule, policy: Policy, first: int, state_bytes: float
    ) -> dict[int, Any]:
        """Measurements of a batch and of those after it, one for each shard."""
        pool, size = self._pool, self._pool.batch
        chosen: dict[int, tuple[int, list[int]]] = {}  # by shard: batch, examples
        for batch in range(first, first + len(pool.shards)):
            some = [n for n in range(batch * size, (batch + 1) * size) if n < len(self)]
            for shard, own in self._of.items():
                if some and some[0] in own:
                    chosen[shard] = batch, some
        given = {
            shard: (
                self._part, told(policy), str(schedule), self._local(shard, some), state_bytes,
            )
            for shard, (_, some) in chosen.items()
        }  # fmt: skip
        measured = {}
        for shard, answer in pool.ask("measure", given).items():
            batch, some = chosen[shard]
            metrics = dict(zip(some, answer["metrics"], strict=True))
            measured[batch] = answer | {"metrics": metrics}
        return measured

    def _local(self, shard: int, numbers: Collection[int]) -> list[int]:
        """Numbers that examples have within a shard."""
        own = self._of[shard]
        return [own.index(number) for number in numbers if number in own]

    def _by_number(self, answers: Mapping[int, Sequence[Any]]) -> dict[int, Any]:
        return {
            number: answer
            for shard, some in answers.items()
            for number, answer in zip(self._of[shard], some, strict=True)
        }


def told(policy: Policy) -> Any:
    """A policy as it is sent to workers."""
    return PLAIN_STEPS if isinstance(policy, PlainSteps) else policy_to_json(policy)


@contextmanager
def pooled(
    workers: Workers | None, inputs: Any, live: Any, hidden: Any
) -> Iterator[tuple[Runner, Runner]]:
    """Runners for scoring and for validation: on workers if there are any, else here.

    Args:
        hidden: of the node, with its id and the prompt; it has an input ``workers``.
    """
    if workers is None:
        scoring, validation = inputs.scoring, inputs.validation
        yield inputs.runner(scoring, live), inputs.runner(validation, live)
        return
    prompt = upstream(hidden.prompt, hidden.unique_id, without="workers")
    pool = Pool(workers, inputs, live, (prompt, hidden.unique_id))
    try:
        yield PooledRunner(pool, SCORING), PooledRunner(pool, VALIDATION)
    finally:
        pool.close()
