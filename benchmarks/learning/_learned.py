"""Learning from first images in an empty library, its bill, and trials of what was learned."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import folder_paths
import numpy as np
from golden_path_pack.gph_core.paths.evidence import LEARNED_FIGURE
from golden_path_pack.gph_core.paths.golden_path import GoldenPath
from golden_path_pack.gph_core.run_plan import by_count
from golden_path_pack.nodes.hook import patching
from golden_path_pack.nodes.learn.learner import Learner
from golden_path_pack.nodes.learn.settings import forget, learning_folder
from golden_path_pack.nodes.library import user_paths
from torch import Tensor
from torch.nn import Module, ModuleList

from benchmarks.lab import fitted
from benchmarks.lab.demo import SAMPLER, SCHEDULER, Silent
from benchmarks.lab.subjects import IMAGE, MODELS
from benchmarks.quality._defaults import DEFAULT, FEWER
from benchmarks.quality._pictures import How, Pictures

SEED = 606  # of captions, and a thousandth of the noise seeds
MOST_IMAGES = 8  # of each prompt, to learn from
PATHS = 2  # that unseen prompts are sampled under
SAME, OTHER = "same prompt", "other prompts"
LEARNED, SEARCHED = "learned", "search"


class Counts(NamedTuple):
    """Numbers of pictures: prompts to learn from, other noises of each, unseen prompts."""

    prompts: int
    noises: int
    unseen: int


class Setting(NamedTuple):
    """How pictures are sampled."""

    model: str
    sampler: str
    cfg: float
    steps: int
    full: int

    @property
    def how(self) -> How:
        return How(self.sampler, cfg=self.cfg)

    def __str__(self) -> str:
        return f"{self.model}, {self.sampler}, CFG {self.cfg:g}, {self.full} of {self.steps}"


class Source(NamedTuple):
    """First images to learn from, of one prompt or of as many prompts."""

    images: int
    prompts: int

    def __str__(self) -> str:
        if self.images == 1:
            return "1 image"
        prompts = "one prompt" if self.prompts == 1 else f"{self.prompts} prompts"
        return f"{self.images} images of {prompts}"


class Gallery:
    """Pictures to learn from, other noises of the same prompts, and unseen prompts."""

    def __init__(self, counts: Counts, subject: str) -> None:
        self.counts, self._each = counts, MOST_IMAGES + counts.noises
        captions = MODELS[subject].captions(counts.prompts + counts.unseen, SEED, held_out=True)
        prompts, unseen = captions[: counts.prompts], captions[counts.prompts :]
        every = [text for text in prompts for _ in range(self._each)]
        self._every = Pictures(every, 1000 * SEED, subject)
        others = [place for place in range(len(every)) if place % self._each >= MOST_IMAGES]
        self.same = part(self._every, others)
        self.tests = {SAME: self.same, OTHER: Pictures(unseen, 1000 * (SEED + 1), subject)}
        self._run, self._full = (), {}

    def full(self, setting: Setting) -> dict[str, Tensor]:
        """Full runs of the tests; sampled once for settings in a row that share them."""
        if self._run != setting[:-1]:
            self._run, grid = setting[:-1], (SCHEDULER, setting.steps)
            self._full = {
                name: test.sample(*grid, how=setting.how) for name, test in self.tests.items()
            }
        return self._full

    def first_images(self, source: Source, number: int) -> list[Pictures]:
        """The images of one learning, each alone; those of another number are others."""
        if source.prompts == 1:
            places = [number * self._each + image for image in range(source.images)]
        else:
            first, every = number * source.images, self.counts.prompts
            some = range(first, first + source.images)
            places = [image % every * self._each + image // every for image in some]
        return [part(self._every, [place]) for place in places]


def part(pictures: Pictures, places: Sequence[int] | slice) -> Pictures:
    """Some of the pictures."""
    some = copy.copy(pictures)
    for name in ("tokens", "pooled", "noise"):
        setattr(some, name, getattr(pictures, name)[places])
    return some


class Bill:
    """Rows of images that a network computes while runs learn, before the fit and from there on.

    Cached steps of residual reuse call the network but none of its blocks, so a block is watched.
    """

    def __init__(self) -> None:
        self._rows, self._is_fitting = [0, 0], False

    def learned(self, name: str) -> None:
        raise RuntimeError(f"{name} was learned before")

    def fitting(self, line: str) -> None:
        self._is_fitting = True

    @contextmanager
    def counting(self, network: Module) -> Iterator[None]:
        """Count calls of the network."""
        blocks = next(part for part in network.modules() if isinstance(part, ModuleList))
        hook = blocks[-1].register_forward_pre_hook(self._called, with_kwargs=True)
        try:
            yield
        finally:
            hook.remove()

    def _called(self, block: Module, args: tuple, kwargs: Mapping[str, Any]) -> None:
        self._rows[self._is_fitting] += len(next(iter((*args, *kwargs.values()))))

    def in_images(self, count: int) -> float:
        """The fit's part in full images, where so many were computed before it."""
        before, fit = self._rows
        return round(count * fit / before, 2)


