"""BudCache's schedules, searched on the first examples of a workload."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

from ...gph_core.calibration.entry import Calibration
from ...gph_core.calibration.samples import Measured
from ...gph_core.experiments.examples import UnderPolicy
from ...gph_core.policies.extrapolation import Reuse
from ...gph_core.search.algorithms.annealing import as_in_seed_paper
from ...gph_core.search.log import StudyLog
from ...gph_core.search.study import Study
from ...gph_core.texts import counted
from ..hook import fingerprint
from ..sample.assessing import assessor_for
from ..sample.runner import LocalRunner
from ..sample.workload import Workload
from .calibration_runs import OnPart

NAME = "BudCache"
EXAMPLES = 2  # on which it searches, as the GPH paper does
TYPICAL = 400  # schedules that it scores, about: 179 to 727 in the GPH paper
STATE_BYTES = 4 * 2**30  # of main memory for states that runs of its search share


def search(
    workload: Workload, num_full: int, entry: Calibration | None = None,
    progress: OnPart = lambda part: None, log: StudyLog | None = None,
) -> Calibration:  # fmt: skip
    """Schedule of BudCache with so many full steps, found on the first two examples.

    Args:
        entry: existing entry; its schedules of other numbers of full steps stay.
        log: remembers the scores, so that a search can resume; see ``log_of``.

    Raises:
        ValueError: there is no such schedule, it cannot be searched in this workflow, or the entry
            is of other conditions or has this schedule from more examples.
    """
    n = workload.num_steps
    if not 4 <= num_full < n:
        raise ValueError(
            f"BudCache computes the steps 0, 1, 2 and {n - 1} in full, so 4 to {n - 1} of {n} "
            f"steps can be full, not {num_full}; choose another speed or full_steps"
        )
    if reason := workload.setup.incompatibility(Reuse()):
        raise ValueError(f"{NAME}: {reason}")
    conditions = workload.setup.conditions
    entry = entry or Calibration(NAME, conditions)
    entry.check(conditions)
    num_examples = min(EXAMPLES, len(workload))
    former = _num_examples(entry, num_full)
    if former > num_examples:
        raise ValueError(
            f"{entry.file} has a schedule of {num_full} full steps from "
            f"{counted(former, 'example')}, more than the {num_examples} of this run; use that "
            "schedule, connect as many examples, or choose another name"
        )
    setting = as_in_seed_paper(n, num_full, random.Random(0))
    first = replace(workload, examples=workload.examples[:EXAMPLES])
    assessor = assessor_for(setting.objective.name, None, "")
    runner = LocalRunner(first, assessor)
    runner.references.on_run = lambda: progress(min(len(study.scores) / TYPICAL, 1))
    study = Study(UnderPolicy(runner, Reuse(), STATE_BYTES), setting.objective, log=log)
    study.run(setting.search)
    best = study.best
    if best is None:
        raise ValueError(
            f"{NAME} found no schedule with finite latents; look at an image with these settings "
            "first"
        )
    values = {**entry.values, str(num_full): str(best)}
    facts = {
        "schedule": str(best),
        "scored": len(study.scores),
        "latent_mse": -study.best_mean,
        "examples": num_examples,
    }
    report = {**entry.report, str(num_full): facts}
    return entry if values == entry.values else entry.with_values(Measured(values, report))


def _num_examples(entry: Calibration, num_full: int) -> int:
    """Number of examples that an existing schedule was found on."""
    with entry.damaged("report"):
        return int(entry.report.get(str(num_full), {"examples": 0})["examples"])


def log_of(workload: Workload, file: Path) -> StudyLog:
    """Log of the search's scores on these examples, beside a calibration file.

    Other conditions have another file, so that searches do not collide.
    """
    first = replace(workload, examples=workload.examples[:EXAMPLES])
    # With the image and the guider's own prompts, for which a calibration file does not ask.
    conditions = {
        **first.run_conditions,
        "examples": first.names(),
    }
    name = f"{file.stem} {NAME} {fingerprint.of_values(conditions)[:8]}.sqlite"
    file.parent.mkdir(parents=True, exist_ok=True)
    return StudyLog(file.with_name(name), conditions)
