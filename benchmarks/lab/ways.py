"""Ways of sampling that the benchmarks compare: methods, a golden path, baselines."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial

import torch
from golden_path_pack.gph_core import run_plan
from golden_path_pack.gph_core.calibration.entry import fit_of
from golden_path_pack.gph_core.methods.method import settings_of
from golden_path_pack.gph_core.methods.table import ALL
from golden_path_pack.gph_core.paths.golden_path import GoldenPath
from golden_path_pack.gph_core.paths.spacings import spacing
from golden_path_pack.gph_core.policies.base import Site, options_of
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor
from golden_path_pack.gph_core.run_plan import adaptive, setting_of
from golden_path_pack.gph_core.search.budget import Budget
from golden_path_pack.gph_core.search.judge import Race
from golden_path_pack.gph_core.search.protocol import SearchSettings, find_path
from golden_path_pack.nodes.hook.fingerprint import of_values

from benchmarks.lab import fitted as fitted_paths
from benchmarks.lab.demo import BATCH
from benchmarks.lab.lab import Lab, compared
from benchmarks.lab.shots import Way

UNIFORM, PLAIN = "uniform", "plain steps"  # what all others are compared with
GOLDEN, FITTED = "golden path", "fitted path"
BUDGET = 300  # schedules of the search for a golden path


def ways(
    lab: Lab, full: int, names: Collection[str] = (), missing: Collection[tuple[int, str]] = ()
) -> Iterator[Way]:
    """Ways to compare, the baselines first.

    Args:
        names: of those beside the baselines; all without any.
        missing: see ``Lab.calibrate``.
    """
    yield from baselines(lab.steps, full)
    makers = {
        FITTED: partial(fitted, lab, full), GOLDEN: partial(golden, lab, full),
        **{name: partial(way_of, name, lab, full) for name in compared(ALL)},
    }  # fmt: skip
    for name, make in makers.items():
        if (not names or name in names) and (full, name) not in missing and (way := make()):
            yield way


def baselines(steps: int, full: int) -> tuple[Way, Way]:
    """Uniform spacing with residual reuse, and as many plain steps."""
    even = fixed(UNIFORM, spacing(steps, full), Reuse())
    return even, plain_steps(full)


def plain_steps(full: int, sampler: str = "") -> Way:
    """A run of so few plain steps, of another sampler than the lab's if one is named."""
    key = f"{full} plain, {sampler}" if sampler else f"{full} plain"
    return Way(PLAIN, key, None, full, sampler=sampler)


def golden(lab: Lab, full: int) -> Way:
    """Searched path without weights: eight scoring prompts, validated on the preparation's."""
    # Under Euler velocity reuse is a run of fewer steps, so these are in the space as well.
    contestants = [
        lab.contestant(
            policy, lab.scoring, lab.preparation,
            (f"{full} full {policy} scoring", f"{full} full {policy} validation"),
            {"uniform": spacing(lab.steps, full, policy.min_anchors)},
        )
        for policy in (Reuse(), TwoAnchor(), Reuse(Site.GUIDED))
    ]  # fmt: skip
    settings = SearchSettings(full, Budget(evaluations=BUDGET), race=Race(BATCH))
    with torch.inference_mode():
        best = find_path(contestants, lab.steps, settings).best
    return fixed(GOLDEN, best.schedule, best.policy)


def fitted(lab: Lab, full: int) -> Way:
    """Fitted path: the one that the pack brings along, or one that is searched as those were."""
    return of_path(fitted_paths.of_lab(lab, full))


def of_path(path: GoldenPath) -> Way:
    """A fitted path with its weights."""
    return fixed(FITTED, path.schedule, path.policy)


def way_of(name: str, lab: Lab, full: int) -> Way | None:
    """One of the methods, as it is calibrated; None if it cannot plan so few full steps."""
    workload, method = lab.preparation, ALL[name]
    entry, policy = lab.entries().get(method.name), method.policy
    setting = setting_of(workload.setup.known(policy), full, fit_of(method, entry))
    if method.plan is not None:
        try:
            return fixed(name, *method.plan(setting)[:2])
        except ValueError as reason:
            print(f"{lab}, {full} full, {name}: {reason}", flush=True)
            return None
    assert entry is not None, f"{name} is not calibrated"
    settings = settings_of(method, setting, policy)
    threshold = entry.threshold(settings, lab.steps - full)
    plan = adaptive(method, policy, threshold, full, entry)
    key = f"{name} {threshold!r} {full} {digest(entry.values)}"
    return Way(name, key, plan, full, alone=True)


def fixed(name: str, schedule, policy) -> Way:
    """A schedule with a policy."""
    plan = run_plan.fixed(schedule, policy)
    options = list(options_of(policy).values())
    key = f"{schedule} {policy} {digest(options)}"
    return Way(name, key, plan, schedule.num_full, schedule=schedule)


def digest(*values) -> str:
    """Short text that tells plain data and tensors apart."""
    return of_values(*values)[:8]
