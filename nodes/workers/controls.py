"""Control runs, by which workers that compute something else are found."""

from __future__ import annotations

from typing import Any

from ...gph_core.paths.choice import spacing
from ...gph_core.paths.retarget import num_full
from ...gph_core.paths.spacings import even
from ...gph_core.paths.speeds import OF_STEPS, SPEEDS
from ...gph_core.policies.base import Site
from ...gph_core.policies.extrapolation import Reuse
from ..sample.workload import Workload


def scores(workload: Workload) -> list[float]:
    """Latent MSE of two schedules on the first example, against its full run."""
    sampling, num_steps = workload.sampling(0), workload.num_steps
    count = num_full(num_steps, SPEEDS["Balanced"], OF_STEPS)
    reference, found = sampling.full(), []
    for rule in (even, spacing):
        latent, _ = sampling.cached(rule(num_steps, count), Reuse(Site.GUIDED))
        found.append(error(latent, reference))
    return found


def error(latent: Any, reference: Any) -> float:
    """Mean squared difference of latents, of all parts together."""
    parts = zip(*(x.unbind() if x.is_nested else (x,) for x in (latent, reference)), strict=True)
    return sum(float((a.float() - b.float()).square().mean()) for a, b in parts)
