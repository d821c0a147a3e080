"""Workers as Ray actors: start them, ask them, wait for them, end them."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn, TypeVar

import psutil

from . import host, joining
from .activity import PAUSE_S, Activity
from .cluster import LOCAL

Key = TypeVar("Key")

CLOSE_S = 2.0  # for workers to remove their temporary files
END_S = 10.0  # for processes to end
NEEDED = "2.52"  # the first with tokens, without which anybody on the network could use workers
INSTALL = (
    f'run python -m pip install "ray>={NEEDED}" with the Python of ComfyUI, then start it again'
)
# For a Ray that is started here. It listens on all addresses of the machine, so it requires a
# token; and it sends no usage reports.
OURS = {
    "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32),
    "RAY_USAGE_STATS_ENABLED": "0",
}  # fmt: skip


class Workers(NamedTuple):
    """The choice of *Search Workers*.

    Args:
        address: ``LOCAL`` or ``CLUSTER``, never that of a machine.
        count: number of workers; 0: one for each GPU.
        gpus: of each worker; may be a fraction.
    """

    address: str = LOCAL
    count: int = 0
    gpus: float = 1.0


class Request(NamedTuple):
    """Call of a worker's method with plain arguments."""

    worker: int
    name: str
    arguments: tuple[Any, ...] = ()

    @property
    def kind(self) -> str:
        """What is asked for, of the worker or of one of its shards."""
        return self.arguments[1] if self.name == "ask" else self.name


class Lost(Exception):
    """A worker has died, hangs, or has left the cluster."""

    def __init__(self, worker: int, reason: str) -> None:
        super().__init__(reason)
        self.worker = worker


class Actors:
    """The worker processes of one node.

    Args:
        command: folder of ComfyUI, and its command line.
        activity: told what workers are asked and answer; it raises if the user has cancelled.
    """

    def __init__(
        self, workers: Workers, command: tuple[str, list[str]], activity: Activity
    ) -> None:
        self._ray, self._activity, self._command = required(workers.address), activity, command
        self._others = _children()
        self._actors: dict[int, Any] = {}
        self._is_ours = joining.begin(self._ray, workers.address, activity.waits)
        try:
            self._start(workers)
        except BaseException:
            self.close()
            raise

    def _start(self, workers: Workers) -> None:
        gpus = self._ray.cluster_resources().get("GPU", 0)
        count = workers.count or int(gpus)
        if not count or count * workers.gpus > gpus:
            wanted = f"{count} workers of {workers.gpus:g} GPUs each" if count else "a worker a GPU"
            raise ValueError(
                f"{wanted}: Ray finds {gpus:g} GPUs; set another count, or gpus_per_worker to a "
                "smaller number (0: the CPU)"
            )
        kind = self._ray.remote(host.Host).options(num_gpus=workers.gpus, num_cpus=0)
        self._actors = {n: kind.remote(*self._command) for n in range(1, count + 1)}

    @property
    def alive(self) -> list[int]:
        """Numbers of the workers that have not been lost."""
        return list(self._actors)

    def ask(self, requests: Mapping[Key, Request], limit_s: float) -> dict[Key, Any]:
        """Answers to requests that run at the same time, by the keys of the requests.

        Args:
            limit_s: seconds after which a worker that has not answered counts as hanging.

        Raises:
            Lost: the first worker that turns out to be lost; the answers of others are dropped.
            ValueError, RuntimeError: an error that a worker reports.
        """
        waiting = {self.start(asked): key for key, asked in requests.items()}
        answers: dict[Key, Any] = {}
        end = time.monotonic() + limit_s
        try:
            while waiting:
                done = self.done(list(waiting))
                for reference in done:
                    key = waiting.pop(reference)
                    answers[key] = self.answer(requests[key].worker, reference)
                    end = time.monotonic() + limit_s
                if not done and time.monotonic() > end:
                    self.lose_hanging(requests[next(iter(waiting.values()))].worker, limit_s)
        finally:
            self._activity.dropped()
        return answers

    def start(self, request: Request) -> Any:
        """Send a request to its worker; return a reference to the answer."""
        self._activity.asked(request.worker, request.kind)
        return self._actors[request.worker].call.remote(request.name, *request.arguments)

    def done(self, references: Sequence[Any]) -> list[Any]:
        """References whose answers have arrived; waits a moment if there are none."""
        self._activity.waits()
        return self._ray.wait(references, num_returns=1, timeout=PAUSE_S)[0]

    def close(self) -> None:
        """End the workers, and Ray if it was started or joined here."""
        with suppress(Exception):
            ending = [actor.close.remote() for actor in self._actors.values()]
            self._ray.wait(ending, num_returns=len(ending), timeout=CLOSE_S)
        for actor in self._actors.values():
            self._ray.kill(actor)
        self._actors = {}
        if self._is_ours:
            started = _children() - self._others
            self._ray.shutdown()
            psutil.wait_procs(started, timeout=END_S)
        host.remove_abandoned()

    def answer(self, worker: int, reference: Any) -> Any:
        """Answer of a worker; errors as in ``ask``."""
        try:
            reply = self._ray.get(reference)
        except self._ray.exceptions.RayActorError as error:
            self.lose(worker, str(error).splitlines()[0])
        except self._ray.exceptions.RayTaskError as error:
            raise RuntimeError(f"worker {worker}: {error}") from error
        if "error" in reply:
            kind = ValueError if reply["is_value_error"] else RuntimeError
            raise kind(f"worker {worker}: {reply['error']}")
        self._activity.answered(worker, reply["answer"])
        return reply["answer"]

    def lose_hanging(self, worker: int, limit_s: float) -> NoReturn:
        """Drop a worker that has not answered in time."""
        self.lose(worker, f"did not answer for {limit_s:.0f} seconds")

    def lose(self, worker: int, reason: str) -> NoReturn:
        """Drop a worker, and raise ``Lost``."""
        with suppress(Exception):
            self._ray.kill(self._actors[worker])
        del self._actors[worker]
        self._activity.lost(worker)
        raise Lost(worker, reason)


def required(address: str) -> Any:
    """Ray, for use at ``LOCAL`` or ``CLUSTER``; ``ValueError`` says what to install."""
    if address == LOCAL:
        for name, value in OURS.items():  # Ray reads them when it is imported
            os.environ.setdefault(name, value)
    try:
        import ray
        import ray.cloudpickle as pickle
    except ImportError as error:
        raise ValueError(f"workers need Ray, which is not installed: {INSTALL}") from error
    version = ray.__version__
    if tuple(map(int, version.split(".")[:2])) < tuple(map(int, NEEDED.split("."))):
        raise ValueError(f"workers need Ray {NEEDED} or newer, this is {version}: {INSTALL}")
    pickle.register_pickle_by_value(host)  # the pack has no importable name
    return ray


def _children() -> set[psutil.Process]:
    return set(psutil.Process().children(recursive=True))
