"""Schedules that a search delivers for the study's setting, with residual reuse."""

from __future__ import annotations

import torch
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.gph_core.search.budget import Budget
from golden_path_pack.gph_core.search.protocol import SearchSettings, find_path

from benchmarks.lab.lab import Lab


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
    logs = (f"{full} full {algorithm or 'default'} {objective} scoring", f"{full} full validation")
    contestant = lab.contestant(Reuse(), lab.scoring, lab.preparation, logs)
    settings = SearchSettings(full, Budget(evaluations=budget), algorithm, objective)
    with torch.inference_mode():
        return find_path([contestant], lab.steps, settings).best.schedule
