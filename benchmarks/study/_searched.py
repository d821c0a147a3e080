"""Schedules that a search delivers for the study's setting, with residual reuse."""

from __future__ import annotations

import torch

from benchmarks._lab import STATE_BYTES, Lab
from gph_core.schedule import Schedule


def searched(
    lab: Lab, full: int, budget: int, algorithm: str | None = None, objective: str = "PSNR"
) -> Schedule:
    """The schedule that the pack's search delivers; it begins at a random one.

    Its scores are kept, so that it is not searched twice. It chooses among three finalists by the
    preparation prompts, as in the source.

    Args:
        budget: schedules.
        algorithm: None: the default.
    """
    from golden_path_pack.gph_core.search.budget import Budget
    from golden_path_pack.gph_core.search.protocol import SearchSettings, find_path

    name = f"{algorithm or 'default'} {objective}"
    settings = SearchSettings(full, Budget(evaluations=budget), algorithm, objective)
    with torch.inference_mode():
        delivery = find_path([_contestant(lab, full, name)], lab.steps, settings)
    return Schedule.parse(str(delivery.best.schedule))


def _contestant(lab: Lab, full: int, name: str):
    from golden_path_pack.demo.comfy_model import DemoVAE
    from golden_path_pack.gph_core.policies.extrapolation import Reuse
    from golden_path_pack.gph_core.quality import metrics
    from golden_path_pack.gph_core.search.log import StudyLog
    from golden_path_pack.gph_core.search.prefix import PrefixMemory
    from golden_path_pack.gph_core.search.protocol import Contestant
    from golden_path_pack.nodes.sample.assessing import Assessor

    lab.memory.mkdir(parents=True, exist_ok=True)
    assessor = Assessor(DemoVAE(), {"psnr": metrics.psnr_8bit, "ssim": metrics.ssim})
    conditions = {"setting": str(lab), "torch": torch.__version__}

    def log(part: str):
        return StudyLog(lab.memory / f"{lab}, {full} full {part}.sqlite", conditions)

    return Contestant(
        Reuse(),
        lab.examples(lab.scoring, assessor).under(Reuse(), PrefixMemory(STATE_BYTES)),
        log(f"scoring, {name}"),
        {},
        lab.examples(lab.preparation, assessor),
        log("validation"),
    )
