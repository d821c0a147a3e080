"""Cost of full and cached steps, and speed of whole runs, against the ideal.

Everything is measured in one process, kinds of step by turns: a step's time runs from one callback
of the sampler to the next, so sampler, guidance and all wrappers are in it. On a CPU it is the time
of the one thread, which what else the machine does disturbs least. The weights are random: they do
not change the time.
"""

from __future__ import annotations

import argparse
import itertools
import json
import platform
import statistics
import sys
import time
from pathlib import Path

from benchmarks import _models as models
from benchmarks._demo import Silent
from demo.comfyui import load_pack, use_comfyui

RESULTS = Path(__file__).parent / "results"
THREADS = 1  # on a CPU, more would measure how busy the machine is
STEPS = 50
# Cached steps of the source paper, and the least share of the ideal speed-up: CPU, GPU.
SHARES = {29: (0.93, 0.95), 37: (None, 0.95), 41: (0.85, 0.95)}
MAX_FULL = 1.02  # a full step with the cache, of one without
MAX_CACHED = (0.05, 0.02)  # a cached step by residual reuse, of a full one: CPU, GPU
MAX_CACHED_DEMO = 0.15  # the same on the demo model, whose blocks are tiny
ROUNDS = 5


def main() -> int:
    parser = argparse.ArgumentParser(prog="dev.py bench cache", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="exit with 1 if a figure misses its bar"
    )
    parser.add_argument(
        "--save", action="store_true", help="write the figures to benchmarks/results"
    )
    options = parser.parse_args()
    import torch

    on_gpu = torch.cuda.is_available()
    use_comfyui(*([] if on_gpu else ["--cpu"]))
    torch.set_num_threads(THREADS)
    load_pack()
    conditions = {
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if on_gpu else f"CPU, {THREADS} thread, its time",
        "machine": platform.machine(),
        "dtype": "bfloat16" if on_gpu else "float32",
        "sampling": f"euler, simple scheduler, CFG 1, batch 1, {STEPS} steps end to end",
    }
    print(", ".join(conditions.values()), flush=True)
    figures = [] if on_gpu else [demo_figures()]
    for case in models.REAL if on_gpu else models.SMALL:
        figures.append(model_figures(case, on_gpu))
    if options.save:
        RESULTS.mkdir(exist_ok=True)
        file = RESULTS / f"cache-{'gpu' if on_gpu else 'cpu'}.json"
        text = json.dumps({"conditions": conditions, "models": figures}, indent=1)
        file.write_text(text + "\n", "utf-8")
    missed = [row["figure"] for model in figures for row in model["figures"] if row["met"] is False]
    if options.check:
        print("\nall figures meet their bars" if not missed else f"\nmissed: {', '.join(missed)}")
    return 1 if options.check and missed else 0


class FigureTable:
    """The figures of one model, printed as they come."""

    def __init__(self, name: str) -> None:
        self.name, self.rows = name, []
        print(f"\n{name}", flush=True)

    def add(self, figure: str, value: float, seconds: float, bar: float | None, least=False):
        """A ratio, what it took in seconds, and its bar: a maximum, or the least allowed."""
        met = None if bar is None else bool(value >= bar if least else value <= bar)
        self.rows.append(
            {"figure": figure, "ratio": value, "seconds": seconds, "bar": bar, "met": met}
        )
        beside = "" if bar is None else f"{'at least' if least else 'at most'} {bar:.3f}"
        mark = {None: "", True: "", False: "  MISSED"}[met]
        print(f"  {figure:52} {value:7.3f} {seconds:10.4f} s  {beside}{mark}", flush=True)

    def figures(self) -> dict:
        return {"model": self.name, "figures": self.rows}


def demo_figures() -> dict:
    """The demo model, whose steps are so short that every part of the overhead shows.

    Here a step's time runs from its model call to the next one, as the node reports it.
    """
    from golden_path_pack.demo import comfy_model
    from golden_path_pack.gph_core.policies.extrapolation import Reuse

    case = models.Benchmarked(
        "demo model, 64 tokens, CFG 5", "", {}, (48, 8, 8), (12, 64), {"pooled": 64}
    )
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


def model_figures(case: models.Benchmarked, on_gpu: bool) -> dict:
    import comfy.model_management
    import torch

    dtype = torch.bfloat16 if on_gpu else torch.float32
    model = models.build(case, dtype, comfy.model_management.get_torch_device())
    table = FigureTable(case.name)
    full = step_figures(case, model, table, on_gpu)
    policy_figures(case, model, table, full)
    run_figures(case, model, table, on_gpu)
    return table.figures()


