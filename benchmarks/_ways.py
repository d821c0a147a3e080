"""Ways of sampling that the benchmarks compare: methods, a golden path, baselines."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial

from benchmarks import _demo, _fitted_paths
from benchmarks._lab import Lab, compared
from benchmarks._shots import Way
from gph_core.paths.golden_path import GoldenPath
from gph_core.policies.base import options_of

UNIFORM, PLAIN = "uniform", "plain steps"  # what all others are compared with
GOLDEN, FITTED = "golden path", "fitted path"


def ways(
    lab: Lab, full: int, names: Collection[str] = (), missing: Collection[tuple[int, str]] = ()
) -> Iterator[Way]:
    """Ways to compare, the baselines first.

    Args:
        names: of those beside the baselines; all without any.
        missing: see ``Lab.calibrate``.
    """
    from golden_path_pack.gph_core.methods.table import ALL

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
    from golden_path_pack.gph_core.paths.choice import spacing
    from golden_path_pack.gph_core.policies.extrapolation import Reuse

    even = fixed(UNIFORM, spacing(steps, full), Reuse())
    return even, Way(PLAIN, f"{full} plain", None, full)


def golden(lab: Lab, full: int) -> Way:
    """Searched path without weights."""
    return fixed(GOLDEN, *lab.golden_path(full))


def fitted(lab: Lab, full: int) -> Way:
    """Fitted path: the one that the pack brings along, or one that is searched as those were."""
    return of_path(_fitted_paths.of_lab(lab, full))


def of_path(path: GoldenPath) -> Way:
    """A fitted path with its weights."""
    return fixed(FITTED, path.schedule, _fitted_paths.of_pack(path))


def way_of(name: str, lab: Lab, full: int) -> Way | None:
    """One of the methods, as it is calibrated; None if it cannot plan so few full steps."""
    from golden_path_pack.gph_core.calibration.entry import fit_of
    from golden_path_pack.gph_core.methods.method import settings_of
    from golden_path_pack.gph_core.methods.table import ALL
    from golden_path_pack.nodes.cache.adaptive_plan import AdaptivePlan, setting_of

    workload, method = lab.preparation, ALL[name]
    entry, policy = lab.entries().get(method.name), method.policy
    run = workload.run_conditions(policy)
    setting = setting_of(workload.guider.model_patcher, run, full, fit_of(method, entry))
    if not method.is_adaptive:
        try:
            return fixed(name, *method.plan(setting)[:2])
        except ValueError as reason:
            print(f"{lab}, {full} full, {name}: {reason}", flush=True)
            return None
    settings = settings_of(method, setting, policy)
    threshold = entry.threshold(settings, lab.steps - full)
    plan = AdaptivePlan(method, policy, threshold, full, entry)
    key = f"{name} {threshold!r} {full} {digest(entry.values)}"
    return Way(name, key, plan, full, alone=True)


def fixed(name: str, schedule, policy) -> Way:
    """A schedule with a policy."""
    from golden_path_pack.nodes.cache.plan import CachePlan

    plan = CachePlan("Custom", _demo.of_pack(schedule), policy)
    options = list(options_of(policy).values())
    return Way(name, f"{schedule} {policy} {digest(options)}", plan, schedule.num_full)


def digest(*values) -> str:
    """Short text that tells plain data and tensors apart."""
    from golden_path_pack.nodes.hook.fingerprint import of_values

    return of_values(*values)[:8]
