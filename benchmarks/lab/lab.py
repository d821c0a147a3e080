"""A demo model under one setting: its prompts, calibrations and searches.

Fits and thresholds are calibrated on 50 preparation prompts, as in the GPH paper; BudCache
searches on two of them. All results are kept in a folder, so what was stopped goes on.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import comfy.samplers
import torch
from golden_path_pack.gph_core.calibration import file
from golden_path_pack.gph_core.calibration.table import RECIPES
from golden_path_pack.gph_core.calibration.threshold import OutOfReach
from golden_path_pack.gph_core.experiments.budcache import NAME as BUDCACHE
from golden_path_pack.gph_core.experiments.calibrating import calibrate_all
from golden_path_pack.gph_core.experiments.examples import UnderFits, UnderPolicy
from golden_path_pack.gph_core.experiments.ratio import calibrate_ratio
from golden_path_pack.gph_core.files.condition_diff import plain
from golden_path_pack.gph_core.methods.table import ADAPTIVE, ALL, VARIANTS
from golden_path_pack.gph_core.paths.speeds import SPEEDS, full_of
from golden_path_pack.gph_core.quality import metrics
from golden_path_pack.gph_core.search.log import StudyLog
from golden_path_pack.gph_core.search.protocol import Contestant
from golden_path_pack.nodes.calibrate import budcache
from golden_path_pack.nodes.calibrate.calibration_runs import CalibrationRuns
from golden_path_pack.nodes.sample.assessing import Assessor
from golden_path_pack.nodes.sample.examples import Example
from golden_path_pack.nodes.sample.runner import LocalRunner
from golden_path_pack.nodes.sample.workload import Workload
from golden_path_pack.nodes.workers.jobs import here

from benchmarks.lab import demo
from benchmarks.lab.memory import folder
from benchmarks.lab.subjects import EVERY, IMAGE

MEMORY = folder("methods")
PREPARATION_SEED, SCORING_SEED, UNSEEN_SEED = 21, 22, 23  # of captions, and of noise


@dataclass(frozen=True)
class Prompts:
    """Numbers of prompts of each kind."""

    preparation: int = 50  # those that training saw
    scoring: int = 8  # others of them
    unseen: int = 100  # held out of training


@dataclass(frozen=True)
class Lab:
    """One number of steps, one CFG, one sampler and one model.

    Args:
        memory: folder of what is kept.
    """

    steps: int
    cfg: float
    sampler: str = demo.SAMPLER
    prompts: Prompts = Prompts()
    memory: Path = MEMORY
    subject: str = IMAGE

    def __str__(self) -> str:
        text = f"{self.steps} steps, CFG {self.cfg:g}"
        text = text if self.subject == IMAGE else f"{self.subject}, {text}"
        return text if self.sampler == demo.SAMPLER else f"{text}, {self.sampler}"

    @property
    def counts(self) -> list[int]:
        """The numbers of full steps that are compared."""
        return [full_of(speed, self.steps) for speed in SPEEDS]

    @cached_property
    def vae(self):
        """Decoder of the model's latents."""
        return EVERY[self.subject].parts()[1]

    @cached_property
    def sigmas(self):
        """Noise levels of a run."""
        model, *_ = EVERY[self.subject].parts()
        levels = model.get_model_object("model_sampling")
        return comfy.samplers.calculate_sigmas(levels, demo.SCHEDULER, self.steps)

    @cached_property
    def assessor(self) -> Assessor:
        """Measures PSNR and SSIM of 8-bit pictures, and the error of latents."""
        return Assessor(self.vae, {"psnr": metrics.psnr_8bit, "ssim": metrics.ssim})

    @cached_property
    def preparation(self):
        return self.workload(self.prompts.preparation, PREPARATION_SEED, held_out=False)

    @cached_property
    def scoring(self):
        return self.workload(self.prompts.scoring, SCORING_SEED, held_out=False)

    @cached_property
    def unseen(self):
        return self.workload(self.prompts.unseen, UNSEEN_SEED, held_out=True)

    @cached_property
    def file(self) -> Path:
        """File of the calibrations."""
        return self.memory / f"{self}.safetensors"

    def entries(self) -> dict:
        """Calibrations by method."""
        return file.load_for(self.file, self.preparation.setup.conditions)

    def calibrate(
        self, methods: Collection[str] = (), counts: Collection[int] = ()
    ) -> set[tuple[int, str]]:
        """Fit what methods need and find thresholds, unless done before.

        Args:
            methods: their names; all that are compared without any.
            counts: of full steps; those of the GPH paper's ratios without any.

        Returns:
            Numbers of full steps that a method cannot reach, each with its name.
        """

        def save(*entries) -> None:
            file.save(self.file, *entries)

        missing: set[tuple[int, str]] = set()
        self.memory.mkdir(parents=True, exist_ok=True)
        workload, methods = self.preparation, methods or compared(ALL)
        runs = CalibrationRuns(workload)
        if fitted := [name for name in RECIPES if name in methods]:
            calibrate_all(workload, runs.facts, fitted, self.entries(), here(runs), save)
        for full in counts or self.counts:
            searched = self.entries().get(BUDCACHE)
            is_found = searched is not None and str(full) in searched.values
            if BUDCACHE in methods and not is_found:
                save(budcache.search(workload, full, entry=searched))
            for name in (name for name in compared(ADAPTIVE) if name in methods):
                method, entry = ALL[name], self.entries().get(ALL[name].name)
                try:
                    _, found = calibrate_ratio(
                        workload, runs.under, method, method.policy, full, entry, save=save
                    )
                except OutOfReach as reason:
                    print(f"{self}, {full} full, {name}: {reason}", flush=True)
                    missing.add((full, name))
                    continue
                print(
                    f"{self}, {full} full, {name}: threshold {found.threshold:.4g}, "
                    f"{found.mean:.2f} ± {found.spread:.2f} cached, {found.num_runs} runs"
                    f"{'; ' if found.note else ''}{found.note}",
                    flush=True,
                )
        return missing

    def contestant(
        self, policy, scoring, validation, logs: tuple[str, str], controls=None
    ) -> Contestant:
        """A policy in a search of the pack, scored on one workload and validated on another.

        Args:
            logs: names of the two files in which the scores are kept.
        """
        return Contestant(
            policy,
            UnderPolicy(self.runner(scoring), policy, demo.STATE_BYTES),
            self.log(logs[0], policy), controls or {},
            UnderPolicy(self.runner(validation), policy), self.log(logs[1], policy),
        )  # fmt: skip

    def log(self, name: str, policy) -> StudyLog:
        """A file of scores in the lab's memory."""
        self.memory.mkdir(parents=True, exist_ok=True)
        kept = {"setting": str(self), "policy": str(policy), "torch": torch.__version__}
        return StudyLog(self.memory / f"{self}, {name}.sqlite", kept)

    def runner(self, workload, assessor: Assessor | None = None) -> LocalRunner:
        """Runner of a workload, in batches."""
        return LocalRunner(workload, assessor or self.assessor, demo.BATCH)

    def fits(self, workload, assessor: Assessor | None = None) -> UnderFits:
        """Examples of a workload under weights that are fitted to them.

        Args:
            assessor: another than the lab's.
        """
        runner, conditions = self.runner(workload, assessor), plain(workload.setup.conditions)
        folder = Path(tempfile.gettempdir())
        return UnderFits(runner, runner.steps(), conditions, folder, demo.STATE_BYTES)

    def workload(self, count: int, seed: int, held_out: bool) -> Workload:
        """Captions under the lab's settings, the i-th from the noise of ``1000 seed + i``."""
        subject = EVERY[self.subject]
        model, _, clip = subject.parts()
        prompts = subject.captions(count, seed, held_out)
        away, *toward = (
            clip.encode_from_tokens_scheduled(clip.tokenize(text)) for text in ("", *prompts)
        )
        examples = [
            Example(prompt, positive, away, 1000 * seed + number)
            for number, (prompt, positive) in enumerate(zip(prompts, toward, strict=True))
        ]
        guider = comfy.samplers.CFGGuider(model)
        guider.set_cfg(self.cfg)
        guider.set_conds(toward[0], away)
        return Workload(
            guider, examples, {"samples": torch.zeros(1, *subject.latent_shape)},
            comfy.samplers.sampler_object(self.sampler), self.sigmas,
        )  # fmt: skip


def compared(names: Iterable[str]) -> list[str]:
    """Methods that take part: all except variants that would need thresholds of their own."""
    return [name for name in names if not (name in VARIANTS and name in ADAPTIVE)]
