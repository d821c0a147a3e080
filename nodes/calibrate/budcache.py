"""BudCache's search on the first examples of a workload."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from ...gph_core.calibration.entry import Calibration
from ...gph_core.experiments import budcache
from ...gph_core.search.log import StudyLog
from ..hook import fingerprint
from ..sample.assessing import Assessor
from ..sample.runner import LocalRunner
from ..sample.workload import Workload

TYPICAL = 400  # schedules that it scores, about; 179 to 727 in the GPH paper


def search(
    workload: Workload, num_full: int, file: Path | None = None,
    entry: Calibration | None = None, progress: Callable[[float], None] = lambda part: None,
) -> Calibration:  # fmt: skip
    """See ``experiments.budcache.search``.

    Args:
        file: of the calibration; a log of the scores is kept beside it.
    """
    first = replace(workload, examples=workload.examples[: budcache.EXAMPLES])
    runs = itertools.count()
    runner = LocalRunner(first, Assessor(None, {}))
    runner.references.on_run = lambda: progress(min(next(runs) / TYPICAL / len(first), 1))
    if file is None:
        return budcache.search(workload.setup, runner, num_full, entry)
    with closing(_log_of(first, file)) as log:
        return budcache.search(workload.setup, runner, num_full, entry, log)


def _log_of(first: Workload, file: Path) -> StudyLog:
    """Log of the search's scores on these examples, beside a calibration file.

    Each set of conditions has its own file, so that searches do not collide.
    """
    # These include the image and the guider's own prompts, which a calibration file ignores.
    conditions = {**first.run_conditions, "examples": first.names()}
    name = f"{file.stem} {budcache.NAME} {fingerprint.of_values(conditions)[:8]}.sqlite"
    file.parent.mkdir(parents=True, exist_ok=True)
    return StudyLog(file.with_name(name), conditions)
