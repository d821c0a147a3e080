"""Quality of what a run gets where no path was searched for it.

Two parts, which ``-- --part`` names; without it both are measured.

*defaults*: the schedule and the policy of *Golden Path Cache* without a path, against the schedule
of residual reuse there and as many plain steps. *rules*: under residual reuse, spacing by noise
level against uniform spacing (the published rule, and in proportion), even spacing and the demo
model's own path, searched at 50 steps and moved by ``gph_core.paths.retarget``.

Every picture is compared with the full run of the same setting, for prompts that neither training
nor the choice of a rule saw. Settings cover CFG, steps, samplers, schedulers and parts of the noise
(denoise) sparsely. ``-- --model`` takes the video model, or a student of the image model with
guidance baked in, which has no rules. *rules* takes 15 minutes of one core for images.
"""

from __future__ import annotations

from typing import Any

from benchmarks.lab.subjects import MODELS, STUDENT, add_option
from benchmarks.quality import _defaults, _rules

FILE = "retarget.json"
DEFAULTS, GAINS, RULES = "defaults", "gains of the default", "rules"


def add_options(parser) -> None:
    add_option(parser, MODELS)
    parser.add_argument("--part", choices=(DEFAULTS, RULES), help="measure one part alone")


def measure(options) -> dict[str, Any]:
    if (options.model, options.part) == (STUDENT, RULES):
        raise SystemExit("the student has no searched paths to compare rules with")
    figures: dict[str, Any] = {}
    if options.part != RULES:
        wanted = _defaults.settings(options.model)
        rows = figures[DEFAULTS] = list(_defaults.measured(wanted, options.model))
        figures[GAINS] = _defaults.mean_gains(rows, options.model)
    if options.part != DEFAULTS and options.model != STUDENT:
        figures |= _rules.measure(options.model)
    return figures


def merged(kept: dict[str, Any], figures: dict[str, Any]) -> dict[str, Any]:
    """The new figures in the place of the saved ones of their part."""
    return {**kept, **figures}


def summary(figures: dict[str, Any]) -> str:
    parts = []
    if DEFAULTS in figures:
        parts.append(_defaults.summary(figures[GAINS], figures[DEFAULTS]))
    if "settings" in figures:
        parts.append(_rules.summary(figures))
    return "\n\n".join(parts)


def misses(figures: dict[str, Any]) -> list[str]:
    """Bars that are missed in any part."""
    found = _defaults.misses(figures[GAINS], figures[DEFAULTS]) if DEFAULTS in figures else []
    return found + (_rules.misses(figures) if "settings" in figures else [])


def conditions(options) -> dict[str, Any]:
    """Conditions of both parts."""
    model = options.model
    rules = {} if model == STUDENT else {"rules": _rules.CONDITIONS}
    return {
        "model": MODELS[model].name, "defaults": _defaults.conditions(model), **rules,
        "unit": "PSNR in dB to the full run of the same setting; differences paired by prompt, "
        "with half of a 95 % interval (t)",
    }  # fmt: skip
