"""Changes of a model's time signal, known before any run."""

from __future__ import annotations

import comfy.model_management
import torch

from ...gph_core.gates.relative_l1 import relative_change
from ..hook import compatibility
from ..hook.model_call import uncompiled


def of_run(patcher, sigmas) -> tuple[float, ...]:
    """Relative change of what time contributes to the blocks, from step to step."""
    found = time_signal(patcher, sigmas)
    assert found is not None
    pairs = zip(found[1:], found[:-1], strict=True)
    return (0.0, *(relative_change(new[None], old[None]) for new, old in pairs))


def time_signal(patcher, sigmas) -> torch.Tensor | None:
    """Time signal of each step, ``[N, ...]``; None without a part that depends on time alone."""
    transformer = uncompiled(patcher.model.diffusion_model)
    family, _ = compatibility.identify(patcher)
    if family is None or family.signal is None or family.signal.of_time is None:
        return None
    # Before sampling begins the weights may be elsewhere, and without LoRAs.
    comfy.model_management.load_models_gpu([patcher])
    with torch.no_grad():
        levels = torch.tensor(sigmas[:-1], device=patcher.load_device)
        return family.signal.of_time(transformer, levels)
