"""A worker: shards of a search's examples in a ComfyUI of their own, asked with plain values.

It executes the part of the workflow that is upstream of the search node, where the node hands over
its inputs instead of searching. A shard has some of the examples, for scoring and for validation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import comfy.model_management
import comfyui_version
import execution
import torch
from comfy.model_management import ACCELERATOR_ERROR, OOM_EXCEPTION

from ...gph_core.files.condition_diff import plain
from ...gph_core.policies.as_json import policy_from_json, policy_to_json
from ...gph_core.policies.base import Policy
from ...gph_core.policies.fitted import Fitted
from ...gph_core.schedule import Schedule
from ...gph_core.search.prefix import PrefixMemory
from ...gph_core.search.selection import PlainSteps
from ..fitted.fitted_examples import FittedExamples
from ..sample.measuring import SampledExamples
from ..schema import users
from . import capture, controls
from .upstream import Prompt

SCORING, VALIDATION = "scoring", "validation"
CACHE = {
    "lru": 0,
    "ram": 0.0,
    "ram_inactive": 0.0,
}  # of ComfyUI's executor
PLAIN_STEPS = "plain steps"  # in place of a policy's JSON


class Worker:
    """Answers about shards; arguments and answers are plain values.

    Args:
        server: ComfyUI's, which does not serve.
    """

    def __init__(self, server: Any) -> None:
        self._server = server
        self._session: Any = None
        self._shards: dict[int, Shard] = {}

    def load(self, prompt: Prompt, node_id: str, user: str | None = None) -> dict[str, Any]:
        """Execute what is upstream of the search node; what has to be the same everywhere.

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
        """Latent MSE of two control runs, which have to be alike everywhere."""
        with torch.inference_mode():
            return controls.scores(self._session.workload)

    def job(self, *arguments: Any) -> dict[str, Any]:
        """Do a job of the node that has handed over its session, see ``Jobs``."""
        with torch.inference_mode():
            return self._session.job(*arguments)

    def add_shard(self, shard: int, scoring: list[int], validation: list[int]) -> None:
        """Take over examples, by their numbers."""
        session = self._session
        self._shards[shard] = Shard(
            replace(
                session,
                examples=[session.examples[number] for number in scoring],
                validation=[session.validation[number] for number in validation],
            ),
            is_first=0 in scoring,
        )

    def ask(self, shard: int, name: str, *arguments: Any) -> Any:
        """Call a method of a shard."""
        with torch.inference_mode():
            return getattr(self._shards[shard], name)(*arguments)


class Shard:
    """Some examples of a search.

    Args:
        session: the search's, with these examples alone.
        is_first: it has the first example, whose first run tells whether states may be used.
    """

    def __init__(self, session: Any, is_first: bool) -> None:
        self._session, self._is_first = session, is_first
        self._parts = {
            SCORING: session.sampled(session.examples),
            VALIDATION: session.sampled(session.validation),
        }
        self._known: dict[tuple[str, str], SampledExamples] = {}
        self._fitted: FittedExamples | None = None
        self._going: Any = None  # a fit
        self._end: Any = None

    def begin(self, part: str, is_fitted: bool) -> dict[str, int]:
        """Compute full runs; for a fit, keep their states. How many steps these have."""
        if is_fitted:
            self._fitting.begin()
        else:
            self._parts[part].begin()
        return {"full_steps": len(self._parts[part]) * self._session.num_steps}

    def measure(
        self, part: str, policy: Any, schedule: str, numbers: list[int], state_bytes: float
    ) -> dict[str, Any]:
        """Metrics of some examples of the shard, by their numbers in it."""
        found = self._examples(part, policy, state_bytes).measure(Schedule.parse(schedule), numbers)
        return {"metrics": list(found.metrics), "full_steps": found.full_steps}

    def known_until(self, schedule: str, name: list[int]) -> int:
        """Step from which a fit of this schedule could go on here."""
        self._fitting.begin()  # the shard may have come from a lost worker
        return self._fitting.known_until(Schedule.parse(schedule), tuple(name))

    def fit_starts(
        self, schedule: str, fitted_on: list[int], name: list[int], goes_on: bool
    ) -> Any:
        """Products of the first cached step, see ``fit_goes_on``.

        Args:
            fitted_on: numbers of examples in the shard.
            name: numbers in the search of all examples that the weights are fitted to.
        """
        self._going = self._fitting.going(Schedule.parse(schedule), fitted_on, tuple(name), goes_on)
        return self._next(None)

    def fit_goes_on(self, weights: list[float]) -> Any:
        """Products of the examples at the next cached step, and how many full steps were run;
        without products where the runs have ended."""
        return self._next(weights)

    def fit_policy(self) -> dict[str, Any]:
        """The fitted policy, at the end of a fit."""
        return policy_to_json(self._end.policy)

    def fit_metrics(self, numbers: list[int]) -> list[Mapping[str, float]]:
        """Metrics of some examples at the end of the fit."""
        return self._fitting.metrics_of(dict(enumerate(self._end.ends)), numbers)

    def notes(self) -> list[str]:
        """What the user should know."""
        return [note for part in self._parts.values() for note in part.notes]

    def forget(self, part: str, policy: Any) -> None:
        """Free full runs and states of one policy."""
        if (found := self._known.get((part, str(policy)))) is not None:
            found.forget()

    def forget_fit(self) -> None:
        """Free what fits have left but the states of the full runs."""
        self._fitting.forget()
        self._going = self._end = None

    def _next(self, weights: list[float] | None) -> dict[str, Any]:
        fitting, before = self._fitting, self._fitting.full_steps
        found: dict[str, Any] = {"is_done": False}
        try:
            found["products"] = [tuple(one) for one in self._going.send(weights)]
        except StopIteration as end:
            self._end = end.value
            found["is_done"] = True
        except (OOM_EXCEPTION, ACCELERATOR_ERROR) as error:
            if not comfy.model_management.is_oom(error):
                raise
            self._parts[SCORING].halve(error)
            found["begins_again"] = True
        return found | {"full_steps": fitting.full_steps - before}

    @property
    def _fitting(self) -> FittedExamples:
        if self._fitted is None:
            self._fitted = FittedExamples(
                self._parts[SCORING].under(Fitted()), {}, PrefixMemory(self._session.state_bytes)
            )
        return self._fitted

    def _examples(self, part: str, policy: Any, state_bytes: float) -> SampledExamples:
        if isinstance(policy, dict) and policy.get("weights"):  # of one schedule alone
            return self._parts[part].under(policy_of(policy))
        key = part, str(policy)
        if key not in self._known:
            memory = PrefixMemory(state_bytes) if state_bytes else None
            self._known[key] = self._parts[part].under(policy_of(policy), memory)
            self._known[key].counts_check = self._is_first
        return self._known[key]


def policy_of(told: Any) -> Policy:
    """Policy that was told in JSON, or ``PLAIN_STEPS``."""
    return PlainSteps() if told == PLAIN_STEPS else policy_from_json(told)


def _reason(executor: Any) -> str:
    messages = [data for event, data in executor.status_messages if event == "execution_error"]
    return messages[-1]["exception_message"].strip() if messages else "it has errors"
