"""What a cached step costs, as a share of a full step of the same run.

Every second step of a real sampling run is cached, so both kinds are measured side by side. A
step's time runs from its model call to the next one: sampler, guidance and all wrappers are in it.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import sys

from demo.comfyui import load_pack, use_comfyui

THREADS = 1  # more would measure how busy the machine is


def main() -> int:
    parser = argparse.ArgumentParser(prog="dev.py bench cache", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="exit with 1 if a figure misses its bar"
    )
    check = parser.parse_args().check
    use_comfyui("--cpu")
    import torch

    torch.set_num_threads(THREADS)
    load_pack()
    print(
        f"torch {torch.__version__}, {THREADS} thread, {platform.machine()}, "
        "float32, euler, CFG 5, batch 1; medians\n"
    )
    print(f"{'model':42} {'full':>9} {'cached':>9} {'share':>7} {'bar':>6}   recording a full step")
    met = True
    for name, model, channels, size, steps, runs, bar in cases():
        full, cached, plain = measure(model, channels, size, steps, runs)
        share = cached / full
        met = met and share <= bar
        print(
            f"{name:42} {full * 1e3:6.1f} ms {cached * 1e3:6.2f} ms {share:7.1%} {bar:6.0%}"
            f"   {full / plain - 1:+.1%} over a plain one"
        )
    if check:
        print("\nall figures meet their bars" if met else "\na figure misses its bar")
    return 1 if check and not met else 0


def cases():
    """Name, MODEL, latent channels and side, steps, runs, bar for the cached share."""
    from golden_path_pack.demo import comfy_model

    yield "demo model, 64 tokens", comfy_model.load_model(), 48, 8, 50, 5, 0.15
    yield "random FLUX, 512 wide, 4 + 8 blocks, 1,024", random_flux(), 16, 64, 4, 1, 0.05


def random_flux():
    """A FLUX with 2×2 patches and random weights: time does not depend on what they are."""
    import comfy.model_patcher
    import comfy.supported_models
    import torch

    config = comfy.supported_models.Flux(
        {
            "image_model": "flux", "in_channels": 16, "out_channels": 16, "patch_size": 2,
            "vec_in_dim": 64, "context_in_dim": 64, "hidden_size": 512, "mlp_ratio": 4.0,
            "num_heads": 8, "depth": 4, "depth_single_blocks": 8, "axes_dim": [16, 24, 24],
            "theta": 10_000, "qkv_bias": True, "guidance_embed": False, "txt_ids_dims": [],
        }
    )  # fmt: skip
    config.set_inference_dtype(torch.float32, None)
    model = config.get_model({}, "")
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.diffusion_model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.02)
    cpu = torch.device("cpu")
    return comfy.model_patcher.ModelPatcher(model, load_device=cpu, offload_device=cpu)


def measure(model, channels, size, steps, runs) -> tuple[float, float, float]:
    """Median seconds of a full and a cached step of one run, and of a step without the cache."""
    from golden_path_pack.gph_core.extrapolation import Reuse
    from golden_path_pack.gph_core.schedule import Schedule
    from golden_path_pack.nodes import patching

    listener = Listener()
    alternating = Schedule(tuple(range(0, steps, 2)), steps)
    plans = [
        patching.CachePlan("Custom", schedule, Reuse())
        for schedule in (alternating, Schedule.all_full(steps))
    ]
    full, cached, plain = [], [], []
    for _ in range(runs + 1):  # the first one warms up
        for plan in plans:
            sample(patching.attach(model, plan, listener), channels, size, steps)
        mixed, unpatched = listener.records[-2:]
        full.append(statistics.median(mixed.full_seconds))
        cached.append(statistics.median(mixed.cached_seconds))
        plain.append(statistics.median(unpatched.full_seconds))
    return tuple(statistics.median(times[1:]) for times in (full, cached, plain))


class Listener:
    """A reporter that keeps the records."""

    def __init__(self) -> None:
        self.records = []

    def planned(self, line: str) -> None: ...
    def refused(self, reason: str) -> None: ...
    def finished(self, record) -> None:
        self.records.append(record)


def sample(model, channels: int, size: int, steps: int) -> None:
    import comfy.sample
    import torch

    latent = torch.zeros(1, channels, size, size)
    prompts = [[[torch.randn(1, 12, 64), {"pooled_output": torch.randn(1, 64)}]] for _ in range(2)]
    with torch.inference_mode():
        noise = comfy.sample.prepare_noise(latent, seed=1)
        comfy.sample.sample(
            model, noise, steps, 5.0, "euler", "simple", *prompts, latent, disable_pbar=True, seed=1
        )


if __name__ == "__main__":
    sys.exit(main())
