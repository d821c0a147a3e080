"""Caches on models of few steps: students of the demo model, at every number of full steps.

Students of 4, 8 and 16 steps, and the one with guidance baked in at 20, all at CFG 1. For each
number of evaluations: as many plain steps, the node's default without a path, last steps that
repeat a velocity (what two experts of two steps each can do), residual reuse, and fitted weights,
both under the best schedule that leaves step 0 full (of a large space: the best of the pack's
spacings and some random ones). Schedules are chosen and weights are fitted on 16 prompts that
training saw, or on two or four of them; *learn* has the schedule that the node takes for two.
Beside them stands ComfyUI's EasyCache. Pictures are compared with the run of all steps, and a
classifier says whether they show what the prompt names.

It takes about an hour of one core; ``-- --quick`` takes a few pictures, to try it out.
"""

from __future__ import annotations

import copy
import random
import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from comfy_extras.nodes_easycache import EasyCacheNode
from golden_path_pack.gph_core.experiments.examples import UnderPolicy
from golden_path_pack.gph_core.learning import lesson
from golden_path_pack.gph_core.learning.lesson import budget_of
from golden_path_pack.gph_core.learning.spacings import to_learn
from golden_path_pack.gph_core.paths.spacings import spacings
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.damped_velocity import DampedVelocity
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.run_plan import by_count
from golden_path_pack.gph_core.schedule import Schedule, ScheduleSpace
from golden_path_pack.nodes.sample.sampling import Sampling

from benchmarks.lab import demo, report
from benchmarks.lab.lab import SCORING_SEED, UNSEEN_SEED, Lab, Prompts
from benchmarks.lab.results import interval, seen
from benchmarks.lab.subjects import EVERY, FEW_STEPS, OF_STUDENTS, STUDENT, of_steps
from benchmarks.lab.ways import PLAIN
from benchmarks.quality._defaults import DEFAULT
from demo.training.evaluate import Verdict, judge

FILE = "turbo.json"
SUBJECTS = {**{steps: of_steps(steps) for steps in FEW_STEPS}, 20: STUDENT}  # by number of steps
SCORING, LEARNED = 16, (2, 4)  # images to choose and fit on
ALL_STEPS, REUSE, FITTED, EASY = "all steps", "residual reuse", "fitted", "EasyCache"
FROM_2, LEARN, REPEATED = "from 2 images", "learn, 2 images", "last steps repeat"
THRESHOLDS = (0.05, 0.1, 0.2, 0.4)  # EasyCache's default is 0.2
START, END = 0.15, 0.95  # its defaults, parts of the run
SMALL, RANDOM = 100, 20  # schedules that are all tried; others beside spacings in a large space
UNSEEN = 200  # prompts: one image in 100 moves the accuracy by a point
# Steps and full ones of the node without a path, its lead over plain steps in dB, share of images
# hardly visible, and how much fewer are right: README says so.
CLAIMED, LEAD, GOOD, LESS_RIGHT = ((4, 3), (8, 6)), 3.0, 0.9, 0.02


def measure(options) -> dict:
    unseen = 8 if options.quick else UNSEEN
    return {"rows": report.printed(row for n in options.steps for row in rows(n, unseen))}


def add_options(parser) -> None:
    parser.add_argument("--quick", action="store_true", help="few pictures, to try it out")
    parser.add_argument(
        "--steps", type=int, nargs="*", choices=list(SUBJECTS), default=list(SUBJECTS),
        help="of the students; rows of the others stay as they are",
    )  # fmt: skip


def merged(kept: dict, figures: dict) -> dict:
    """New rows in the places of saved ones of the same student."""
    new = {row["steps"] for row in figures["rows"]}
    rows = [row for row in kept.get("rows", ()) if row["steps"] not in new] + figures["rows"]
    return {"rows": sorted(rows, key=lambda row: row["steps"])}


