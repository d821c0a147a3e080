"""A world of numbers in which experiments sample: an example is four numbers, its model a formula.

A run is a real one: Euler's method follows the velocities of a field, and at cached steps a policy
predicts from those before. No ComfyUI, no images; a run takes less than a millisecond.
"""

import itertools
import math
from collections import deque
from dataclasses import dataclass, field

import torch

from gph_core.fitting.steps import euler
from gph_core.paths.conditions import Conditions
from gph_core.policies.base import Anchor, Now, Policy, Site
from gph_core.policies.fitted import Fitted
from gph_core.search.selection import PlainSteps
from gph_core.search.study import Measurement


def levels(num_steps):
    """N + 1 noise levels from 1 to 0, dense at the end as those of most schedulers."""
    return [(1 - n / num_steps) ** 1.5 for n in range(num_steps + 1)]


def residual(state, sigma):
    """What the blocks of the model add to a state: it turns and saturates on the way."""
    return torch.sin(3 * state + 4 * sigma) + sigma * torch.tanh(state.roll(1, -1))


def velocity(state, sigma):
    return residual(state, sigma) - 0.5 * state


@dataclass(frozen=True)
class ToyExample:
    prompt: str
    seed: int

    @property
    def start(self):
        """State 0 of its runs, ``[1, 4]``."""
        return torch.randn(1, 4, generator=torch.Generator().manual_seed(self.seed))


@dataclass(frozen=True)
class ToySetup:
    """``Setup`` of the toy.

    Args:
        refusals: why no run can be cached, by policy.
    """

    sigmas: list = field(default_factory=lambda: levels(8))
    refusals: dict[Policy, str] = field(default_factory=dict)
    name: str = "Toy"

    @property
    def num_steps(self):
        return len(self.sigmas) - 1

    @property
    def conditions(self):
        return {
            "family": self.name, "model": "toy", "sigmas": list(self.sigmas), "cfg": 1.0,
            "sampler": "euler", "sampler options": "",
        }  # fmt: skip

    def known(self, policy):
        return Conditions(self.name, {}, self.sigmas, policy, name=self.name)

    def incompatibility(self, policy):
        return self.refusals.get(policy)

    def refusal(self, choice):
        return self.incompatibility(choice.policy)

    def choice_of(self, plan):
        return plan.choice_of(self.known(plan.policy))

    def check(self, choice):
        if reason := self.refusal(choice):
            raise ValueError(reason)
        choice.policy.check(choice.schedule, self.name)


def examples_of(*seeds):
    return [ToyExample(f"prompt {seed}", seed) for seed in seeds]


@dataclass(frozen=True)
class ToyExamples:
    """``Examples`` of the toy."""

    examples: list = field(default_factory=lambda: examples_of(0, 1, 2, 3))
    setup: ToySetup = field(default_factory=ToySetup)
    notes: list = field(default_factory=list)

    def __len__(self):
        return len(self.examples)

    @property
    def num_steps(self):
        return self.setup.num_steps

    @property
    def run_conditions(self):
        return self.setup.conditions

    def names(self):
        return [f"{example.prompt}, {example.seed}" for example in self.examples]


def run(state, sigmas, schedule=None, policy=None):
    """All states ``[B, 4]`` of a run, before each step and at its end; in full without a policy."""
    states = [state]
    if isinstance(policy, PlainSteps):
        sigmas = [*(sigmas[step] for step in schedule.full_steps), sigmas[-1]]
    is_plain = policy is None or isinstance(policy, PlainSteps)
    at_stack = not is_plain and policy.site is Site.STACK
    anchors = deque(maxlen=1 if is_plain else policy.num_anchors)  # newest first
    for step, (sigma, following) in enumerate(itertools.pairwise(sigmas)):
        if is_plain or step in schedule.full_steps:
            feature = residual(state, sigma) if at_stack else velocity(state, sigma)
            anchors.appendleft(Anchor(step, sigma, (feature,), state))
        else:
            (feature,) = policy.predict(tuple(anchors), Now(step, sigma, following, state))
        moved = feature - 0.5 * state if at_stack else feature
        state = state + (following - sigma) * moved
        states.append(state)
    return states


