"""The search for golden paths of a demo model, with the pack's own protocol.

It searches schedule and policy together, scores them on 8 prompts as in the GPH paper, or on 32,
and validates on 50 others. The scores are kept in ``.dev/``, so a search that was stopped goes on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from golden_path_pack.gph_core.paths.golden_path import GoldenPath
from golden_path_pack.gph_core.paths.library import bundled_paths
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.schedule import Schedule, uniform
from golden_path_pack.gph_core.search.budget import Budget
from golden_path_pack.gph_core.search.judge import Race
from golden_path_pack.gph_core.search.protocol import (
    Contestant,
    Listener,
    SearchSettings,
    find_path,
)
from golden_path_pack.nodes.search.schedule_search import POLICIES

from benchmarks.lab import demo, results
from benchmarks.lab.lab import Lab
from benchmarks.lab.memory import folder
from benchmarks.lab.subjects import IMAGE, SUBJECTS, VIDEO

FILE = results.FOLDER / "golden-paths.json"
STEPS = 50
FORCED = (0, 1, 2, STEPS - 1)  # full
# Paths of the library, of the big models that the demo models are small ones of. Of Wan 2.1 no
# searched ones are published.
PUBLISHED = {
    IMAGE: "FLUX.1-dev, {full} of 50, PSNR, hill climbing",
    VIDEO: "Wan 2.1 T2V 1.3B, {full} of 50, BudCache",
}
MEMORY = folder("golden-path")
PAPERS = 8  # scoring prompts in the GPH paper
# Schedules, by full steps and scoring prompts.
BUDGETS = {(9, 8): 400, (13, 8): 700, (21, 8): 1000, (9, 32): 400, (13, 32): 400}
VALIDATION = 50  # prompts
SCORING_SEED, VALIDATION_SEED = 1, 5  # of captions, and of noise
SEED = 0


@dataclass(frozen=True)
class SearchedPaths:
    """Result of a search: its policy, and for every policy the best schedule known for it."""

    full: int
    scoring: int  # prompts
    policy: str
    schedules: dict[str, Schedule]


def load(subject: str) -> list[SearchedPaths]:
    """Results of the searches for a model.

    A policy dropped after the short searches gets the delivered schedule.
    """
    return [_best(record) for record in _records(subject)]


def _best(record: dict) -> SearchedPaths:
    searched = [row for row in record["validated"] if not row["control"]]
    best = {row["policy"]: Schedule.parse(row["schedule"]) for row in reversed(searched)}
    delivered = searched[0]["policy"]
    schedules = {name: best.get(name, best[delivered]) for name in policies()}
    return SearchedPaths(record["full"], record["scoring"], delivered, schedules)


def _records(subject: str) -> list[dict]:
    file = SUBJECTS[subject].file(FILE)
    return json.loads(file.read_text("utf-8"))["rows"] if file.exists() else []


def schedules(subject: str) -> dict[int, Schedule]:
    """Schedules for residual reuse by number of full steps, searched on as many prompts as the
    GPH paper's."""
    return {p.full: p.schedules[str(Reuse())] for p in load(subject) if p.scoring == PAPERS}


def published(subject: str, full: int) -> GoldenPath:
    """The path that was published for the big model of the same architecture."""
    name = PUBLISHED[subject].format(full=full)
    (path,) = [path for path in bundled_paths() if path.name == name]
    return path


def policies() -> dict:
    """The policies that compete, by name."""
    return {str(policy): policy for policy in POLICIES}


def search(subject: str) -> None:
    """Search for each number of full steps and of scoring prompts, and write a model's ``FILE``."""
    results.kept(SUBJECTS[subject].file(FILE))  # an error where other versions made it
    for full, scoring in BUDGETS:
        numbers = {"full": full, "scoring": scoring, "validation": VALIDATION}
        record = {**numbers, **_found(subject, full, scoring)}
        others = [r for r in _records(subject) if (r["full"], r["scoring"]) != (full, scoring)]
        records = sorted([*others, record], key=lambda r: (r["scoring"], r["full"]))
        save(subject, records)


def save(subject: str, records: Sequence[dict]) -> None:
    """Write results of searches with their conditions."""
    model = SUBJECTS[subject]
    conditions = {
        "model": model.name, "steps": STEPS,
        "sampling": f"{demo.SAMPLER}, {demo.SCHEDULER}, CFG {demo.CFG:g}",
        "unit": "validation: mean PSNR in dB to the full run, of the validation prompts",
    }  # fmt: skip
    results.write(model.file(FILE), conditions, rows=records)


def _found(subject: str, full: int, scoring: int) -> dict:
    budget = Budget(evaluations=BUDGETS[full, scoring])
    settings = SearchSettings(full, budget, seed=SEED, race=Race(demo.BATCH))
    contestants = list(_contestants(subject, full, scoring))
    with torch.inference_mode():
        delivery = find_path(contestants, STEPS, settings, Printer())
    return {
        "reason": delivery.reason,
        "spent": {
            str(work.policy): {"schedules": len(work.scores), "full steps": work.scores.spent()[0]}
            for work in contestants
        },
        "validated": [
            {
                "schedule": str(v.schedule), "policy": str(v.policy), "control": v.name,
                "validation": round(v.score.mean, 3),
            }
            for v in (delivery.best, *delivery.others)
        ],
    }  # fmt: skip


def _contestants(subject: str, full: int, scoring: int) -> Iterator[Contestant]:
    lab = Lab(STEPS, demo.CFG, memory=MEMORY, subject=subject)
    path = published(subject, full)
    controls = {f"published for {path.model}": path.schedule, "uniform": uniform(STEPS, full)}
    scored = lab.workload(scoring, SCORING_SEED, held_out=False)
    others = lab.workload(VALIDATION, VALIDATION_SEED, held_out=False)
    for name, policy in policies().items():
        logs = (f"{full} {name} scoring {scoring}", f"{full} {name} validation {VALIDATION}")
        yield lab.contestant(policy, scored, others, logs, controls)


class Printer(Listener):
    """Prints each schedule that is the best so far."""

    def scored(self, policy, study, schedule, score) -> None:
        if study.best == schedule:
            print(f"{policy}: {len(study.scores)} scored, {schedule} {score.mean:.2f}", flush=True)
