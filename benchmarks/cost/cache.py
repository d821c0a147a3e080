"""Cost of full and cached steps, and speed of whole runs, against the ideal.

Everything is measured in one process, with kinds of step alternating. A step's time runs from one
callback of the sampler to the next, so it includes sampler, guidance and all wrappers. On a CPU it
is the time of the one thread, which other work on the machine affects least. The weights are
random: they do not change the time. On a GPU, the benchmark also measures peak memory besides the
weights, and a skipped step of ComfyUI's own EasyCache.
"""

from __future__ import annotations

import itertools
import platform
import statistics
import time
from typing import NamedTuple

import comfy.model_management
import torch
from comfy_extras.nodes_easycache import EasyCacheNode
from golden_path_pack.demo import comfy_model
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.damped_velocity import DampedVelocity
from golden_path_pack.gph_core.policies.extrapolation import Hermite, Reuse, Taylor, TokenTaylor
from golden_path_pack.gph_core.policies.mean_velocity import MeanVelocity
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor
from golden_path_pack.gph_core.schedule import Schedule, uniform

from benchmarks import ON_GPU
from benchmarks.cost import _models as models
from benchmarks.lab.demo import Silent, cached

DEFAULT = DampedVelocity()
FILE = f"cache-{'gpu' if ON_GPU else 'cpu'}.json"
STEPS = 50
# Cached steps of the GPH paper, and the least share of the ideal speed-up with residual reuse: CPU,
# GPU.
SHARES = {29: (0.93, 0.95), 37: (None, 0.95), 41: (0.85, 0.95)}
MAX_FULL = 1.02  # a full step with the cache, of one without
MAX_CACHED = (0.05, 0.02)  # a cached step by residual reuse, of a full one: CPU, GPU
MAX_CACHED_DEMO = 0.15  # the same on the demo model, whose blocks are tiny
# The same by the default policy, and its least share of the ideal speed-up. On a GPU the bar is in
# seconds, for all models: they are at least as large as FLUX.
MAX_DEFAULT, MAX_DEFAULT_SECONDS, DEFAULT_SHARE = 0.0005, 0.0005, 0.98
ROUNDS = 5
LONG_STEP = 1.0  # seconds: a model with longer full steps is measured in one round and one run
LONG_CACHED = 37
DEMO = "demo model, 64 tokens, CFG 5"


def add_options(parser) -> None:
    parser.add_argument("--only", default="", help="models whose name has this text in it")


def measure(options) -> dict:
    figures = [demo_figures()] if not ON_GPU and options.only in DEMO else []
    for case in models.REAL if ON_GPU else models.SMALL:
        if options.only in case.name:
            figures.append(model_figures(case))
    return {"models": figures}


def merged(kept: dict, figures: dict) -> dict:
    """New models in the places of saved ones."""
    every = {model["model"]: model for model in [*kept.get("models", []), *figures["models"]]}
    return {"models": list(every.values())}


def misses(figures: dict) -> list[str]:
    rows = ((model["model"], row) for model in figures["models"] for row in model["figures"])
    return [f"{name}: {row['figure']}" for name, row in rows if row["met"] is False]


def conditions(options) -> dict:
    return {
        "device": torch.cuda.get_device_name() if ON_GPU else "CPU, 1 thread, its time",
        "machine": platform.machine(),
        "dtype": "bfloat16" if ON_GPU else "float32",
        "sampling": f"euler, simple scheduler, CFG 1, batch 1, {STEPS} steps end to end",
    }


class Run(NamedTuple):
    """Seconds of each step, and the peak of the GPU's memory in MiB, without what was there."""

    seconds: list[float]
    mib: float | None


class FigureTable:
    """The figures of one model, printed as they come."""

    def __init__(self, name: str) -> None:
        self.name, self.rows = name, []
        print(f"\n{name}", flush=True)

    def add(
        self,
        figure: str,
        value: float,
        seconds: float,
        bar: float | None = None,
        least: bool = False,
        mib: float | None = None,
    ) -> None:
        """A ratio, what it took in seconds, its bar (a maximum, or the least allowed), and the peak
        of memory in MiB."""
        met = None if bar is None else bool(value >= bar if least else value <= bar)
        row = {"figure": figure, "ratio": value, "seconds": seconds, "bar": bar, "met": met}
        self.rows.append(row if mib is None else row | {"MiB": mib})
        memory = "" if mib is None else f"{mib:8,.0f} MiB"
        beside = "" if bar is None else f"{'at least' if least else 'at most'} {bar:.3f}"
        mark = {None: "", True: "", False: "  MISSED"}[met]
        print(f"  {figure:52} {value:7.3f} {seconds:10.4f} s {memory}  {beside}{mark}", flush=True)

    def figures(self) -> dict:
        return {"model": self.name, "figures": self.rows}


def demo_figures() -> dict:
    """The demo model, whose steps are so short that every part of the overhead shows.

    Here a step's time runs from its model call to the next one, as the node reports it.
    """
    case = models.Benchmarked(DEMO, "", {}, (48, 8, 8), (12, 64), {"pooled": 64})
    model = comfy_model.load_model()
    table = FigureTable(case.name)
    full, cached = [], []
    for _ in range(ROUNDS + 1):
        reporter = Silent()
        sample(case, model, STEPS, range(0, STEPS, 2), Reuse(), cfg=5.0, reporter=reporter)
        full.append(statistics.median(reporter.record.full_seconds))
        cached.append(statistics.median(reporter.record.cached_seconds))
    one, other = statistics.median(full[1:]), statistics.median(cached[1:])  # the first warms up
    table.add("cached step, residual reuse, of a full one", other / one, other, MAX_CACHED_DEMO)
    return table.figures()


