"""Whether a model that ``torch.compile`` has compiled gives the eager pictures, cached or not.

Random models of two families, half as deep as those of ``bench cache``, compiled as ComfyUI does
it: as a whole, or each block by itself. Backends: inductor, and on a GPU cudagraphs. A cached run
has to come as near to its eager run as a run without the cache does. A failure is a result, too:
some backends fail without the cache. It takes about five minutes.
"""

from __future__ import annotations

import dataclasses
import platform
from collections.abc import Iterator
from typing import Any

import comfy.model_management
import torch
from comfy_api.torch_helpers import set_torch_compile_wrapper
from comfy_extras.nodes_torch_compile import skip_torch_compile_dict
from golden_path_pack.gph_core.policies.extrapolation import Reuse, Taylor
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor
from golden_path_pack.gph_core.schedule import Schedule

from benchmarks import ON_GPU
from benchmarks.cost import _models
from benchmarks.lab import report
from benchmarks.lab.demo import cached

FILE = f"compiled-{'gpu' if ON_GPU else 'cpu'}.json"
STEPS, SCHEDULE = 8, "0-2,5/8"
# Half the blocks: compiling takes long.
CASES = tuple(
    dataclasses.replace(case, name=name, unet=case.unet | depth)
    for case, name, depth in (
        (_models.SMALL[0], "FLUX", {"depth": 2, "depth_single_blocks": 2}),
        (_models.SMALL[1], "Wan", {"num_layers": 3}),
    )
)
BLOCKS = ("double_blocks", "single_blocks", "blocks")
WHOLE, EACH_BLOCK = "the whole model", "each block"
NO_CACHE = "no cache"
RUNS = 2  # a second one reuses what the first one compiled
FACTOR, ROUNDING = 4.0, 1e-6  # of the difference without the cache; below it is equal
WEIGHTS = 0.05  # standard deviation: large enough that each block changes the result


def measure(options) -> dict:
    backends = ("inductor", "cudagraphs") if ON_GPU else ("inductor",)
    return {"rows": report.printed(row for case in CASES for row in rows(case, backends))}


def misses(figures: dict) -> list[str]:
    names = ("model", "backend", "compiled", "policy")
    rows = (row for row in figures["rows"] if row["met"] is False)
    return [", ".join(row[name] for name in names) for row in rows]


def conditions(options) -> dict:
    return {
        "device": torch.cuda.get_device_name() if ON_GPU else "CPU",
        "machine": platform.machine(), "dtype": "float32",
        "sampling": f"euler, simple, CFG 1, {SCHEDULE} where it is cached",
        "unit": "difference: norm of the difference to the eager latent, of the latter's norm; "
        "one for each of two runs",
    }  # fmt: skip


def rows(case, backends: tuple[str, ...]) -> Iterator[dict]:
    """A row for each backend, each way of compiling, and each policy after a run without cache."""
    model = _model(case)
    policies = {NO_CACHE: None, **{str(p): p for p in (Reuse(), Taylor(2), TwoAnchor())}}
    eager = {name: _sample(case, model, policy) for name, policy in policies.items()}
    whole = ["diffusion_model"]
    each = [
        f"diffusion_model.{stack}.{number}"
        for stack in BLOCKS
        for number in range(len(getattr(model.model.diffusion_model, stack, ())))
    ]
    for backend in backends:
        for part, keys in ((WHOLE, whole), (EACH_BLOCK, each)):
            compiled, plain = _compiled(model, backend, keys), {}  # the run without cache is first
            for name, policy in policies.items():
                row = {"model": case.name, "backend": backend, "compiled": part, "policy": name}
                try:
                    row["difference"] = [
                        _difference(_sample(case, compiled, policy), eager[name])
                        for _ in range(RUNS)
                    ]
                    row["failure"] = ""
                except RuntimeError as reason:
                    row |= {"difference": None, "failure": str(reason).splitlines()[0][:200]}
                plain = row if policy is None else plain
                yield row | {"met": _is_met(row, plain)}
            torch._dynamo.reset()


def _is_met(row: dict, plain: dict) -> bool | None:
    """Whether a row is as close as the run without the cache; None if that run failed."""
    if plain["difference"] is None:
        return None
    if row["difference"] is None:
        return False
    return max(row["difference"]) <= max(FACTOR * max(plain["difference"]), ROUNDING)


def _model(case):
    model = _models.build(case, torch.float32, comfy.model_management.get_torch_device())
    with torch.no_grad():
        for name, parameter in model.model.diffusion_model.named_parameters():
            if "norm" in name and parameter.ndim == 1 and name.endswith(("scale", "weight")):
                parameter.fill_(1)
            else:
                parameter.normal_(std=WEIGHTS)
    return model


def _compiled(model, backend: str, keys: list[str]):
    """A model as ComfyUI's node *TorchCompileModel* leaves it."""
    clone = model.clone()
    options: Any = {"guard_filter_fn": skip_torch_compile_dict}  # annotated as texts by ComfyUI
    set_torch_compile_wrapper(model=clone, backend=backend, options=options, keys=keys)
    return clone


def _sample(case, model, policy):
    """Latent of a run, cached under a policy if there is one."""
    if policy is not None:
        model = cached(model, Schedule.parse(SCHEDULE), policy)
    torch.manual_seed(0)  # of the prompt
    return _models.sample(case, model, STEPS)


def _difference(found, wanted) -> float:
    return float(f"{float((found - wanted).norm() / wanted.norm()):.2g}")
