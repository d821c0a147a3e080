"""The search for the paths of ``guidance``: hill climbing over which steps evaluate what.

Paths of two kinds and of three go on from the best of a common first part, with as many schedules.
A score is the mean PSNR of scoring prompts under weights that were fitted to the others of them;
validation prompts choose among the best few, under weights that were fitted to all.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from benchmarks._kinds import BOTH, CACHED, POSITIVE, Branches, Kinds, Loop
from gph_core.paths.spacings import spacings

FIRST, THEN = 50, 50  # schedules of the common part, and of each of the two others
FINALISTS = 3
HOPELESS = 0.5  # dB below the best on half of the examples: the other half is not run
NEAR = 3  # steps that most moves go, at most
ATTEMPTS = 2000  # to find a neighbor that is not known
Score = tuple[float, float]  # means over the halves of the scoring prompts


def searched(
    scoring: Branches, budget: int, validated: Callable[[Kinds], float], seed: int = 0
) -> tuple[Kinds, Kinds]:
    """The best path of two kinds, and of three.

    Args:
        budget: evaluations of a branch.
        validated: mean PSNR of the validation prompts.
    """
    steps, scorer = scoring.num_steps, Scorer(scoring)
    starts = [
        tuple(BOTH if n in schedule.full_steps else CACHED for n in range(steps))
        for schedule in spacings(steps, budget // 2)
    ]
    rng = random.Random(seed)
    for kinds in starts:
        scorer.offer(kinds)
    climb(scorer, FIRST - len(starts), lambda kinds: swapped(kinds, rng))
    known = dict(scorer.known)
    climb(scorer, THEN, lambda kinds: swapped(kinds, rng))
    two = max(scorer.finalists, key=validated)
    scorer.begin_again(known)
    climb(scorer, THEN, lambda kinds: changed(kinds, rng))
    return two, max(scorer.finalists, key=validated)


class Scorer:
    """Scores by weights that were fitted to the other half of the prompts, and the best so far."""

    def __init__(self, branches: Branches) -> None:
        self._branches = branches
        half = len(branches) // 2
        self._halves = (slice(0, half), slice(half, len(branches)))
        self._loops = [Loop(branches, part) for part in self._halves]
        self.known: dict[Kinds, Score] = {}

    @property
    def best(self) -> Kinds:
        return self.finalists[0]

    @property
    def finalists(self) -> list[Kinds]:
        return sorted(self.known, key=lambda kinds: -sum(self.known[kinds]))[:FINALISTS]

    def begin_again(self, known: dict[Kinds, Score]) -> None:
        """Forget what else was scored."""
        self.known = dict(known)
        self._keep(self.best)

    def offer(self, kinds: Kinds) -> None:
        """Score a path; one that is hopeless after the first half has -inf for the other."""
        first = self._score(0, kinds)
        limit = self.known[self.best][0] - HOPELESS if self.known else -np.inf
        second = self._score(1, kinds) if first > limit else -np.inf
        self.known[kinds] = (first, second)
        if self.best == kinds:
            self._keep(kinds)

    def _score(self, number: int, kinds: Kinds) -> float:
        end = self._loops[number].end(kinds)
        return float(self._branches.psnr(end)[self._halves[1 - number]].mean())

    def _keep(self, kinds: Kinds) -> None:
        for loop in self._loops:
            loop.end(kinds, keep=True)


def climb(scorer: Scorer, count: int, move: Callable[[Kinds], Kinds]) -> None:
    """Offer new neighbors of the best path so far, until all of them seem to be known."""
    for _ in range(count):
        neighbors = (move(scorer.best) for _ in range(ATTEMPTS))
        found = next((kinds for kinds in neighbors if kinds not in scorer.known), None)
        if found is None:
            return
        scorer.offer(found)


def swapped(kinds: Kinds, rng: random.Random) -> Kinds:
    """Two steps of unequal kinds with each other's, mostly near ones; step 0 stays."""
    while True:
        one = rng.randrange(1, len(kinds))
        far = rng.random() < 0.25
        other = rng.randrange(1, len(kinds)) if far else one + rng.randint(-NEAR, NEAR)
        if 0 < other < len(kinds) and kinds[one] != kinds[other]:
            found = list(kinds)
            found[one], found[other] = found[other], found[one]
            return tuple(found)


def changed(kinds: Kinds, rng: random.Random) -> Kinds:
    """``swapped``, or a step of both branches for two positive ones, or the reverse."""
    at = {kind: [n for n in range(1, len(kinds)) if kinds[n] == kind] for kind in range(3)}
    found, choice = list(kinds), rng.random()
    if choice < 0.4 and at[BOTH] and at[CACHED]:
        for step in (rng.choice(at[BOTH]), rng.choice(at[CACHED])):
            found[step] = POSITIVE
    elif choice < 0.55 and len(at[POSITIVE]) > 1:
        one, other = rng.sample(at[POSITIVE], 2)
        found[one], found[other] = BOTH, CACHED
    else:
        return swapped(kinds, rng)
    return tuple(found)
