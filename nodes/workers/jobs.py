"""Jobs in this process, or on workers that each take the next one when idle."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from typing import Any, NamedTuple

import comfy.model_management

from ...gph_core.experiments.jobs import Answer, Job, Jobs
from ..sample.progress import Progress
from ..schema import prompts
from .activity import Activity
from .crew import Crew
from .ray_actors import Lost, Request, Workers
from .upstream import upstream


class _Running(NamedTuple):
    number: int
    job: Job
    reference: Any
    began: float


class JobCrew(Crew):
    """Workers for the jobs of a session, whose method ``job`` takes and returns plain values."""

    def results(self, jobs: Iterable[Job]) -> Iterator[list[Any]]:
        """Results of each job, in the order of the jobs.

        A job is taken from the iterable when a worker is idle. The job of a lost worker goes to
        another.

        Raises:
            ValueError, RuntimeError: an error that a worker reports, or no worker is left.
        """
        waiting, again = enumerate(jobs), list[tuple[int, Job]]()
        running: dict[int, _Running] = {}  # by worker
        answers: dict[int, Any] = {}
        told = 0
        while True:
            for worker in self._actors.alive:
                if worker not in running and (
                    taken := again.pop() if again else next(waiting, None)
                ):
                    reference = self._actors.start(Request(worker, "job", taken[1]))
                    running[worker] = _Running(*taken, reference, time.monotonic())
            if not running:
                return
            self._collect(running, answers, again)
            while told in answers:
                yield answers.pop(told)["result"]
                told += 1

    def _collect(
        self, running: dict[int, _Running], answers: dict[int, Any], again: list[tuple[int, Job]]
    ) -> None:
        """Move finished jobs to ``answers``, and those of lost workers to ``again``."""
        limit = self.limit("job")
        done = self._actors.done([work.reference for work in running.values()])
        for worker, work in list(running.items()):
            taken = time.monotonic() - work.began
            try:
                if work.reference in done:
                    answers[work.number] = self._actors.answer(worker, work.reference)
                    self.took("job", taken)
                elif taken > limit:
                    self._actors.lose_hanging(worker, limit)
                else:
                    continue
            except Lost as lost:
                again.append((work.number, work.job))
                self.without(lost)
            del running[worker]


class Shared(NamedTuple):
    """What does the jobs of a node, and notes on workers for the user."""

    jobs: Jobs
    notes: list[str]


def here(session: Any) -> Jobs:
    """Function that does the jobs of a session in this process, with a progress bar."""

    def results(jobs: Iterable[Job], num_steps: int) -> Iterator[Iterator[Any]]:
        progress = Progress(session.workload.guider.model_patcher, num_steps)
        for job in jobs:
            answers: Iterable[Answer] = session.job(*job, progress=progress)
            yield (answer.result for answer in answers)

    return results


@contextmanager
def shared(workers: Workers | None, session: Any, hidden: Any) -> Iterator[Shared]:
    """Yield a way to do the jobs of a session: workers, which end with the block, or this process.

    Args:
        session: see ``JobCrew``; also has what ``Crew`` and ``controls.scores`` need.
        hidden: of the node, with its id and the prompt; it has an input ``workers``.
    """
    if workers is None:
        yield Shared(here(session), [])
        return
    notes: list[str] = []
    with ExitStack() as started:

        def results(jobs: Iterable[Job], num_steps: int) -> Iterator[list[Any]]:
            waiting = iter(jobs)
            first = next(waiting, None)
            if first is None:  # earlier sessions did every job: no workers are needed
                return
            prompt = upstream(hidden.prompt, hidden.unique_id, without="workers")
            check = comfy.model_management.throw_exception_if_processing_interrupted
            activity = Activity(check, _Text(hidden.unique_id).tell)
            crew = JobCrew(workers, session, (prompt, hidden.unique_id), activity)
            started.callback(crew.close)
            yield from crew.results(chain([first], waiting))
            notes.extend(crew.notes)

        yield Shared(results, notes)


class _Text:
    """Progress text of a node, sent when it changes."""

    def __init__(self, node_id: str) -> None:
        self._node_id, self._shown = prompts.displayed(node_id) or node_id, ""

    def tell(self, rows: list[dict[str, Any]]) -> None:
        text = "\n".join(map(_line, rows))
        server = prompts.listening_server()
        if text == self._shown or server is None:
            return
        self._shown = text
        server.send_progress_text(text, self._node_id, server.client_id)


def _line(row: dict[str, Any]) -> str:
    rate = f", {row['rate']:.0f} full steps per minute" if row["rate"] else ""
    return f"worker {row['worker']}: {row['doing']}{rate}"
