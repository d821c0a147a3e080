"""Workers that have executed what is upstream of a node, under the same conditions."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import comfyui_version
import folder_paths
import torch

from ...gph_core.files.condition_diff import first_difference, plain
from ..schema import users
from .activity import Activity
from .ray_actors import Actors, Lost, Request, Workers
from .upstream import Prompt

_LOG = logging.getLogger(__name__)
Result = TypeVar("Result")
UNKNOWN_S = 86400.0  # for the first request of a kind: full runs of a video model take hours
LEAST_S = 600.0  # that any later request may take
PATIENCE = 20.0  # a later request may take this many times the slowest of its kind
TOLERANCE = 0.1  # relative, for a control's latent MSE on two workers
OTHERS = ("--cuda-device", "--default-device", "--temp-directory", "--database-url")


class Again(Exception):
    """A worker was lost or has smaller batches now, so what it had begun must be repeated."""


class Crew:
    """Workers that were started and checked.

    Args:
        workers: where, and how many.
        session: what the node hands over in a worker; its ``conditions`` must be the same there.
        prompt: what is upstream of the node, and the node's id.
        activity: told what workers do.

    Raises:
        ValueError: no worker can be used.
    """

    def __init__(
        self, workers: Workers, session: Any, prompt: tuple[Prompt, str], activity: Activity
    ) -> None:
        self.session, self.notes = session, []
        self._slowest: dict[str, float] = {}
        self._actors = Actors(workers, command(), activity)
        try:
            self.repeated(lambda: self._load(*prompt))
            self.repeated(self._compare)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End all workers."""
        self._actors.close()

    def repeated(self, work: Callable[[], Result]) -> Result:
        """Result of ``work``, repeated whenever it raises ``Again``."""
        while True:
            try:
                return work()
            except Again:
                continue

    def note(self, text: str) -> None:
        """Tell the user something, once."""
        if text not in self.notes:
            self.notes.append(text)
            _LOG.warning("Golden Path: %s", text)

    def without(self, lost: Lost) -> None:
        """Continue without a lost worker; ``RuntimeError`` if it was the last one."""
        if not self._actors.alive:
            raise RuntimeError(
                f"all workers are lost; the last one: {lost}. All results are saved: queue again "
                "to continue, with other workers or without any"
            ) from lost
        self.note(f"worker {lost.worker} was lost ({lost}); others have taken its examples")

    def limit(self, kind: str) -> float:
        """Seconds after which a worker that has not answered counts as hanging."""
        slowest = self._slowest.get(kind)
        return UNKNOWN_S if slowest is None else max(LEAST_S, PATIENCE * slowest)

    def took(self, kind: str, seconds: float) -> None:
        """Note how long an answer took."""
        self._slowest[kind] = max(self._slowest.get(kind, 0.0), seconds)

    def asked(self, requests: Mapping[Any, Request], kind: str) -> dict[Any, Any]:
        """Answers by the keys of the requests; ``Again`` if a worker was lost."""
        begin = time.monotonic()
        try:
            answers = self._actors.ask(requests, self.limit(kind))
        except Lost as lost:
            self.without(lost)
            raise Again from lost
        self.took(kind, time.monotonic() - begin)
        return answers

    def _load(self, prompt: Prompt, node_id: str) -> None:
        """Load the workflow on all workers; leave out those whose report differs from ours."""
        given = prompt, node_id, users.current()
        asked = {n: Request(n, "load", given) for n in self._actors.alive}
        own = {
            "ComfyUI": comfyui_version.__version__, "torch": torch.__version__,
            "study": plain(self.session.conditions),
        }  # fmt: skip
        for worker, report in self.asked(asked, "load").items():
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
        (first, expected), *others = self.asked(asked, "controls").items()
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


def command() -> tuple[str, list[str]]:
    """Folder of this ComfyUI, and its command line without options that differ by process."""
    kept, skips = [], False
    for word in sys.argv[1:]:
        if not skips and word.split("=")[0] not in OTHERS:
            kept.append(word)
        skips = not skips and word in OTHERS
    return str(Path(folder_paths.__file__).parent), kept