def metrics_of(end, full):
    """Metrics of one example: its last state, compared with that of its full run."""
    error = float((end - full).double().square().mean())
    psnr = -10 * math.log10(error) if error else math.inf
    return {"psnr": psnr, "latent_mse": error, "lpips": float((end - full).abs().mean())}


@dataclass
class ToyRunner:
    """``Runner`` of the toy; counts what it was asked for.

    Args:
        batch: largest number of examples that are sampled at once.
        fits: examples that fit into memory at once; if fewer than ``batch``, groups are halved.
        refusal: why the steps of the sampler are not known.
        rounding: is added to every velocity for each further example of a group, so that results
            depend on the groups, as those of real models do.
    """

    work: ToyExamples = field(default_factory=ToyExamples)
    batch: int = 1
    fits: int = 1000
    refusal: str = ""
    rounding: float = 0.0
    notes: list = field(default_factory=list)
    measured: list = field(default_factory=list)  # (schedule, policy, examples, state_bytes)
    full_runs: list = field(default_factory=list)  # numbers of examples, one an entry
    evaluated: list = field(default_factory=list)  # (step, numbers of a group) of ``velocities``
    users: set = field(default_factory=set)  # policies that need the full runs
    _ends: dict = field(default_factory=dict)  # of full runs, by number

    def __len__(self):
        return len(self.work)

    @property
    def grouping(self):
        numbers, size = range(len(self)), max(1, self.batch)
        return tuple(tuple(numbers[n : n + size]) for n in range(0, len(self), size))

    def steps(self):
        if self.refusal:
            raise ValueError(self.refusal)
        return euler(self.work.setup.sigmas)

    def full(self, policy):
        self.users.add(policy)
        for group in self.grouping:
            self._complete(group)

    def watched(self, keep, present):
        self.users.add(Fitted())
        for group in self.grouping:
            if not set(present).issuperset(group):
                for number in group:
                    for step, state in enumerate(self._full_run(number)):
                        keep(number, step, state)

    def measure(self, schedule, policy, examples, state_bytes=0):
        self.measured.append((schedule, policy, tuple(examples), state_bytes))
        return self.repeated(lambda: self._measure(schedule, policy, examples))

    def velocities(self, step, states):
        found = {}
        for group in self.grouping:
            self._require_memory(group)
            self.evaluated.append((step, group))
            state = torch.cat([states[number] for number in group])
            off = self.rounding * (len(group) - 1)
            moved = velocity(state, self.work.setup.sigmas[step]) + off
            found |= dict(zip(group, moved.split(1), strict=True))
        return found

    def measure_ends(self, ends, level):
        assert level == self.work.setup.sigmas[-1]
        for group in self.grouping:
            self._complete(group)
        return [metrics_of(ends[number], self._ends[number]) for number in range(len(self))]

    def repeated(self, work):
        while True:
            try:
                return work()
            except MemoryError:
                if self.batch == 1:
                    raise
                self.batch = (self.batch + 1) // 2
                self.notes.append(f"out of memory: examples are sampled {self.batch} at a time")

    def forget(self, policy):
        self.users.discard(policy)
        if not self.users:
            self._ends.clear()

    def _measure(self, schedule, policy, examples):
        sigmas, found, full_steps = self.work.setup.sigmas, {}, 0
        for group in self.grouping:
            if not set(group) & set(examples):
                continue
            self._require_memory(group)
            self._complete(group)
            starts = torch.cat([self.work.examples[number].start for number in group])
            ends = run(starts, sigmas, schedule, policy)[-1] + self.rounding * (len(group) - 1)
            full_steps += schedule.num_full * len(group)
            for number, end in zip(group, ends.split(1), strict=True):
                found[number] = metrics_of(end, self._ends[number])
        return Measurement([found[number] for number in examples], full_steps)

    def _complete(self, group):
        """Full runs of a group that are not there."""
        for number in group:
            if number not in self._ends:
                self._full_run(number)

    def _full_run(self, number):
        self.full_runs.append(number)
        states = run(self.work.examples[number].start, self.work.setup.sigmas)
        self._ends[number] = states[-1]
        return states

    def _require_memory(self, group):
        if len(group) > self.fits:
            raise MemoryError
