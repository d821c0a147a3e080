"""The search for the demo model's fitted paths, with the pack's own protocol.

Schedule and weights together, on 16 scoring prompts; 50 others choose among the best. The scores
are kept in ``.dev/``, so a search that was stopped goes on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import torch

from benchmarks import _demo
from benchmarks._lab import SCHEDULER, STATE_BYTES, Lab
from benchmarks._memory import folder
from benchmarks._subjects import IMAGE, SUBJECTS, VIDEO
from gph_core.paths.golden_path import SEARCHED, GoldenPath
from gph_core.paths.library import FITTED_PATHS
from gph_core.paths.spacings import spacings
from gph_core.policies.as_json import policy_to_json

MEMORY = folder("fitted-paths")
FULL_STEPS = {50: (21, 13, 9, 6), 28: (12, 7, 5), 20: (8, 5, 4)}
WANTED = [(steps, full, 5.0) for steps, counts in FULL_STEPS.items() for full in counts]
WANTED += [(50, full, 1.0) for full in (13, 9)]
ALGORITHM = "hill climbing"
SCORING, VALIDATION = 16, 50  # prompts
SCORING_SEED, VALIDATION_SEED = 31, 32  # of captions, and of noise
BUDGET = 60  # schedules


class Model(NamedTuple):
    """What a path says of the model that it is for."""

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
        path = found(*key)
        write({**load(), key: path})
        print(f"{key}: {path.schedule}, {dict(path.quality)}", flush=True)


def write(paths: Mapping[tuple[int, int, float], GoldenPath]) -> None:
    """Write paths for the pack, one a line, those of most steps first."""
    lines = [json.dumps(paths[key].to_json()) for key in sorted(paths, reverse=True)]
    FITTED_PATHS.write_text("[\n" + ",\n".join(lines) + "\n]\n", "utf-8")


def path(steps: int, full: int, cfg: float) -> GoldenPath:
    """The path that the pack brings along; where it has none, the search's."""
    return load().get((steps, full, cfg)) or found(steps, full, cfg)


def of_lab(lab: Lab, full: int) -> GoldenPath:
    """The path of a lab; the pack brings along those of the image model with its sampler."""
    if lab == Lab(lab.steps, lab.cfg):
        return path(lab.steps, full, lab.cfg)
    return _found(lab, full)


def family(steps: int, full: int, cfg: float) -> GoldenPath:
    """The best of the first spacings, without a search."""
    return found(steps, full, cfg, budget=len(spacings(steps, full)))


def found(
    steps: int, full: int, cfg: float, budget: int = BUDGET, scoring: int = SCORING, seed: int = 0
) -> GoldenPath:
    """The path that the pack's own search delivers.

    Args:
        budget: schedules that it scores, the first spacings among them.
        scoring: number of scoring prompts.
        seed: of the search.
    """
    return _found(Lab(steps, cfg), full, budget, scoring, seed)


def _found(
    lab: Lab, full: int, budget: int = BUDGET, scoring: int = SCORING, seed: int = 0
) -> GoldenPath:
    from golden_path_pack.gph_core.policies.as_json import policy_to_json as as_json
    from golden_path_pack.gph_core.search.budget import Budget
    from golden_path_pack.gph_core.search.protocol import SearchSettings, find_path

    settings = SearchSettings(full, Budget(evaluations=budget), ALGORITHM, seed=seed)
    with torch.inference_mode():
        contestant = _contestant(lab, full, scoring, f"{budget}, seed {seed}")
        best = find_path([contestant], lab.steps, settings).best
        policy = contestant.scoring.policy_for(best.schedule)
    conditions, model = policy.conditions, MODELS[lab.subject]
    return GoldenPath.from_json({
        "format": 3,
        "name": f"{model.name}, {full} of {lab.steps}, fitted, CFG {lab.cfg:g}",
        "schedule": str(best.schedule), "origin": SEARCHED,
        "policy": as_json(policy),
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


def of_pack(path: GoldenPath):
    """The path's policy as the pack's own module has it."""
    from golden_path_pack.gph_core.policies.as_json import policy_from_json

    return policy_from_json(policy_to_json(path.policy))


def _contestant(lab: Lab, full: int, num_scoring: int, study: str):
    from golden_path_pack.gph_core.files.condition_diff import plain
    from golden_path_pack.gph_core.policies.fitted import Fitted
    from golden_path_pack.gph_core.search.log import StudyLog
    from golden_path_pack.gph_core.search.prefix import PrefixMemory
    from golden_path_pack.gph_core.search.protocol import Contestant
    from golden_path_pack.nodes.fitted.fitted_examples import FittedExamples
    from golden_path_pack.nodes.fitted.fitted_validation import FittedValidation
    from golden_path_pack.nodes.sample.assessing import assessor_for

    MEMORY.mkdir(parents=True, exist_ok=True)
    assessor, steps = assessor_for("PSNR", lab.vae, "off"), lab.steps
    scoring, validation = (
        lab.workload(count, seed, held_out=False)
        for count, seed in ((num_scoring, SCORING_SEED), (VALIDATION, VALIDATION_SEED))
    )
    fitted = FittedExamples(
        lab.examples(scoring, assessor), plain(scoring.conditions()), PrefixMemory(STATE_BYTES)
    )

    def log(part: str):
        kept = {"steps": steps, "cfg": lab.cfg, "torch": torch.__version__}
        name = f"{full} of {steps}, CFG {lab.cfg:g}, {num_scoring} prompts, {study}, {part}.sqlite"
        if lab != Lab(steps, lab.cfg):
            name = f"{lab}, {name}"
        return StudyLog(MEMORY / name, kept)

    others = FittedValidation(lab.examples(validation, assessor), fitted.policy_for)
    starts = [_demo.of_pack(schedule) for schedule in spacings(steps, full)]
    return Contestant(
        Fitted(), fitted, log("scoring"), {}, others, log("validation"), starts
    )  # fmt: skip