class Outcome(NamedTuple):
    """What learning brought: a path, unless the default is as good; and its bill."""

    path: GoldenPath | None
    bill: float

    @property
    def paths(self) -> list[GoldenPath]:
        """Library of later runs."""
        return [] if self.path is None else [self.path]

    @property
    def figure(self) -> float | None:
        """Figure that the path states, dB."""
        return self.path and self.path.quality[LEARNED_FIGURE]


def learned(setting: Setting, images: Sequence[Pictures]) -> Outcome:
    """Learn from the first images, in a library that has no other paths: none is bundled."""
    reporter, bill, model = Silent(), Bill(), images[0].model
    plan, learner = by_count(setting.full, None, ()), Learner(len(images), bill)
    learning = patching.attach(model, plan, reporter, learner=learner)
    with fresh_library():
        with bill.counting(model.model.diffusion_model):
            for image in images:
                image.model = learning
                image.sample(SCHEDULER, setting.steps, how=setting.how)
        path = next(iter(user_paths.read()), None)
        brought_nothing = (file.stem for file in learning_folder().glob("*.json"))
        name = path.name if path else next(brought_nothing, None)
        if name is None:
            raise RuntimeError(f"{setting}: {'; '.join(reporter.record.notes)}")
        forget(name)  # the images, which are in memory, too
    return Outcome(path, bill.in_images(len(images)))


class Trial(NamedTuple):
    """Later images of some learnings.

    Args:
        scores: dB by way; by prompt and noise (``SAME``), or by learned path and unseen prompt,
            where the other ways have one row.
    """

    source: Source
    tested: str
    found: list[Outcome]
    scores: dict[str, np.ndarray]


def trials(setting: Setting, sources: Iterable[Source], gallery: Gallery) -> Iterator[Trial]:
    """Learn from each source, and try what was learned on other noises and prompts."""
    full, (prompts, noises, _) = gallery.full(setting), gallery.counts
    others = {name: _others(setting, test, full[name]) for name, test in gallery.tests.items()}
    for source in sources:
        count = prompts if source.prompts == 1 else PATHS
        found = [learned(setting, gallery.first_images(source, n)) for n in range(count)]
        if source.prompts == 1:
            own = []
            for number, one in enumerate(found):
                some = slice(number * noises, (number + 1) * noises)
                own.append(_psnr(setting, part(gallery.same, some), full[SAME][some], one.paths))
            known = {name: values.reshape(prompts, noises) for name, values in others[SAME].items()}
            yield Trial(source, SAME, found, {LEARNED: np.stack(own), **known})
        found = found[:PATHS]
        own = [_psnr(setting, gallery.tests[OTHER], full[OTHER], one.paths) for one in found]
        known = {name: values[None] for name, values in others[OTHER].items()}
        yield Trial(source, OTHER, found, {LEARNED: np.stack(own), **known})


def _others(setting: Setting, test: Pictures, full: Tensor) -> dict[str, np.ndarray]:
    """dB of pictures without learning."""
    found = {
        DEFAULT: _psnr(setting, test, full, []),
        FEWER: test.psnr(full, SCHEDULER, setting.full, how=setting.how),
    }
    path = fitted.load().get((setting.steps, setting.full, setting.cfg))
    if path is not None and setting[:2] == (IMAGE, SAMPLER):
        found[SEARCHED] = _psnr(setting, test, full, [path])
    return found


def _psnr(setting: Setting, test: Pictures, full: Tensor, paths: list[GoldenPath]) -> np.ndarray:
    """dB of pictures with a library of paths."""
    plan = by_count(setting.full, None, paths)
    if paths and test.choice(plan, SCHEDULER, setting.steps, setting.how).path not in paths:
        raise RuntimeError(f"{setting}: no run takes the path {paths[0].name!r}")
    return test.psnr(full, SCHEDULER, setting.steps, plan, how=setting.how)


@contextmanager
def fresh_library() -> Iterator[None]:
    """Give ComfyUI an empty user's folder."""
    before = folder_paths.get_user_directory()
    with tempfile.TemporaryDirectory() as folder:
        folder_paths.set_user_directory(folder)
        try:
            yield
        finally:
            folder_paths.set_user_directory(before)
