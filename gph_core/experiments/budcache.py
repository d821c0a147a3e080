"""BudCache's schedules, searched on two examples."""

from __future__ import annotations

import random

from ..calibration.entry import Calibration
from ..calibration.samples import Measured
from ..policies.extrapolation import Reuse
from ..search.algorithms.annealing import as_in_seed_paper
from ..search.log import StudyLog
from ..search.study import Study
from ..texts import counted
from .examples import UnderPolicy
from .runner import Runner, Setup

NAME = "BudCache"
EXAMPLES = 2  # on which it searches, as the GPH paper does
STATE_BYTES = 4 * 2**30  # of main memory for states that runs of its search share


def search(
    setup: Setup, runner: Runner, num_full: int, entry: Calibration | None = None,
    log: StudyLog | None = None,
) -> Calibration:  # fmt: skip
    """Schedule of BudCache with so many full steps.

    Args:
        runner: of ``EXAMPLES``, or of fewer if there are no more; measures ``OBJECTIVE``.
        entry: existing entry; its schedules of other numbers of full steps stay.
        log: remembers the scores, so that a search can resume.

    Raises:
        ValueError: there is no such schedule, it cannot be searched in this workflow, or the entry
            is of other conditions or has this schedule from more examples.
    """
    n = setup.num_steps
    if not 4 <= num_full < n:
        raise ValueError(
            f"BudCache computes the steps 0, 1, 2 and {n - 1} in full, so 4 to {n - 1} of {n} "
            f"steps can be full, not {num_full}; choose another speed or full_steps"
        )
    if reason := setup.incompatibility(Reuse()):
        raise ValueError(f"{NAME}: {reason}")
    conditions = setup.conditions
    entry = entry or Calibration(NAME, conditions)
    entry.check(conditions)
    num_examples = len(runner)
    former = _num_examples(entry, num_full)
    if former > num_examples:
        raise ValueError(
            f"{entry.file} has a schedule of {num_full} full steps from "
            f"{counted(former, 'example')}, more than the {num_examples} of this run; use that "
            "schedule, connect as many examples, or choose another name"
        )
    setting = as_in_seed_paper(n, num_full, random.Random(0))
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
