"""What each method is calibrated by: its sample of a full run, and the fit of its values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from torch import Tensor

from ...gph_core.calibration import planned, polynomial, residual_ratios, sensitivities
from ...gph_core.calibration.entry import Fitted
from ...gph_core.gates.coefficients import SignalKind
from ..cache import time_changes
from ..sample.workload import Workload
from .adaptive_samples import MagCacheSample, SenCacheSample, TeaCacheSample
from .calibration_samples import Sample
from .planned_samples import DPCacheSample, L2PSample, MeanCacheSample


class Fit(NamedTuple):
    """Recipe for calibrating one method."""

    sample: Callable[[], Sample]
    values: Callable[[Sequence[Mapping[str, Tensor]]], Fitted]


def fits_of(workload: Workload) -> dict[str, Fit]:
    """Fit of each method of ``FITTED``."""
    n, levels = workload.num_steps, workload.sigmas.tolist()
    times = time_changes.time_signal(workload.guider.model_patcher, levels)
    return {
        "TeaCache": Fit(lambda: TeaCacheSample(n, times), partial(_polynomial, times is not None)),
        "SenCache": Fit(lambda: SenCacheSample(n), sensitivities.table),
        "MagCache": Fit(lambda: MagCacheSample(n), residual_ratios.table),
        "L2P": Fit(lambda: L2PSample(n), planned.products),
        "DPCache": Fit(lambda: DPCacheSample(n), planned.costs),
        "MeanCache": Fit(lambda: MeanCacheSample(levels), planned.costs),
    }


def _polynomial(is_time: bool, samples: Sequence[Mapping[str, Tensor]]) -> Fitted:
    """Polynomial of TeaCache, and the signal that it belongs to."""
    fitted = polynomial.fit(samples, time_only=is_time)
    signal = SignalKind.TIME_PROJECTION if is_time else SignalKind.MODULATED
    return fitted._replace(values={**fitted.values, "signal": signal.value})
