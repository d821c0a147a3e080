"""A small search for schedules of a demo model, so that there is something to retarget.

Hill climbing from the better of two starts: a random swap, near ones more often, is kept if the
mean PSNR to the full run rises, until the budget is spent or no swap is left.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

from benchmarks import _demo, _results
from benchmarks._subjects import IMAGE, SUBJECTS, VIDEO
from gph_core.paths.golden_path import GoldenPath
from gph_core.paths.library import bundled_paths
from gph_core.schedule import Schedule, ScheduleSpace, uniform
from gph_core.search.algorithms.moves import local_swap

FILE = Path(__file__).parent / "results" / "demo-paths.json"
STEPS, SCHEDULER = 50, "simple"
PROMPTS = {21: 8, 13: 8, 9: 24}  # by full steps: with 9, the best for 8 prompts lost on others
# Paths of the library, of the big models that the demo models are small ones of. Of Wan 2.1 no
# searched ones are published.
PUBLISHED = {
    IMAGE: "FLUX.1-dev, {full} of 50, PSNR, hill climbing",
    VIDEO: "Wan 2.1 T2V 1.3B, {full} of 50, BudCache",
}
FORCED = (0, 1, 2, STEPS - 1)
BUDGET, SEED = 200, 1


def search(subject: str) -> None:
    """Search for each count and write a model's ``FILE``."""
    model = SUBJECTS[subject]
    prompts = model.captions(max(PROMPTS.values()), SEED, held_out=False)
    conditions = {
        "model": model.name, "sampling": f"{_demo.SAMPLER}, {SCHEDULER}, CFG {_demo.CFG:g}",
        "policy": "residual reuse", "forced full": FORCED, "most evaluations": BUDGET,
        "objective": "mean PSNR in dB to the full run, for the first prompts", "seed": SEED,
        **_results.versions(model.name), "prompts": prompts,
    }  # fmt: skip
    paths = [climb(full, prompts[:number], subject) for full, number in PROMPTS.items()]
    text = json.dumps({"conditions": conditions, "paths": paths}, indent=1)
    model.file(FILE).write_text(text + "\n", "utf-8")


def load(subject: str) -> dict[int, Schedule]:
    """A model's searched schedules, by full steps."""
    found = json.loads(SUBJECTS[subject].file(FILE).read_text("utf-8"))["paths"]
    return {path["full"]: Schedule.parse(path["schedule"]) for path in found}


def published(subject: str, full: int) -> GoldenPath:
    """The path that was published for the big model of the same architecture."""
    name = PUBLISHED[subject].format(full=full)
    (path,) = [path for path in bundled_paths() if path.name == name]
    return path


def climb(count: int, prompts: list[str], subject: str = IMAGE) -> dict:
    """The best schedule found with ``count`` full steps, and what the starts reach."""
    pictures = _demo.Pictures(prompts, SEED, subject)
    reference = pictures.sample(SCHEDULER, STEPS)

    def score(schedule: Schedule) -> float:
        return _demo.psnr(pictures.sample(SCHEDULER, STEPS, schedule), reference).mean()

    other = published(IMAGE, count)  # a start like any other
    starts = {"uniform": uniform(STEPS, count), f"published for {other.model}": other.schedule}
    scores = {schedule: score(schedule) for schedule in starts.values()}
    reached = {name: round(scores[schedule], 3) for name, schedule in starts.items()}
    best = max(scores, key=scores.__getitem__)
    rng = random.Random(f"{SEED} {count}")
    space = ScheduleSpace(STEPS, STEPS - count, FORCED)
    while len(scores) < BUDGET and not scores.keys() >= set(space.neighbors(best)):
        candidate = local_swap(space, best, rng)
        if candidate in scores:
            continue
        scores[candidate] = score(candidate)
        if scores[candidate] > scores[best]:
            best = candidate
            print(f"{count} full, {len(scores)}: {scores[best]:.3f} dB, {best}", flush=True)
    return {
        "full": count, "prompts": len(prompts), "evaluations": len(scores), "starts": reached,
        "psnr": round(scores[best], 3), "schedule": str(best),
    }  # fmt: skip
