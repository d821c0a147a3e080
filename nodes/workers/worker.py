"""A worker: does jobs, and holds shards of a search's examples, in a ComfyUI of its own.

It executes the part of the workflow that is upstream of a node; there the node hands over its
inputs instead of working. A shard has some of the examples, for scoring and for validation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import comfy.model_management
import comfyui_version
import execution
import torch
from comfy.model_management import ACCELERATOR_ERROR, OOM_EXCEPTION
from torch import Tensor

from ...gph_core.experiments.study_logs import SCORING, VALIDATION
from ...gph_core.files.condition_diff import plain
from ...gph_core.policies.as_json import policy_from_json
from ...gph_core.policies.base import Policy
from ...gph_core.schedule import Schedule
from ...gph_core.search.selection import PlainSteps
from ..sample.runner import LocalRunner
from ..schema import users
from . import capture, controls
from .upstream import Prompt

CACHE = {
    "lru": 0,
    "ram": 0.0,
    "ram_inactive": 0.0,
}  # of ComfyUI's executor
AGAIN = "again"  # answer of a shard that has smaller batches now
PLAIN_STEPS = "plain steps"  # in place of a policy's JSON


class Worker:
    """Does jobs and answers for shards; arguments and answers are plain values.

    Args:
        server: ComfyUI's, which does not listen.
    """

    def __init__(self, server: Any) -> None:
        self._server = server
        self._session: Any = None
        self._shards: dict[int, Shard] = {}

    def load(self, prompt: Prompt, node_id: str, user: str | None = None) -> dict[str, Any]:
        """Execute what is upstream of a node; return what must be the same on all workers.

        Args:
            user: whose files are read, see ``users``.

        Raises:
            RuntimeError: a node fails here, or files are missing.
        """
        users.assume(user)
        taken = capture.begin()
        try:
            executor = execution.PromptExecutor(self._server, cache_args=CACHE)
            executor.execute(prompt, "golden path worker", {}, [node_id])
        finally:
            capture.end()
        if not taken:
            raise RuntimeError(f"the workflow cannot be executed on a worker: {_reason(executor)}")
        self._session, self._shards = taken[-1], {}
        return {
            "ComfyUI": comfyui_version.__version__, "torch": torch.__version__,
            "study": plain(self._session.conditions),
        }  # fmt: skip

    def controls(self) -> list[float]:
        """Latent MSE of two control runs, which must be about the same on all workers."""
        with torch.inference_mode():
            return controls.scores(self._session.workload)

    def job(self, *arguments: Any) -> dict[str, Any]:
        """Do a job of the node that handed over its session, see ``JobCrew``."""
        with torch.inference_mode():
            answers = list(self._session.job(*arguments))
        return {
            "result": [answer.result for answer in answers],
            "full_steps": sum(answer.full_steps for answer in answers),
        }

    def add_shard(self, shard: int, scoring: list[int], validation: list[int]) -> None:
        """Take over examples, by their numbers."""
        self._shards[shard] = Shard(self._session, scoring, validation)

    def ask(self, shard: int, name: str, *arguments: Any) -> Any:
        """Call a method of a shard; if memory runs out, halve its batches and return ``AGAIN``."""
        try:
            with torch.inference_mode():
                return getattr(self._shards[shard], name)(*arguments)
        except (OOM_EXCEPTION, ACCELERATOR_ERROR) as error:
            if not comfy.model_management.is_oom(error):
                raise
            self._shards[shard].halve(arguments[0], error)
            return AGAIN


class Shard:
    """Some examples of a search, by their numbers in it.

    Args:
        inputs: ``SearchInputs``.
    """

    def __init__(self, inputs: Any, scoring: list[int], validation: list[int]) -> None:
        self._runners: dict[str, LocalRunner] = {}
        for part, work, numbers in (
            (SCORING, inputs.scoring, scoring), (VALIDATION, inputs.validation, validation),
        ):  # fmt: skip
            own = replace(work, examples=[work.examples[number] for number in numbers])
            self._runners[part] = inputs.runner(own)
            # The first example's first run tells whether states may be used.
            self._runners[part].counts_check = part == SCORING and 0 in scoring

    def full(self, part: str, policy: Any) -> dict[str, int]:
        """Compute full runs; return how many steps they have."""
        runner = self._runners[part]
        runner.full(policy_of(policy))
        return {"full_steps": len(runner) * runner.workload.num_steps}

    def watched(self, part: str, present: list[int]) -> dict[str, Any]:
        """States of full runs of examples not in ``present``: number in the shard, step, state."""
        states: list[tuple[int, int, Tensor]] = []

        def keep(number: int, step: int, state: Tensor) -> None:
            states.append((number, step, state.to("cpu", copy=True)))

        runner = self._runners[part]
        runner.watched(keep, present)
        steps = (len(runner) - len(present)) * runner.workload.num_steps
        return {"states": states, "full_steps": steps}

    def grouping(self, part: str) -> Any:
        """Which examples are sampled at once."""
        return self._runners[part].grouping

    def measure(
        self, part: str, policy: Any, schedule: str, numbers: list[int], state_bytes: float
    ) -> dict[str, Any]:
        """Metrics of some examples of the shard, by their numbers in it."""
        measured = self._runners[part].measure(
            Schedule.parse(schedule), policy_of(policy), numbers, state_bytes
        )
        return {"metrics": list(measured.metrics), "full_steps": measured.full_steps}

    def velocities(self, part: str, step: int, states: list[Tensor]) -> dict[str, Any]:
        """Velocities of all examples of the shard, in their order."""
        by_number = self._runners[part].velocities(step, dict(enumerate(states)))
        velocities = [by_number[number] for number in range(len(states))]
        return {"velocities": velocities, "full_steps": len(states)}

    def measure_ends(self, part: str, ends: list[Tensor], level: float) -> list[Any]:
        """Metrics of all examples of the shard, in their order."""
        return self._runners[part].measure_ends(dict(enumerate(ends)), level)

    def halve(self, part: str, error: Exception) -> None:
        """Sample fewer examples at once."""
        self._runners[part].references.halve(error)

    def notes(self, part: str) -> list[str]:
        """What the user should know."""
        return self._runners[part].references.notes

    def forget(self, part: str, policy: Any) -> None:
        """Free what runs under a policy left behind."""
        self._runners[part].forget(policy_of(policy))


def policy_of(told: Any) -> Policy:
    """Policy from its JSON, or from ``PLAIN_STEPS``."""
    return PlainSteps() if told == PLAIN_STEPS else policy_from_json(told)


def _reason(executor: Any) -> str:
    messages = [data for event, data in executor.status_messages if event == "execution_error"]
    return messages[-1]["exception_message"].strip() if messages else "it has errors"
