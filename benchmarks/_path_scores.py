"""PSNR of searched paths and of their baselines on held-out prompts; what is known is kept."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks import _demo, _paths
from benchmarks._memory import Memory
from benchmarks._search import FORCED, SCHEDULER, STEPS, published
from benchmarks._subjects import SUBJECTS
from demo.sampling import sigmas as noise_levels
from gph_core.paths.retarget import retarget
from gph_core.schedule import Schedule, ScheduleSpace, uniform

SAMPLED = _paths.MEMORY / "pictures.jsonl"
PROMPTS, CAPTION_SEED = 100, 3
CHUNK = 8  # prompts that share a random schedule
NOISES = (10_000, 20_000, 30_000)  # seed of the first prompt's noise
UNIFORM, PLAIN = "uniform", "plain steps"
RANDOM, MOVED = "random", "published, moved"
BASELINES = (UNIFORM, PLAIN, RANDOM, MOVED)
NO_POLICY = "none"
PAPERS = 8  # scoring prompts in the seed paper


def searched(scoring: int) -> str:
    """Name of the schedule that a search on some prompts found."""
    return f"searched on {scoring}"


@dataclass(frozen=True)
class ScoredWay:
    """A way of sampling with some full steps."""

    num_full: int
    name: str
    policy: str


Scores = dict[ScoredWay, np.ndarray]  # dB [P, S] of prompts and noises


def sample(found: list[_paths.SearchedPaths], subject: str) -> Scores:
    """dB of every way on every picture; what is known from an earlier run is not sampled again."""
    model = SUBJECTS[subject]
    prompts = model.captions(PROMPTS, CAPTION_SEED, held_out=True)
    known = Memory(model.file(SAMPLED))
    chunks: dict[ScoredWay, dict[tuple[int, int], list[float]]] = {}
    wanted = list(itertools.product(range(0, PROMPTS, CHUNK), NOISES))
    # In any order, so that two processes seldom measure the same.
    random.Random().shuffle(wanted)
    for number, (first, noise) in enumerate(wanted):
        known.refresh()
        some = prompts[first : first + CHUNK]
        here = dict(ways(found, subject, first, noise))
        for way, decibels in measured(known, some, noise + first, here, subject).items():
            chunks.setdefault(way, {})[first, noise] = decibels
        print(f"{number + 1} of {len(wanted)} chunks", flush=True)
    return {way: matrix(parts) for way, parts in chunks.items()}


def matrix(parts: dict[tuple[int, int], list[float]]) -> np.ndarray:
    """``[P, S]`` of the lists of a first prompt and a noise each."""
    columns = [
        [value for (_, seed), values in sorted(parts.items()) if seed == noise for value in values]
        for noise in NOISES
    ]
    return np.array([column for column in columns if column]).T


def ways(
    found: list[_paths.SearchedPaths], subject: str, first: int, noise: int
) -> Iterator[tuple[ScoredWay, tuple[Schedule | int, str]]]:
    """Ways to sample one chunk of pictures: each has a schedule, or a number of plain steps, and a
    policy."""
    pairs = {(path.full, path.policy) for path in found}
    for path in found:
        full, pair, even = path.full, path.policy, uniform(STEPS, path.full)
        yield ScoredWay(full, PLAIN, NO_POLICY), (full, NO_POLICY)
        yield ScoredWay(full, RANDOM, pair), (drawn(full, f"{first} {noise}"), pair)
        yield ScoredWay(full, MOVED, pair), (moved(subject, full), pair)
        for policy, schedule in path.schedules.items():
            if (full, policy) in pairs or noise == NOISES[0]:
                yield ScoredWay(full, UNIFORM, policy), (even, policy)
            if policy == pair or (noise == NOISES[0] and path.scoring == PAPERS):
                yield ScoredWay(full, searched(path.scoring), policy), (schedule, policy)


def drawn(full: int, seed: str) -> Schedule:
    """A random schedule of the space that is searched."""
    space = ScheduleSpace(STEPS, STEPS - full, FORCED)
    return space.sample(random.Random(f"{full} {seed}"))


def moved(subject: str, full: int) -> Schedule:
    """The path that was published for the big model, on the noise levels of the demo model."""
    path, levels = published(subject, full), noise_levels(STEPS, SUBJECTS[subject].shift)
    return retarget(path.schedule, path.sigmas, levels.tolist(), min_anchors=3)


def measured(
    known: Memory,
    prompts: list[str],
    seed: int,
    wanted: dict[ScoredWay, tuple[Schedule | int, str]],
    subject: str,
) -> dict[ScoredWay, list[float]]:
    """dB of each way for some prompts, the first with the noise of ``seed``."""
    keys = {way: f"{seed}: {what}, {policy}" for way, (what, policy) in wanted.items()}
    missing = {keys[way]: wanted[way] for way in wanted if keys[way] not in known}
    if missing:
        pictures = _demo.Pictures(prompts, seed, subject)
        reference = pictures.sample(SCHEDULER, STEPS)
        found = {
            key: _decibels(pictures, reference, what, policy)
            for key, (what, policy) in missing.items()
        }
        known.keep(found)
    return {way: known[key] for way, key in keys.items()}


def _decibels(pictures, reference, what: Schedule | int, policy: str) -> list[float]:
    if isinstance(what, int):
        images = pictures.sample(SCHEDULER, what)
    else:
        images = pictures.sample(SCHEDULER, STEPS, what, _paths.policies()[policy])
    return [round(value, 3) for value in _demo.psnr(images, reference).tolist()]
