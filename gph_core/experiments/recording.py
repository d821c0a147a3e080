"""Recordings: runs of examples under one plan, each kept as soon as it ends."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..run import record_file
from ..run.record_file import RecordedRun
from .jobs import Jobs
from .runner import Examples


@dataclass(frozen=True)
class Recording:
    """Runs of examples in a file.

    Args:
        conditions: of all runs.
        keep_states: keeps the states of an example's run, which come in safetensors.
    """

    examples: Examples
    file: Path
    conditions: Mapping[str, Any]
    keep_states: Callable[[str, bytes], None]

    def complete(self, jobs: Jobs) -> tuple[tuple[RecordedRun, ...], int]:
        """Runs of all examples, and how many of them were sampled now; the others existed.

        A run is kept as soon as it ends, so cancelling loses one at most.

        Args:
            jobs: take the number of an example and give its run in JSON with the bytes of its
                states, or None where there are none to keep.
        """
        runs = {run.example: run for run in record_file.begin(self.file, self.conditions)}
        names = self.examples.names()
        missing = [number for number, name in enumerate(names) if name not in runs]
        asked = ((number,) for number in missing)
        for ((data, states),) in jobs(asked, len(missing) * self.examples.num_steps):
            run = record_file.from_data(json.loads(data))
            if states is not None:
                self.keep_states(run.example, states)
            record_file.append(self.file, run)
            runs[run.example] = run
        return tuple(runs[name] for name in names), len(missing)
