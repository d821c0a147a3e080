"""What each method is calibrated by: its sample of a full run, and the fit of its values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from torch import Tensor

from ...gph_core.calibration import planned, polynomial, residual_ratios, sensitivities
from ...gph_core.calibration.entry import Fitted
from ...gph_core.files.forms import Form
from ...gph_core.gates.coefficients import SignalKind
from ...gph_core.planning.meancache import SPANS
from ..cache import time_changes
from ..sample.workload import Workload
from .adaptive_samples import MagCacheSample, SenCacheSample, TeaCacheSample
from .calibration_samples import Sample
from .planned_samples import DPCacheSample, L2PSample, MeanCacheSample


class Fit(NamedTuple):
    """Recipe for calibrating one method."""

    sample: Callable[[], Sample]
    form: Form  # of the sample's tensors
    values: Callable[[Sequence[Mapping[str, Tensor]]], Fitted]


def fits_of(workload: Workload) -> dict[str, Fit]:
    """Fit of each method of ``FITTED``."""
    n, levels = workload.num_steps, workload.sigmas.tolist()
    times = time_changes.time_signal(workload.guider.model_patcher, levels)
    changes, slopes = Form(("x", "y"), (None, n - 1)), Form(("sigmas", "jx", "jt"), (n,))
    ratios, products = Form(("0",), (n,)), Form(("gram",), (n, n))
    jumps, spans = ((size, n, n + 1) for size in (n, len(SPANS)))
    costs = partial(Form, ("costs",), are_costs=True)
    polynomial_of = partial(_polynomial, times is not None)
    return {
        "TeaCache": Fit(lambda: TeaCacheSample(n, times), changes, polynomial_of),
        "SenCache": Fit(lambda: SenCacheSample(n), slopes, sensitivities.table),
        "MagCache": Fit(lambda: MagCacheSample(n), ratios, residual_ratios.table),
        "L2P": Fit(lambda: L2PSample(n), products, planned.products),
        "DPCache": Fit(lambda: DPCacheSample(n), costs(jumps), planned.costs),
        "MeanCache": Fit(lambda: MeanCacheSample(levels), costs(spans), planned.costs),
    }


def _polynomial(is_time: bool, samples: Sequence[Mapping[str, Tensor]]) -> Fitted:
    """Polynomial of TeaCache, and the signal that it belongs to."""
    fitted = polynomial.fit(samples, time_only=is_time)
    signal = SignalKind.TIME_PROJECTION if is_time else SignalKind.MODULATED
    return fitted._replace(values={**fitted.values, "signal": signal.value})
