"""Examples of a search that workers measure; the search does not see the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...gph_core.calibration.closed_loop import Products, solved
from ...gph_core.policies.as_json import policy_from_json, policy_to_json
from ...gph_core.policies.base import Policy
from ...gph_core.policies.fitted import Fitted
from ...gph_core.quality.objective import Metrics
from ...gph_core.schedule import Schedule
from ...gph_core.search.prefix import PrefixMemory
from ...gph_core.search.selection import PlainSteps
from ...gph_core.search.study import Measurement
from .crew import Again
from .pool import Pool
from .worker import PLAIN_STEPS, SCORING


class PooledExamples:
    """Examples under one policy, as of ``SampledExamples``.

    A search asks for a batch after the other, and may drop a schedule before the last one. So each
    worker measures one batch at a time: what others were asked for is there when the search comes
    to it.

    Args:
        part: of the examples, ``scoring`` or ``validation``.
        state_bytes: of states that each shard keeps.
    """

    def __init__(self, pool: Pool, part: str, policy: Policy, state_bytes: float = 0) -> None:
        self._pool, self._part, self.policy = pool, part, policy
        self._state_bytes = state_bytes
        session = pool.session
        self._count = len(session.examples if part == SCORING else session.validation)
        self._measured: tuple[Schedule | None, dict[int, Any]] = (None, {})

    def __len__(self) -> int:
        return self._count

    @property
    def batch(self) -> int:
        """Number of examples that are sampled at once."""
        return min(self._pool.batch, len(self))

    @property
    def notes(self) -> list[str]:
        return self._pool.all_notes()

    def under(self, policy: Policy, memory: PrefixMemory | None = None) -> PooledExamples:
        """Share the workers' examples under another policy."""
        budget = memory.budget if memory else 0
        return PooledExamples(self._pool, self._part, policy, budget)

    def begin(self) -> None:
        self._pool.begin(self._part, is_fitted=False)

    def forget(self) -> None:
        self._pool.forget("forget", self._part, told_of(self.policy))

    def measure(self, schedule: Schedule, examples: Sequence[int]) -> Measurement:
        """Metrics of some examples; their batches are sampled at the same time."""
        if self._measured[0] != schedule:
            self._measured = schedule, {}
        known = self._measured[1]
        wanted = sorted({number // self._pool.batch for number in examples})
        for batch in wanted:
            if batch not in known:
                known |= self._pool.repeated(lambda batch=batch: self._wave(schedule, batch))
        metrics = {n: m for batch in wanted for n, m in known[batch]["metrics"].items()}
        steps = sum(known[batch]["full_steps"] for batch in wanted)
        return Measurement([metrics[number] for number in examples], steps)

    def _wave(self, schedule: Schedule, first: int) -> dict[int, Any]:
        """A batch and those behind it, one of each shard."""
        pool, size = self._pool, self._pool.batch
        numbers: dict[int, tuple[int, list[int]]] = {}  # by shard: batch, examples
        for batch in range(first, first + len(pool.shards)):
            some = [n for n in range(batch * size, (batch + 1) * size) if n < len(self)]
            for shard, part in pool.shards.items():
                if some and some[0] in part.of(self._part):
                    numbers[shard] = batch, some
        told = told_of(self.policy)
        given = {
            shard: (self._part, told, str(schedule), local(pool, shard, self._part, some),
                    self._state_bytes)
            for shard, (_, some) in numbers.items()
        }  # fmt: skip
        found = {}
        for shard, answer in pool.ask("measure", given).items():
            batch, some = numbers[shard]
            metrics = dict(zip(some, answer["metrics"], strict=True))
            found[batch] = answer | {"metrics": metrics}
        return found


class PooledFitted:
    """Scoring examples under weights that were fitted to the others, as of ``FittedExamples``."""

    def __init__(self, pool: Pool, conditions: Mapping[str, Any]) -> None:
        self._pool, self._conditions = pool, conditions
        self._metrics: dict[Schedule, list[Metrics]] = {}
        self._full_steps = 0

    def __len__(self) -> int:
        return len(self._pool.session.examples)

    @property
    def notes(self) -> list[str]:
        return self._pool.all_notes()

    def begin(self) -> None:
        self._pool.begin(SCORING, is_fitted=True)

    def forget(self) -> None:
        self._pool.forget("forget_fit")

    def measure(self, schedule: Schedule, examples: Sequence[int]) -> Measurement:
        """Metrics of some examples; the first call for a schedule runs all of them."""
        steps = 0
        if schedule not in self._metrics:
            self._metrics[schedule] = self._pool.repeated(lambda: self._cross_fitted(schedule))
            steps = self._full_steps
        found = self._metrics[schedule]
        return Measurement([found[number] for number in examples], steps)

    def policy_for(self, schedule: Schedule) -> Fitted:
        """Weights of a schedule, fitted to all examples."""
        found = self._pool.repeated(lambda: self._fitted(schedule, range(len(self))))
        return replace(found, conditions=self._conditions, examples=len(self))

    def _cross_fitted(self, schedule: Schedule) -> list[Metrics]:
        pool, numbers = self._pool, range(len(self))
        self._full_steps = 0
        halves = (numbers[::2], numbers[1::2]) if len(self) > 1 else (numbers, numbers)
        metrics: dict[int, Metrics] = {}
        for one, other in (halves, halves[::-1]):
            self._fitted(schedule, one)
            wanted = {
                shard: [n for n in part.scoring if n in other]
                for shard, part in pool.shards.items()
            }
            given = {s: (local(pool, s, SCORING, some),) for s, some in wanted.items() if some}
            for shard, found in pool.ask("fit_metrics", given).items():
                metrics |= dict(zip(wanted[shard], found, strict=True))
        return [metrics[number] for number in numbers]

    def _fitted(self, schedule: Schedule, fitted_on: Sequence[int]) -> Fitted:
        """Fit on all workers together: each waits for the weights of every cached step."""
        pool, text, name = self._pool, str(schedule), list(fitted_on)
        chosen = {
            shard: [n for n in part.scoring if n in fitted_on]
            for shard, part in pool.shards.items() if part.scoring
        }  # fmt: skip
        known = set(pool.ask("known_until", dict.fromkeys(chosen, (text, name))).values())
        goes_on = len(known) == 1  # otherwise one would wait for what others have behind them
        given = {
            shard: (text, local(pool, shard, SCORING, some), name, goes_on)
            for shard, some in chosen.items()
        }
        answers = pool.ask("fit_starts", given)
        while True:
            if any("begins_again" in answer for answer in answers.values()):
                raise Again
            self._full_steps += sum(answer["full_steps"] for answer in answers.values())
            if all(answer["is_done"] for answer in answers.values()):
                break
            products = {
                number: Products(*one)
                for shard, answer in answers.items()
                for number, one in zip(chosen[shard], answer["products"], strict=True)
            }
            weights = solved([products[number] for number in fitted_on])
            answers = pool.ask("fit_goes_on", dict.fromkeys(chosen, (weights,)))
        first = next(iter(chosen))
        found = policy_from_json(pool.ask("fit_policy", {first: ()})[first])
        assert isinstance(found, Fitted)
        return found


def told_of(policy: Policy) -> Any:
    """A policy as a worker is told it."""
    return PLAIN_STEPS if isinstance(policy, PlainSteps) else policy_to_json(policy)


def local(pool: Pool, shard: int, part: str, numbers: Sequence[int]) -> list[int]:
    """Numbers of examples in a shard."""
    own = pool.shards[shard].of(part)
    return [own.index(number) for number in numbers]
