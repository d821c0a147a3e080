"""A search's examples on several workers, in shards that move where a worker is lost."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import comfyui_version
import folder_paths
import torch

from ...gph_core.files.condition_diff import first_difference, plain
from ..hook import samplers
from .ray_actors import Actors, Lost, Request, Workers
from .upstream import Prompt
from .worker import SCORING

_LOG = logging.getLogger(__name__)
Result = TypeVar("Result")
UNKNOWN_S = 86400.0  # for the first request of a kind: full runs of a video model take hours
LEAST_S = 600.0  # that every later request may take
PATIENCE = 20.0  # times what the slowest request of its kind has taken
TOLERANCE = 0.1  # of a control's latent MSE, between two workers
OTHERS = ("--cuda-device", "--default-device", "--temp-directory", "--database-url")


class Again(Exception):
    """A worker was lost, or has smaller batches: everything that it had begun is to be repeated."""


class Part(NamedTuple):
    """Examples of a shard, by their numbers in the search."""

    scoring: tuple[int, ...]
    validation: tuple[int, ...]

    def of(self, part: str) -> tuple[int, ...]:
        return self.scoring if part == SCORING else self.validation


class Pool:
    """Workers with the examples of a search.

    Args:
        workers: where, and how many.
        session: a ``SearchSession``.
        prompt: what is upstream of the search node, and the node's id.
    """

    def __init__(self, workers: Workers, session: Any, prompt: tuple[Prompt, str]):
        self.session, self.notes = session, []
        self._slowest: dict[str, float] = {}
        self._begun: set[tuple[str, bool]] = set()
        self._actors = Actors(workers, command(), session.live.on_run)
        try:
            self.repeated(lambda: self._load(*prompt))
            self.repeated(self._compare)
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
        self._actors.close()

    def repeated(self, work: Callable[[], Result]) -> Result:
        """Result of some work, which is repeated after workers were lost."""
        while True:
            try:
                return work()
            except Again:
                continue

    def ask(self, name: str, arguments: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Answers of shards to the same question, with arguments by shard.

        Raises:
            Again: a worker was lost; its shards are on others now.
            RuntimeError: no worker is left.
        """
        return self._asked({
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

    def note(self, text: str) -> None:
        """Tell the user something, once."""
        if text not in self.notes:
            self.notes.append(text)
            _LOG.warning("Golden Path: %s", text)

    def all_notes(self) -> list[str]:
        """Notes of the workers, and about them."""
        told = self.repeated(lambda: self.ask("notes", dict.fromkeys(self.shards, ())))
        return list(
            dict.fromkeys([*self.notes, *(note for some in told.values() for note in some)])
        )

    # --- workers ------------------------------------------------------------------------------

    def _load(self, prompt: Prompt, node_id: str) -> None:
        """Load the workflow everywhere; a worker where something differs is left out."""
        asked = {n: Request(n, "load", (prompt, node_id)) for n in self._actors.alive}
        own = {
            "ComfyUI": comfyui_version.__version__, "torch": torch.__version__,
            "study": plain(self.session.conditions),
        }  # fmt: skip
        for worker, report in self._asked(asked, "load").items():
            different = first_difference(report, own) and (
                first_difference(report["study"], own["study"]) or first_difference(report, own)
            )
            if different:
                name, there, here = different
                self._leave_out(worker, f"its {name} is {there}, here it is {here}")

    def _compare(self) -> None:
        """Leave out workers whose control scores differ from those of the first one."""
        if len(self._actors.alive) == 1:
            return
        asked = {n: Request(n, "controls") for n in self._actors.alive}
        (first, expected), *others = self._asked(asked, "controls").items()
        for worker, scores in others:
            if any(
                abs(score - wanted) > TOLERANCE * abs(wanted)
                for score, wanted in zip(scores, expected, strict=True)
            ):
                self._leave_out(
                    worker,
                    f"the latent MSE of its control runs is {scores}, that of worker {first} is "
                    f"{expected}",
                )

    def _leave_out(self, worker: int, reason: str) -> None:
        self.note(f"worker {worker} is left out: {reason}")
        try:
            self._actors.lose(worker, reason)
        except Lost:
            if not self._actors.alive:
                raise ValueError(f"no worker can be used; the last one: {reason}") from None

    def _asked(self, requests: Mapping[int, Request], kind: str) -> dict[int, Any]:
        slowest = self._slowest.get(kind)
        limit = UNKNOWN_S if slowest is None else max(LEAST_S, PATIENCE * slowest)
        begin = time.monotonic()
        try:
            answers = self._actors.ask(requests, limit)
        except Lost as lost:
            self._move(lost)
            raise Again from lost
        self._slowest[kind] = max(self._slowest.get(kind, 0.0), time.monotonic() - begin)
        return answers

    # --- shards -------------------------------------------------------------------------------

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
        self._asked({
            shard: Request(worker, "add_shard", (shard, *map(list, self.shards[shard])))
            for shard, worker in holders.items() if shard in self.shards
        }, "add_shard")  # fmt: skip

    def _move(self, lost: Lost) -> None:
        """Give the shards of a lost worker to others."""
        alive = self._actors.alive
        if not alive:
            raise RuntimeError(
                f"all workers are lost; the last one: {lost}. All scores are saved: queue again to "
                "continue, with other workers or without any"
            ) from lost
        self.note(f"worker {lost.worker} was lost ({lost}); others have taken its examples")
        moved = [shard for shard, holder in getattr(self, "_holders", {}).items()
                 if holder == lost.worker]  # fmt: skip
        for shard in moved:
            held = list(self._holders.values())
            self._holders[shard] = min(alive, key=held.count)
        if moved:
            self._add({shard: self._holders[shard] for shard in moved})
            for part, is_fitted in self._begun:  # now, as its full runs take long
                some = [shard for shard in moved if self.shards[shard].of(part)]
                self.ask("begin", dict.fromkeys(some, (part, is_fitted)))


def command() -> tuple[str, list[str]]:
    """Folder of this ComfyUI, and its command line without what differs by process."""
    kept, skips = [], False
    for word in sys.argv[1:]:
        if not skips and word.split("=")[0] not in OTHERS:
            kept.append(word)
        skips = not skips and word in OTHERS
    return str(Path(folder_paths.__file__).parent), kept
