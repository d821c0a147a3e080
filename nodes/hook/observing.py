"""Full runs that report what happens inside, for calibrations and planners."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial

from comfy.patcher_extension import WrappersMP
from torch import Tensor

from ...gph_core.calibration.samples import Observed, Together
from ...gph_core.gates.base import Look
from ...gph_core.model.family import aligned
from ...gph_core.model.replacements import Looked
from ...gph_core.run.active_run import ActiveRun
from ...gph_core.run.decision import Decision
from .branch_calls import StackCalls
from .model_call import ModelCall, observing_first_block


class ObservedCalls(StackCalls):
    """Calls of a full run, each reported to a watcher, which may keep the tensors."""

    def __init__(self, run: ActiveRun, watcher: Together) -> None:
        super().__init__(run)
        self._watcher = watcher
        self._look = Look.MODULATED
        self._numbers: dict[Hashable, int] = {}
        self._step = 0

    def wrappers(self) -> dict[str, Callable]:
        """Wrappers by their place in ComfyUI."""
        return {
            WrappersMP.PREDICT_NOISE: self.predict_noise,
            WrappersMP.CALC_COND_BATCH: self.calc_cond_batch,
            WrappersMP.APPLY_MODEL: self.apply_model,
        }

    def predict_noise(self, executor, x, timestep, *args, **kwargs):
        denoised = super().predict_noise(executor, x, timestep, *args, **kwargs)
        # Cloned: a sampler may change it in place.
        self._watcher.step(self._step, x.clone(), (x - denoised) / timestep[0])
        self._step += 1
        return denoised

    def _answer(self, call: ModelCall, decision: Decision):
        # Not reported: evaluations between two steps, and batches whose parts are unknown.
        if decision.step is None or not call.branches:
            return call.denoised()
        surgery, parts = self._surgery(call.transformer), len(call.branches)
        looked, recorded = Looked(None, None, None), None
        if surgery is None:
            denoised = call.denoised()
        else:
            with surgery.recording():
                denoised = call.denoised(observing_first_block(call.options, surgery))
            looked, recorded = surgery.looked(), surgery.take(parts)
        velocity = (call.x - denoised) / decision.sigma
        order = [call.positive, *(n for n in range(parts) if n != call.positive)]
        for place in order[:parts]:
            number = self._number(call, place)
            gate_input = call.gate_input(
                decision.step, decision.sigma, place, looked, surgery and surgery.family
            )
            residual = tokens = None
            if recorded and surgery and looked.tokens is not None:
                residual, before = recorded[place].feature[0], call.part(looked.tokens, place)
                tokens, _ = aligned(before, residual, surgery.family.tail)
            again = partial(_again, call, place)
            part = call.part(velocity, place).clone()
            self._watcher.branch(Observed(number, gate_input, part, residual, tokens, again))
        return denoised

    def _number(self, call: ModelCall, place: int) -> int:
        """Number of a branch, constant throughout the run."""
        kinds, numbers = call.options["cond_or_uncond"], self._numbers
        is_first = kinds[place] == 0 and 0 not in numbers.values()
        following = max(numbers.values(), default=0) + 1
        return numbers.setdefault(call.branches[place], 0 if is_first else following)


def _again(call: ModelCall, place: int, latent: Tensor, sigma: float) -> Tensor:
    """Velocity of a branch at another latent; the call is repeated with it for all branches."""
    x = latent.repeat(len(call.branches), *[1] * (latent.ndim - 1))
    denoised = call.denoised(x=x, sigma=sigma)
    return call.part((x - denoised) / sigma, place)