def conditions(options) -> dict:
    return {
        "model": OF_STUDENTS, "prompts": f"{UNSEEN} held out of training",
        "sampling": f"{demo.SAMPLER}, {demo.SCHEDULER}, CFG 1",
        "unit": "PSNR in dB of 8-bit images to the run of all steps: mean and half of its 95 % "
        "interval; ahead: of as many plain steps, paired by prompt; counts, shapes: share of "
        "images with the right number of pieces, and with the right shapes as well",
    }  # fmt: skip


def misses(figures: dict) -> list[str]:
    """What README says and the node does not hold."""
    found = {(row["steps"], row["full"], row["way"]): row for row in figures["rows"]}
    missed = []
    for steps, full in CLAIMED:
        if (steps, full, DEFAULT) not in found:
            continue  # other students were measured
        row, whole = found[steps, full, DEFAULT], found[steps, steps, ALL_STEPS]
        lead, interval = row["ahead"]
        less = max(whole[name] - row[name] for name in ("counts", "shapes"))
        if lead - interval < LEAD or row["good"] < GOOD or less > LESS_RIGHT + 1e-9:
            missed.append(
                f"{full} of {steps}: {lead:.1f} ± {interval:.1f} dB ahead of plain steps, "
                f"{row['good']:.0%} hardly visible, {less:.1%} fewer right"
            )
    return missed


def rows(steps: int, unseen: int = UNSEEN) -> Iterator[dict]:
    """A row for each way at each number of full steps of a student."""
    lab = Lab(steps, 1.0, prompts=Prompts(unseen=unseen), subject=SUBJECTS[steps])
    album = Album(lab)
    yield row(steps, steps, ALL_STEPS, album.accuracy(album.full))
    for full in range(2, steps):
        plain = album.of(partial(fewer_steps, replace(lab, steps=full).sigmas))
        yield row(steps, full, PLAIN, album.scores(plain))
        yield row(steps, full, DEFAULT, album.scores(album.of(partial(default, full)), plain))
        first = Schedule(tuple(range(full)), steps), Reuse(Site.GUIDED)
        for way, (schedule, policy) in {REPEATED: first, **cached(lab, full)}.items():
            found = album.scores(album.of(partial(under, schedule, policy)), plain)
            yield row(steps, full, way, found) | {"schedule": str(schedule)}
    for threshold in THRESHOLDS:
        calls: list[int] = []
        found = album.scores(album.of(partial(easy_cache, threshold, calls), alone=True))
        full = round(statistics.fmean(calls), 2)
        yield row(steps, full, f"{EASY} {threshold:g}", found)


def row(steps: int, full: float, way: str, found: dict) -> dict:
    """A row of the table."""
    return {"steps": steps, "full": full, "way": way, **found}


def cached(lab: Lab, full: int) -> dict[str, tuple[Schedule, object]]:
    """Schedule and policy of each way that caches, at a number of full steps."""
    space = ScheduleSpace(lab.steps, lab.steps - full)
    work = lab.workload(SCORING, SCORING_SEED, held_out=False)
    found: dict[str, tuple[Schedule, object]] = {}
    by_reuse = UnderPolicy(lab.runner(work), Reuse(), demo.STATE_BYTES)
    found[REUSE] = best(by_reuse, space), Reuse()
    for name, count in {FITTED: SCORING, **{f"from {n} images": n for n in LEARNED}}.items():
        fits = lab.fits(replace(work, examples=work.examples[:count]))
        schedule = best(fits, space)
        found[name] = schedule, fits.policy_for(schedule)
        if name == FROM_2:
            schedule = as_learned(lab, fits, full)
            found[LEARN] = schedule, fits.policy_for(schedule)
    return found


def as_learned(lab: Lab, fits: Any, full: int) -> Schedule:
    """The schedule that the node takes for a few images."""
    default = lab.unseen.setup.choice_of(by_count(full, None, ()), False)
    tried = to_learn(full, default.schedule, isinstance(default.policy, DampedVelocity))
    trials = budget_of(lab.steps, full, len(fits)).trials
    return lesson.best((scores(fits, one), one) for one in tried[: max(1, trials)])[1]


