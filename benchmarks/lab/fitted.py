"""The search for the demo models' fitted paths, with the pack's own protocol.

It searches schedule and weights together on 16 scoring prompts; 50 others choose among the best.
The scores are kept in ``.dev/``, so a search that was stopped goes on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

import torch
from golden_path_pack.gph_core.experiments.examples import UnderFits, UnderPolicy
from golden_path_pack.gph_core.fitting.closed_loop import FIT
from golden_path_pack.gph_core.paths.golden_path import FITTED_FORMAT, SEARCHED, GoldenPath
from golden_path_pack.gph_core.paths.library import FITTED_PATHS
from golden_path_pack.gph_core.paths.spacings import spacings
from golden_path_pack.gph_core.policies.as_json import policy_to_json
from golden_path_pack.gph_core.policies.fitted import Fitted
from golden_path_pack.gph_core.search.budget import Budget
from golden_path_pack.gph_core.search.protocol import Contestant, SearchSettings, find_path

from benchmarks.lab.demo import SCHEDULER
from benchmarks.lab.lab import Lab
from benchmarks.lab.memory import folder
from benchmarks.lab.subjects import IMAGE, SUBJECTS, VIDEO

MEMORY = folder(f"fitted-paths-{FIT}")  # scores under another way to fit are no use
FULL_STEPS = {50: (21, 13, 9, 6), 28: (12, 7, 5), 20: (8, 5, 4)}
WANTED = [(steps, full, 5.0) for steps, counts in FULL_STEPS.items() for full in counts]
WANTED += [(50, full, 1.0) for full in (13, 9)]
ALGORITHM = "hill climbing"
SCORING, VALIDATION = 16, 50  # prompts
SCORING_SEED, VALIDATION_SEED = 31, 32  # of captions, and of noise
BUDGET = 60  # schedules


class Model(NamedTuple):
    """A path's description of its model."""

    name: str
    architecture: dict[str, int]


MODELS = {
    IMAGE: Model(
        "Golden Path Demo Model", {"hidden_size": 128, "depth": 2, "depth_single_blocks": 4}
    ),
    VIDEO: Model("Golden Path Demo Model, video", {"dim": 192, "num_layers": 6}),
}


def load() -> dict[tuple[int, int, float], GoldenPath]:
    """Paths by number of steps, full steps and CFG."""
    entries = json.loads(FITTED_PATHS.read_text("utf-8")) if FITTED_PATHS.exists() else []
    paths = map(GoldenPath.from_json, entries)
    return {
        (p.schedule.num_steps, p.schedule.num_full, float(p.conditions["CFG"])): p for p in paths
    }


def search(wanted: Iterable[tuple[int, int, float]]) -> None:
    """Search for some numbers of steps, full steps and CFG; write the paths to ``FITTED_PATHS``."""
    for key in wanted:
        steps, full, cfg = key
        path = found(Lab(steps, cfg), full)
        write({**load(), key: path})
        print(f"{key}: {path.schedule}, {dict(path.quality)}", flush=True)


def write(paths: Mapping[tuple[int, int, float], GoldenPath]) -> None:
    """Write paths for the pack, one per line, most steps first."""
    lines = [json.dumps(paths[key].to_json()) for key in sorted(paths, reverse=True)]
    FITTED_PATHS.write_text("[\n" + ",\n".join(lines) + "\n]\n", "utf-8")


def path(steps: int, full: int, cfg: float) -> GoldenPath:
    """The bundled path, or the result of a search if there is none."""
    return load().get((steps, full, cfg)) or found(Lab(steps, cfg), full)


def of_lab(lab: Lab, full: int) -> GoldenPath:
    """The path of a lab; only the default labs of the image model have bundled ones."""
    return path(lab.steps, full, lab.cfg) if lab == Lab(lab.steps, lab.cfg) else found(lab, full)


def family(steps: int, full: int, cfg: float) -> GoldenPath:
    """The best of the first spacings, without a search."""
    return found(Lab(steps, cfg), full, budget=len(spacings(steps, full)))


def found(
    lab: Lab, full: int, budget: int = BUDGET, scoring: int = SCORING, seed: int = 0
) -> GoldenPath:
    """The path that the pack's own search delivers.

    Args:
        budget: schedules that it scores, the first spacings among them.
        scoring: number of scoring prompts.
        seed: of the search.
    """
    settings = SearchSettings(full, Budget(evaluations=budget), ALGORITHM, seed=seed)
    with torch.inference_mode():
        contestant = _contestant(lab, full, scoring, f"{budget}, seed {seed}")
        best = find_path([contestant], lab.steps, settings).best
        assert isinstance(contestant.scoring, UnderFits)
        policy = contestant.scoring.policy_for(best.schedule)
    conditions, model = policy.conditions, MODELS[lab.subject]
    return GoldenPath.from_json({
        "format": FITTED_FORMAT,
        "name": f"{model.name}, {full} of {lab.steps}, fitted, CFG {lab.cfg:g}",
        "schedule": str(best.schedule), "origin": SEARCHED,
        "policy": policy_to_json(policy),
        "model": model.name, "family": conditions["family"], "architecture": model.architecture,
        "sigmas": conditions["sigmas"],
        "conditions": {
            "sampler": lab.sampler,
            "scheduler": f"{SCHEDULER}, shift {SUBJECTS[lab.subject].shift:g}",
            "size": [64, 64], "CFG": lab.cfg, "objective": "psnr",
            "procedure": f"schedule and weights together, {len(contestant.scores)} schedules on "
            f"{scoring} prompts",
        },
        "quality": {f"PSNR dB, {VALIDATION} validation prompts": round(best.score.mean, 2)},
        "source": "benchmarks/results/fitted-path-scores.json",
    })  # fmt: skip


def _contestant(lab: Lab, full: int, num_scoring: int, study: str) -> Contestant:
    lab = replace(lab, memory=MEMORY)
    scoring = lab.workload(num_scoring, SCORING_SEED, held_out=False)
    validation = lab.workload(VALIDATION, VALIDATION_SEED, held_out=False)
    fitted = lab.fits(scoring)
    others = UnderPolicy(lab.runner(validation), Fitted(), policy_for=fitted.policy_for)
    name = f"{full} full, {num_scoring} prompts, {study}"
    logs = (lab.log(f"{name}, {part}", Fitted()) for part in ("scoring", "validation"))
    return Contestant(
        Fitted(), fitted, next(logs), {}, others, next(logs), spacings(lab.steps, full)
    )
