"""The search for golden paths of a demo model, with the pack's own protocol.

Schedule and policy together, scored on 8 prompts as in the seed paper, or on 32, and validated on
50 others. The scores are kept in ``.dev/``, so a search that was stopped goes on.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from benchmarks import _demo, _results
from benchmarks._memory import folder
from benchmarks._search import SCHEDULER, STEPS, published
from benchmarks._subjects import SUBJECTS
from gph_core.schedule import Schedule

FILE = Path(__file__).parent / "results" / "golden-paths.json"
MEMORY = folder("golden-path")
# Schedules, by full steps and scoring prompts; with 8 as in the seed paper.
BUDGETS = {(9, 8): 400, (13, 8): 700, (21, 8): 1000, (9, 32): 400, (13, 32): 400}
VALIDATION = 50  # prompts
SCORING_SEED, VALIDATION_SEED = 1, 5  # of captions, and of noise
SEED = 0
STATE_BYTES = 2**30  # for each policy


@dataclass(frozen=True)
class SearchedPaths:
    """Result of a search: its policy, and for every policy the best schedule known for it."""

    full: int
    scoring: int  # prompts
    policy: str
    schedules: dict[str, Schedule]


def load(subject: str) -> list[SearchedPaths]:
    """Results of the searches for a model.

    A policy that did not go on after the short searches is given the delivered schedule.
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


def policies() -> dict:
    """The policies that compete, by name."""
    from golden_path_pack.nodes.search.schedule_search import POLICIES

    return {str(policy): policy for policy in POLICIES}


def search(subject: str) -> None:
    """Search for each number of full steps and of scoring prompts, and write a model's ``FILE``."""
    _results.kept(SUBJECTS[subject].file(FILE))  # an error where other versions made it
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
        "sampling": f"{_demo.SAMPLER}, {SCHEDULER}, CFG {_demo.CFG:g}",
        "unit": "validation: mean PSNR in dB to the full run, of the validation prompts",
    }  # fmt: skip
    _results.write(model.file(FILE), conditions, rows=records)


def _found(subject: str, full: int, scoring: int) -> dict:
    from golden_path_pack.gph_core.search.budget import Budget
    from golden_path_pack.gph_core.search.judge import Race
    from golden_path_pack.gph_core.search.protocol import SearchSettings, find_path

    budget = Budget(evaluations=BUDGETS[full, scoring])
    settings = SearchSettings(full, budget, seed=SEED, race=Race(_demo.BATCH))
    contestants = _contestants(subject, full, scoring)
    with torch.inference_mode():
        delivery = find_path(contestants, STEPS, settings, _listener(f"{full} full, {scoring}"))
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


def _contestants(subject: str, full: int, scoring: int) -> list:
    from golden_path_pack.gph_core.schedule import uniform
    from golden_path_pack.gph_core.search.log import StudyLog
    from golden_path_pack.gph_core.search.prefix import PrefixMemory
    from golden_path_pack.gph_core.search.protocol import Contestant

    model, other = SUBJECTS[subject], published(subject, full)
    baselines = {
        f"published for {other.model}": _demo.of_pack(other.schedule),
        "uniform": uniform(STEPS, full),
    }
    MEMORY.mkdir(parents=True, exist_ok=True)

    def part(number: int, seed: int):
        prompts = model.captions(number, seed, held_out=False)
        conditions = {
            "prompts": prompts, "seed": seed, "torch": torch.__version__,
            "sampling": [_demo.SAMPLER, SCHEDULER, STEPS, _demo.CFG],
        }  # fmt: skip
        return _demo.examples(prompts, seed * 1000, SCHEDULER, STEPS, subject), conditions

    def log(policy: str, name: str, conditions: dict):
        file = model.file(MEMORY / f"{full} {policy} {name}.sqlite")
        return StudyLog(file, {**conditions, "policy": policy})

    examples, conditions = part(scoring, SCORING_SEED)
    others, their_conditions = part(VALIDATION, VALIDATION_SEED)
    return [
        Contestant(
            policy,
            examples.under(policy, PrefixMemory(STATE_BYTES)),
            log(name, f"scoring {scoring}", conditions),
            baselines,
            others.under(policy),
            log(name, f"validation {VALIDATION}", their_conditions),
        )
        for name, policy in policies().items()
    ]


def _listener(title: str):
    from golden_path_pack.gph_core.search.protocol import Listener

    class Printer(Listener):
        """Prints each schedule that is the best so far."""

        def scored(self, policy, study, schedule, score) -> None:
            if study.best == schedule:
                count = len(study.scores)
                print(f"{title}, {policy}: {count} scored, {schedule} {score.mean:.2f}", flush=True)

    return Printer()