def step_figures(case, model, table: FigureTable, on_gpu: bool) -> float:
    """A full step with and without the cache by turns; returns the latter's seconds."""
    from golden_path_pack.gph_core.policies.extrapolation import Reuse

    plain, patched, cached = [], [], []
    for round_ in range(ROUNDS + 1):
        bare = sample(case, model, 3)
        times = sample(case, model, 5, (0, 1, 3), Reuse())
        if round_:  # the first warms up
            plain += bare[1:]
            patched += [times[n] for n in (1, 3)]
            cached += [times[n] for n in (2, 4)]
    # The fastest of ten: what else the machine does only adds, and by more than the cache.
    full, with_cache, one_cached = min(plain), min(patched), min(cached)
    table.add("full step without the cache", 1.0, full, None)
    table.add("full step with the cache, of one without", with_cache / full, with_cache, MAX_FULL)
    table.add(
        "cached step, residual reuse, of a full one", one_cached / full, one_cached,
        MAX_CACHED[on_gpu],
    )  # fmt: skip
    return full


def policy_figures(case, model, table: FigureTable, full: float) -> None:
    from golden_path_pack.gph_core.policies.base import Site
    from golden_path_pack.gph_core.policies.extrapolation import Hermite, Reuse, Taylor, TokenTaylor
    from golden_path_pack.gph_core.policies.mean_velocity import MeanVelocity
    from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor

    policies = [
        Taylor(1), Taylor(2), Hermite(2), TokenTaylor(), TwoAnchor(), Reuse(Site.OUTPUT),
        Reuse(Site.GUIDED), Taylor(2, site=Site.GUIDED), MeanVelocity(),
    ]  # fmt: skip
    for policy in policies:
        times = sample(case, model, 6, (0, 1, 2), policy)
        cached = statistics.median(times[3:])
        table.add(f"cached step, {policy}", cached / full, cached, None)


def run_figures(case, model, table: FigureTable, on_gpu: bool) -> None:
    """Whole runs at the three ratios, against N / (N - K).

    Each is compared with N full steps at the median of those taken right before and after it: the
    machine's speed drifts more than the cache costs.
    """
    from golden_path_pack.gph_core.policies.extrapolation import Reuse
    from golden_path_pack.gph_core.schedule import uniform

    bare = sample(case, model, 4)[1:]
    for num_cached, bars in SHARES.items():
        schedule = uniform(STEPS, STEPS - num_cached)
        seconds = sum(sample(case, model, STEPS, schedule.full_steps, Reuse()))
        before, bare = bare, sample(case, model, 4)[1:]
        speedup = STEPS * statistics.median(before + bare) / seconds
        table.add(
            f"speed-up {speedup:.2f}x at {num_cached} of {STEPS} cached, of the ideal",
            speedup * schedule.num_full / STEPS, seconds, bars[on_gpu], least=True,
        )  # fmt: skip


def sample(
    case, model, steps: int, full_steps=None, policy=None, cfg=1.0, reporter=None
) -> list[float]:
    """Seconds of each step of a run; without full steps, of the model as it is."""
    import comfy.sample
    import torch
    from golden_path_pack.gph_core.schedule import Schedule
    from golden_path_pack.nodes.cache.plan import CachePlan
    from golden_path_pack.nodes.hook import patching

    if full_steps is not None:
        plan = CachePlan("Custom", Schedule(tuple(full_steps), steps), policy)
        model = patching.attach(model, plan, reporter or Silent())
    prompt, latent = models.conditioning(case), torch.zeros(1, *case.latent)
    ticks = []

    def tick(*_):
        if torch.cuda.is_available():
            torch.cuda.synchronize()
            ticks.append(time.perf_counter())
        else:
            ticks.append(time.process_time())

    noise = comfy.sample.prepare_noise(latent, seed=1)
    with torch.inference_mode():
        tick()
        comfy.sample.sample(
            model, noise, steps, cfg, "euler", "simple", prompt, prompt, latent,
            disable_pbar=True, seed=1, callback=tick,
        )  # fmt: skip
    return [b - a for a, b in itertools.pairwise(ticks)]


if __name__ == "__main__":
    sys.exit(main())
