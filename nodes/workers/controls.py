"""Control runs, which reveal workers that compute something else."""

from __future__ import annotations

from ...gph_core.paths.spacings import even, spacing
from ...gph_core.policies.base import Site
from ...gph_core.policies.extrapolation import Reuse
from ..sample.assessing import Assessor
from ..sample.workload import Workload


def scores(workload: Workload) -> list[float]:
    """Latent MSE of two schedules on the first example, against its full run."""
    sampling, num_steps = workload.sampling(0), workload.num_steps
    count = workload.full_of("Balanced")
    assessor = Assessor(None, {})  # of latents alone
    reference, errors = assessor.reference(sampling.full()), []
    for rule in (even, spacing):
        latent, _ = sampling.cached(rule(num_steps, count), Reuse(Site.GUIDED))
        (metrics,) = assessor.metrics(assessor.result(latent), reference)
        errors.append(metrics["latent_mse"])
    return errors
