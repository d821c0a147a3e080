"""The demo model under one setting, with everything that the methods need to have prepared.

Fits and thresholds are calibrated on 50 preparation prompts, as in the source paper; BudCache
searches on two of them, the golden path on eight, validated on the fifty. All of it is kept in a
folder, so what was stopped goes on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch

from benchmarks import _demo
from benchmarks._memory import folder
from benchmarks._subjects import IMAGE, SUBJECTS, VIDEO

MEMORY = folder("methods")
SCHEDULER = "simple"
PREPARATION_SEED, SCORING_SEED, UNSEEN_SEED = 21, 22, 23  # of captions, and of noise
BUDGET = 300  # schedules of the search for a golden path
STATE_BYTES = 2**30
RATIOS = {"Quality": 21, "Balanced": 13, "Fast": 9}  # full steps of 50


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
    sampler: str = _demo.SAMPLER
    prompts: Prompts = Prompts()
    memory: Path = MEMORY
    subject: str = IMAGE

    def __str__(self) -> str:
        text = f"{self.steps} steps, CFG {self.cfg:g}"
        text = text if self.subject == IMAGE else f"{self.subject}, {text}"
        return text if self.sampler == _demo.SAMPLER else f"{text}, {self.sampler}"

    @property
    def counts(self) -> list[int]:
        """The numbers of full steps that are compared."""
        from golden_path_pack.gph_core.paths.retarget import num_full

        return [num_full(self.steps, full, 50) for full in RATIOS.values()]

    @cached_property
    def vae(self):
        """Decoder of the model's latents."""
        return SUBJECTS[self.subject].parts()[1]

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
        from golden_path_pack.gph_core.calibration import file

        return file.load_for(self.file, self.preparation.conditions())

    def calibrate(
        self, methods: Collection[str] = (), counts: Collection[int] = ()
    ) -> set[tuple[int, str]]:
        """Fit what methods need, and find thresholds; what is there is not done again.

        Args:
            methods: their names; all that are compared without any.
            counts: of full steps; those of the source paper's ratios without any.

        Returns:
            Numbers of full steps that a method cannot reach, each with its name.
        """
        from golden_path_pack.gph_core.calibration import file
        from golden_path_pack.gph_core.calibration.table import RECIPES
        from golden_path_pack.gph_core.calibration.threshold import OutOfReach
        from golden_path_pack.gph_core.methods.table import ADAPTIVE, ALL
        from golden_path_pack.nodes.calibrate import budcache, calibrating
        from golden_path_pack.nodes.calibrate.ratio import calibrate_ratio

        def save(*entries) -> None:
            file.save(self.file, *entries)

        missing: set[tuple[int, str]] = set()
        self.memory.mkdir(parents=True, exist_ok=True)
        workload, methods = self.preparation, methods or compared(ALL)
        if fitted := [name for name in RECIPES if name in methods]:
            calibrating.calibrate_all(workload, fitted, self.entries(), save=save)
        for full in counts or self.counts:
            searched = self.entries().get(budcache.NAME)
            is_found = searched is not None and str(full) in searched.values
            if budcache.NAME in methods and not is_found:
                save(budcache.search(workload, full, searched))
            for name in (name for name in compared(ADAPTIVE) if name in methods):
                method, entry = ALL[name], self.entries().get(ALL[name].name)
                try:
                    _, found = calibrate_ratio(
                        workload, method, method.policy, full, entry, save=save
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

    def golden_path(self, full: int):
        """Schedule and policy that the pack's own search delivers."""
        from golden_path_pack.gph_core.search.budget import Budget
        from golden_path_pack.gph_core.search.judge import Race
        from golden_path_pack.gph_core.search.protocol import SearchSettings, find_path

        settings = SearchSettings(full, Budget(evaluations=BUDGET), race=Race(_demo.BATCH))
        with torch.inference_mode():
            delivery = find_path(list(self._contestants(full)), self.steps, settings)
        return delivery.best.schedule, delivery.best.policy

    def _contestants(self, full: int):
        from golden_path_pack.gph_core.paths.choice import spacing
        from golden_path_pack.gph_core.policies.base import Site
        from golden_path_pack.gph_core.policies.extrapolation import Reuse
        from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor
        from golden_path_pack.gph_core.search.log import StudyLog
        from golden_path_pack.gph_core.search.prefix import PrefixMemory
        from golden_path_pack.gph_core.search.protocol import Contestant
        from golden_path_pack.nodes.sample.assessing import assessor_for

        self.memory.mkdir(parents=True, exist_ok=True)
        assessor = assessor_for("PSNR", self.vae, "off")
        scoring, others = (
            self.examples(part, assessor) for part in (self.scoring, self.preparation)
        )
        # Under Euler velocity reuse is a run of fewer steps, so these are in the space as well.
        for policy in (Reuse(), TwoAnchor(), Reuse(Site.GUIDED)):
            conditions = {"setting": str(self), "policy": str(policy), "torch": torch.__version__}

            def log(part: str, policy=policy, conditions=conditions):
                return StudyLog(
                    self.memory / f"{self}, {full} full {policy} {part}.sqlite", conditions
                )

            yield Contestant(
                policy, scoring.under(policy, PrefixMemory(STATE_BYTES)), log("scoring"),
                {"uniform": spacing(self.steps, full, policy.min_anchors)},
                others.under(policy), log("validation"),
            )  # fmt: skip

    def examples(self, workload, assessor):
        """Examples of a workload, in batches, with residual reuse."""
        from golden_path_pack.gph_core.policies.extrapolation import Reuse
        from golden_path_pack.nodes.sample.measuring import SampledExamples

        return SampledExamples(
            len(workload), prepare(workload), Reuse(), assessor, batch=_demo.BATCH
        )

    def workload(self, count: int, seed: int, held_out: bool):
        """Captions under the lab's settings, the i-th from the noise of ``1000 seed + i``."""
        from golden_path_pack.nodes.sample.workload import Workload

        prompts = SUBJECTS[self.subject].captions(count, seed, held_out)
        several, guider, *rest = _demo.parts(
            prompts, 1000 * seed, SCHEDULER, self.steps, self.cfg, self.sampler, self.subject
        )
        return Workload(guider, several, *rest)


def compared(names: Iterable[str]) -> list[str]:
    """Methods that take part: all but other forms that would need thresholds of their own."""
    from golden_path_pack.gph_core.methods.table import ADAPTIVE, VARIANTS

    return [name for name in names if not (name in VARIANTS and name in ADAPTIVE)]


def prepare(workload):
    """Function that samples several examples of a workload at once."""
    from golden_path_pack.nodes.sample.examples import sampling_of

    return sampling_of(
        workload.examples, workload.guider, workload.latent, workload.sampler, workload.sigmas
    )


def labs(only: Sequence[str] = ()) -> list[Lab]:
    """All settings, or those of some names."""
    every = [Lab(steps, cfg) for steps in (50, 20) for cfg in (1.0, 3.0)]
    of_video = [
        Lab(steps, 5.0, sampler, subject=VIDEO)
        for steps in (50, 20)
        for sampler in (_demo.SAMPLER, "uni_pc")
    ]
    return [lab for lab in every + of_video if not only or str(lab) in only]