def best(examples: Any, space: ScheduleSpace) -> Schedule:
    """The schedule of the highest mean: of all, or of some in a large space."""
    rng = random.Random(0)
    every: Iterable[Schedule] = space
    if space.size > SMALL:
        spaced = spacings(space.num_steps, space.num_steps - space.num_cached)
        every = [*spaced, *(space.sample(rng) for _ in range(RANDOM))]
    examples.begin()
    return max(every, key=lambda schedule: statistics.fmean(scores(examples, schedule)))


def scores(examples: Any, schedule: Schedule) -> list[float]:
    """PSNR of each example in dB."""
    with torch.inference_mode():
        found = examples.measure(schedule, range(len(examples)))
    return [metrics["psnr"] for metrics in found.metrics]


def fewer_steps(sigmas, sampling: Sampling):
    """Latent of a plain run on other noise levels."""
    return sampling.plain(sigmas)


def default(full: int, sampling: Sampling):
    """Latent of what the node does with so many full steps and no path."""
    return sampling.under(by_count(full, None, ()))[0]


def under(schedule: Schedule, policy, sampling: Sampling):
    """Latent of a cached run."""
    return sampling.cached(schedule, policy)[0]


def easy_cache(threshold: float, evaluations: list[int], sampling: Sampling):
    """Latent of a run under ComfyUI's own cache; adds the number of the network's evaluations."""
    calls: list[int] = []
    guider = copy.copy(sampling.guider)
    cached = EasyCacheNode.execute(guider.model_patcher, threshold, START, END, False).args[0]
    network = cached.model.diffusion_model
    hook = network.double_blocks[0].register_forward_pre_hook(lambda *_: calls.append(1))
    try:
        guider.model_patcher, guider.model_options = cached, cached.model_options
        latent = guider.sample(
            sampling.noise, sampling.latent, sampling.sampler, sampling.sigmas, seed=sampling.seed,
            disable_pbar=True,
        )  # fmt: skip
    finally:
        hook.remove()
    evaluations.append(len(calls))
    return latent


class Album:
    """Pictures of a lab's unseen prompts."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        drawn = EVERY[lab.subject].drawn(lab.prompts.unseen, UNSEEN_SEED, held_out=True)
        self._scenes = list(drawn.values())

    @cached_property
    def full(self) -> list:
        """Pictures of runs of all steps."""
        return self.of(Sampling.full)

    def of(self, run: Callable, alone: bool = False) -> list:
        """Images ``[3, 64, 64]`` of 0 to 1 from one way of sampling."""
        count, size = self._lab.prompts.unseen, 1 if alone else demo.BATCH
        images = []
        with torch.inference_mode():
            for first in range(0, count, size):
                sampling = self._lab.unseen.batch(range(first, min(first + size, count)))
                images += self._lab.assessor.result(run(sampling)).images
        return [image[0] for image in images]

    def scores(self, images: list, others: list | None = None) -> dict:
        """PSNR to all steps, the lead over others, and the accuracy."""
        psnr = self._psnr(images)
        lead = {} if others is None else {"ahead": interval(psnr - self._psnr(others))}
        return {"psnr": interval(psnr), **seen(psnr), **lead, **self.accuracy(images)}

    def _psnr(self, images: list) -> np.ndarray:
        both = (torch.stack(some).mul(255).round().movedim(1, -1) for some in (images, self.full))
        return demo.psnr(*both)

    def accuracy(self, images: list) -> dict[str, float]:
        """Shares of images that the classifier finds right."""
        pixels = (image.movedim(0, -1).numpy() for image in images)
        verdicts = [judge(*pair) for pair in zip(pixels, self._scenes, strict=True)]
        shares = Verdict(*np.mean(np.array(verdicts, dtype=float), axis=0).tolist())
        return {"counts": round(shares.counts, 3), "shapes": round(shares.shapes, 3)}
