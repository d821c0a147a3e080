"""Runs of the demo model in which a step evaluates both branches of guidance, one, or none.

Euler's method, the weights of every predicted velocity fitted in the closed loop as in
``gph_core/calibration/closed_loop.py``. This is the simulation of a step that the pack does not
have: at a step of the kind POSITIVE the positive branch alone is evaluated, and the guided velocity
is a fitted sum of it and of older velocities of both branches. Costs count evaluations of a branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import torch
from torch import Tensor

from benchmarks import _demo
from benchmarks._lab import SCHEDULER

CACHED, POSITIVE, BOTH = 0, 1, 2  # a kind is what it costs
Kinds = tuple[int, ...]
NUM_GUIDED = 3  # of the newest guided velocities, a cached step gets a weight for each
NUM_BOTH = 2  # of the newest steps of both branches, a positive step gets two weights for each
RIDGE = 1e-4
SIGNS = ".+O"  # a kind as a character


def text_of(kinds: Kinds) -> str:
    """A character for each step: ``.`` cached, ``+`` positive alone, ``O`` both."""
    return "".join(SIGNS[kind] for kind in kinds)


class Branches:
    """The demo model's two branches for some prompts, and their full runs at one CFG.

    Args:
        pictures: prompts with their noise, one after the other.
    """

    def __init__(self, pictures: Sequence[_demo.Pictures], steps: int, cfg: float) -> None:
        import comfy.model_management

        self._pictures, self._model = pictures[0], pictures[0].model.model
        comfy.model_management.load_models_gpu([pictures[0].model])
        self._device = pictures[0].model.load_device
        self.cfg, self.num_steps = cfg, steps
        self.levels = self._pictures.sigmas(SCHEDULER, steps)
        noise = torch.cat([some.noise for some in pictures]).to(self._device)
        self.start = noise * self.levels[0]
        ((away, extra),) = self._pictures.negative
        words = {
            True: [torch.cat([getattr(some, name) for some in pictures])
                   for name in ("tokens", "pooled")],
            False: [away.expand(len(self), -1, -1), extra["pooled_output"].expand(len(self), -1)],
        }  # fmt: skip
        self._words = {  # by whether it is the positive branch
            positive: [part.to(self._device) for part in parts] for positive, parts in words.items()
        }

    def __len__(self) -> int:
        return len(self.start)

    def velocity(self, x: Tensor, level: float, positive: bool) -> Tensor:
        """``[P, ...]`` of one branch at a noise level."""
        tokens, pooled = self._words[positive]
        levels = torch.full((len(self),), level, device=self._device)
        with torch.inference_mode():
            return (x - self._model.apply_model(x, levels, c_crossattn=tokens, y=pooled)) / level

    def guided(self, positive: Tensor, negative: Tensor) -> Tensor:
        """Velocity of classifier-free guidance."""
        return negative + self.cfg * (positive - negative)

    @cached_property
    def states(self) -> list[Tensor]:
        """``x_0 ... x_N`` of the full runs."""
        return self._euler(self.levels)

    def plain(self, count: int) -> Tensor:
        """Last states of so many plain steps, on noise levels of their own."""
        return self._euler(self._pictures.sigmas(SCHEDULER, count))[-1]

    def _euler(self, levels: Sequence[float]) -> list[Tensor]:
        states = [self.start]
        for level, following in pairwise(levels):
            both = (self.velocity(states[-1], level, positive) for positive in (True, False))
            states.append(states[-1] + (following - level) * self.guided(*both))
        return states

    @cached_property
    def references(self) -> Tensor:
        """8-bit images of the full runs."""
        return self._pictures.images(self.states[-1])

    def psnr(self, latents: Tensor):
        """dB ``[P]`` to the full runs."""
        return _demo.psnr(self._pictures.images(latents), self.references)


@dataclass(frozen=True)
class Course:
    """Runs right before a step, and the velocities that later steps are made of, newest first."""

    x: Tensor
    guided: tuple[Tensor, ...] = ()  # at steps that evaluated something
    both: tuple[tuple[Tensor, Tensor], ...] = ()  # positive and negative

    def moved(self, x: Tensor, guided: Tensor | None = None, both=None) -> Course:
        """The runs a step later, with what it evaluated."""
        return Course(
            x,
            self.guided if guided is None else (guided, *self.guided)[:NUM_GUIDED],
            self.both if both is None else (both, *self.both)[:NUM_BOTH],
        )


class Loop:
    """Fits the weights of runs to some of them; the others go along under these weights."""

    def __init__(self, branches: Branches, fitted_on: slice) -> None:
        self._branches, self._fitted_on = branches, fitted_on
        self._kept: tuple[Kinds, list[Course]] = ((), [Course(branches.start)])

    def end(self, kinds: Kinds, keep: bool = False) -> Tensor:
        """Last states; begins where an earlier run that was to be kept had the same kinds."""
        known, courses = self._kept
        pairs = enumerate(zip(known, kinds, strict=False))  # nothing is known at first
        same = next((n for n, (a, b) in pairs if a != b), len(known))
        courses = courses[: same + 1]
        for step in range(len(courses) - 1, len(kinds)):
            courses.append(self._after(courses[-1], step, kinds[step]))
        if keep:
            self._kept = (kinds, courses)
        return courses[-1].x

    def _after(self, course: Course, step: int, kind: int) -> Course:
        branches, x, level = self._branches, course.x, self._branches.levels[step]
        length = branches.levels[step + 1] - level
        if kind == CACHED:
            velocity = self._fitted(course, step, course.guided, _first(len(course.guided)))
            return course.moved(x + length * velocity)
        positive = branches.velocity(x, level, True)
        if kind == BOTH:
            negative = branches.velocity(x, level, False)
            velocity = branches.guided(positive, negative)
            return course.moved(x + length * velocity, velocity, (positive, negative))
        velocity = self._fitted(course, step, *self._positive_terms(positive, course))
        return course.moved(x + length * velocity, velocity)

    def _positive_terms(self, positive: Tensor, course: Course) -> tuple[list[Tensor], Tensor]:
        """Velocities of a positive step, and the weights that keep the newest difference."""
        older = [velocity for pair in course.both for velocity in pair]
        prior = torch.zeros(1 + len(older), dtype=torch.float64)
        prior[0], prior[1], prior[2] = 1, self._branches.cfg - 1, 1 - self._branches.cfg
        return [positive, *older], prior

    def _fitted(self, course: Course, step: int, terms: Sequence[Tensor], prior: Tensor) -> Tensor:
        """Sum of the terms that brings the runs closest to the next states of the full ones."""
        branches, some = self._branches, self._fitted_on
        length = branches.levels[step + 1] - branches.levels[step]
        wanted = (branches.states[step + 1][some] - course.x[some]).double().flatten() / length
        rows = torch.stack([term[some].double().flatten() for term in terms])
        a, b = (rows @ rows.T).cpu(), (rows @ wanted).cpu()
        pull = RIDGE * a.diag().mean() * torch.eye(len(a), dtype=torch.float64)
        weights = prior + torch.linalg.solve(a + pull, b - a @ prior)
        stacked = torch.stack(list(terms))
        return torch.einsum("i,i...->...", weights.to(stacked), stacked)


def _first(count: int) -> Tensor:
    return torch.eye(count, dtype=torch.float64)[0]