def model_figures(case: models.Benchmarked) -> dict:
    dtype = torch.bfloat16 if ON_GPU else torch.float32
    model = models.build(case, dtype, comfy.model_management.get_torch_device())
    table = FigureTable(case.name)
    full = step_figures(case, model, table)
    is_long = full > LONG_STEP and ON_GPU
    policy_figures(case, model, table, full, is_long)
    if ON_GPU:
        easycache_figure(case, model, table, full)
    run_figures(case, model, table, is_long)
    return table.figures()


def step_figures(case, model, table: FigureTable) -> float:
    """Full steps with and without the cache, alternating; returns the seconds without."""
    plain, patched, cached = [], [], []
    bare = run = sample(case, model, 3)  # warms up
    rounds = 1 if ON_GPU and min(bare.seconds) > LONG_STEP else ROUNDS
    for _ in range(rounds):
        bare = sample(case, model, 3)
        run = sample(case, model, 5, (0, 1, 3), Reuse())
        plain += bare.seconds[1:]
        patched += [run.seconds[n] for n in (1, 3)]
        cached += [run.seconds[n] for n in (2, 4)]
    # The fastest of ten: what else the machine does only adds, and by more than the cache.
    full, with_cache, one_cached = min(plain), min(patched), min(cached)
    table.add("full step without the cache", 1.0, full, mib=bare.mib)
    table.add("full step with the cache, of one without", with_cache / full, with_cache, MAX_FULL)
    table.add(
        "cached step, residual reuse, of a full one", one_cached / full, one_cached,
        MAX_CACHED[ON_GPU], mib=run.mib,
    )  # fmt: skip
    return full


def policy_figures(case, model, table: FigureTable, full: float, is_long: bool) -> None:
    """A cached step of each other policy; only three policies on a model with long steps."""
    policies = [
        DEFAULT, TwoAnchor(), MeanVelocity(), Taylor(1), Taylor(2), Hermite(2), TokenTaylor(),
        Reuse(Site.OUTPUT), Reuse(Site.GUIDED), Taylor(2, site=Site.GUIDED),
    ]  # fmt: skip
    most = {DEFAULT: MAX_DEFAULT_SECONDS / full if ON_GPU else MAX_DEFAULT}
    for policy in policies[: 3 if is_long else None]:
        run = sample(case, model, 6, (0, 1, 2), policy)
        cached = statistics.median(run.seconds[3:])
        bar = most.get(policy)
        table.add(f"cached step, {policy}", cached / full, cached, bar, mib=run.mib)


def easycache_figure(case, model, table: FigureTable, full: float) -> None:
    """A step skipped by ComfyUI's own EasyCache; this threshold skips every step it may."""
    (other,) = EasyCacheNode.execute(model, 1e9, 0.0, 1.0, False).args
    run = sample(case, other, 6)
    skipped = [seconds for seconds in run.seconds if seconds < full / 2]
    assert skipped, "EasyCache computed every step"
    cached = statistics.median(skipped)
    table.add("skipped step, ComfyUI's EasyCache", cached / full, cached, mib=run.mib)


def run_figures(case, model, table: FigureTable, is_long: bool) -> None:
    """Whole runs at the three ratios, or at one, against N / (N - K).

    Each is compared with N full steps at the median of those taken right before and after it: the
    machine's speed drifts more than the cache costs.
    """
    bare = sample(case, model, 4).seconds[1:]
    for num_cached, policy in itertools.product(
        (LONG_CACHED,) if is_long else SHARES, (DEFAULT, Reuse())
    ):
        schedule = uniform(STEPS, STEPS - num_cached)
        run = sample(case, model, STEPS, schedule.full_steps, policy)
        before, bare = bare, sample(case, model, 4).seconds[1:]
        seconds = sum(run.seconds)
        speedup = STEPS * statistics.median(before + bare) / seconds
        least = DEFAULT_SHARE if policy == DEFAULT else SHARES[num_cached][ON_GPU]
        table.add(
            f"speed-up {speedup:.2f}x at {num_cached} of {STEPS} cached, {policy}, of the ideal",
            speedup * schedule.num_full / STEPS, seconds, least, least=True,
        )  # fmt: skip


def sample(case, model, steps: int, full_steps=None, policy=None, cfg=1.0, reporter=None) -> Run:
    """Run a model, uncached if no full steps are given."""
    if full_steps is not None:
        model = cached(model, Schedule(tuple(full_steps), steps), policy, reporter)
    ticks, there = [], 0
    if ON_GPU:
        torch.cuda.reset_peak_memory_stats()
        there = torch.cuda.memory_allocated()

    def tick(*_):
        if ON_GPU:
            torch.cuda.synchronize()
            ticks.append(time.perf_counter())
        else:
            ticks.append(time.process_time())

    models.sample(case, model, steps, cfg, begins=tick, callback=tick)
    mib = (torch.cuda.max_memory_allocated() - there) / 2**20 if ON_GPU else None
    return Run([b - a for a, b in itertools.pairwise(ticks)], mib)
