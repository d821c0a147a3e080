"""Wrappers for the sites that keep a feature per branch: its velocity or its residual."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Any

import comfy.model_management

from ...gph_core.gates.base import GateInput, Look
from ...gph_core.model import families
from ...gph_core.model.stand_ins import RAN
from ...gph_core.model.surgery import Surgery
from ...gph_core.policies.base import ProbedPrediction
from ...gph_core.run.active_run import ActiveRun
from ...gph_core.run.decision import Decision
from . import compiler, model_call
from .branches import Branches
from .controlnet import Deferrals
from .model_call import ModelCall, uncompiled

# Errors of code that expects other blocks.
_OF_OTHERS = (AttributeError, LookupError, RuntimeError, StopIteration, TypeError, ValueError)
WITHOUT_BLOCKS = "caching stopped because a call without the blocks failed"
OUT_OF_MEMORY = "caching stopped because what it needs did not fit into memory"


class _BranchCalls(ABC):
    """Base of the sites that keep a feature per branch."""

    def __init__(self, run: ActiveRun) -> None:
        self._run = run
        self._branches = Branches(run.stop_caching)
        self._deferrals: Deferrals | None = None  # made for the first control
        self._is_asked = False  # whether the sampler calls the guider, which begins an evaluation
        self._level = None, 0.0  # of this evaluation, as ComfyUI's tensor and as a number
        self._sigma = math.nan  # of the last call
        self._look = run.gating.gate.look if run.gating else None

    def predict_noise(self, executor, *args, **kwargs):
        self._is_asked = True
        self._begin_evaluation()
        return executor(*args, **kwargs)

    def _begin_evaluation(self) -> None:
        self._run.begin_evaluation()
        self._branches.begin_evaluation()

    def _note_level(self, sigma: float) -> None:
        """Begin an evaluation at a new noise level, if the sampler does not call the guider."""
        if not self._is_asked and sigma != self._sigma:
            self._begin_evaluation()
        self._sigma = sigma

    def calc_cond_batch(self, executor, model, conds, x_in, timestep, model_options):
        sigma = float(timestep[0])
        self._level = timestep, sigma
        self._note_level(sigma)
        options = model_options.get("transformer_options", {})
        self._branches.note_conditions(conds, sigma, x_in, options)
        # Others may read a control's result: ComfyUI's copies for several devices, or a wrapper.
        readers = {"multigpu_clones", "model_function_wrapper"} & model_options.keys()
        has_control = any(cond.get("control") for group in conds for cond in group or ())
        if has_control and not readers and self._run.is_planned_cached(sigma):
            self._deferrals = self._deferrals or Deferrals()
            conds = self._deferrals.defer(conds, sigma)
        return executor(model, conds, x_in, timestep, model_options)

    def apply_model(
        self, executor, x, t, c_concat=None, c_crossattn=None, control=None,
        transformer_options=None, **kwargs,
    ):  # fmt: skip
        options = transformer_options or {}
        base_model = executor.class_obj
        # The model's object may differ from call to call, see ``patching``.
        transformer = uncompiled(base_model.diffusion_model)
        timestep, sigma = self._level
        # Otherwise it is known; reading it again would wait for the GPU.
        if timestep is None or options.get("sigmas") is not timestep:
            sigma = float(t[0])
        self._note_level(sigma)
        branches = self._keys(transformer, x, options, kwargs, sigma)
        call = ModelCall(
            base_model, executor, x, t, (c_concat, c_crossattn), control, options, kwargs, branches
        )
        decision = self._run.begin_call(sigma, branches, call.positive)
        if decision.is_cached:
            self._branches.note_cached()
        if decision.leader is not None and self._look is Look.LATENT:
            decision = self._settled(call, decision)
        return self._answer(call, decision)

    def _keys(self, transformer, x, options, inputs, sigma) -> list[Hashable]:
        """Keys of the branches of a call."""
        return self._branches.keys(transformer, x, options, inputs, sigma)

    def _settled(self, call: ModelCall, decision: Decision) -> Decision:
        """Decision of the gate, from what the call shows of the leader branch."""
        try:
            return self._run.settle(decision, call.branches, self._gate_input(call, decision))
        except comfy.model_management.OOM_EXCEPTION:
            self._run.stop_caching(OUT_OF_MEMORY)
            return self._run.settle(decision, call.branches, None)

    def _gate_input(self, call: ModelCall, decision: Decision) -> GateInput | None:
        """Input of the gate; None if a part of it is missing."""
        assert decision.step is not None
        assert decision.leader is not None
        latent = call.part(call.x, decision.leader).clone()
        return GateInput(decision.step, decision.sigma, latent)

    @abstractmethod
    def _answer(self, call: ModelCall, decision: Decision):
        """Denoised latents of one call, computed or predicted."""


class OutputCalls(_BranchCalls):
    """Cache of each branch's velocity: on cached steps the transformer does not run."""

    def _answer(self, call: ModelCall, decision: Decision):
        x = call.x
        if decision.is_cached:
            (velocity,) = decision.predicted(self._run.policy, x)
            denoised = x - decision.sigma * velocity
        else:
            denoised = call.denoised()
            velocity = (x - denoised) / decision.sigma
        if decision.keeps:
            features = [(part.clone(),) for part in velocity.chunk(len(call.branches))]
            latent = x.clone() if self._run.policy.uses_latents else None
            self._run.end_call(decision, call.branches, features, latent=latent)
        return denoised


class StackCalls(_BranchCalls):
    """Cache of what the block stack adds to the image tokens."""

    def __init__(self, run: ActiveRun) -> None:
        super().__init__(run)
        self._surgeries: dict[int, Surgery | None] = {}  # by transformer; each device has its own

    def _keys(self, transformer, x, options, inputs, sigma) -> list[Hashable]:
        branches = super()._keys(transformer, x, options, inputs, sigma)
        surgery = self._surgery(transformer)
        if surgery is None or not surgery.mixes_prompts:
            return branches
        # Which part of the batch belongs to a branch depends on what else is in the batch.
        together = tuple(options.get("cond_or_uncond") or ())
        return [(together, branch) for branch in branches]

    def _answer(self, call: ModelCall, decision: Decision):
        surgery = self._surgery(call.transformer)
        if surgery is None or self._run.schedule.num_cached == 0:
            return call.denoised(is_cached=decision.is_cached)
        options = model_call.observing_first_block(call.options, surgery)
        if decision.is_cached:
            output, decision = self._predicted(surgery, call, decision, options)
            if decision.is_cached:
                return output
        with surgery.recording():
            output = call.denoised(options)
        if decision.leader is not None:
            decision = self._settled(call, decision)
        try:
            self._remember(surgery, decision, call.branches, call.x)
        except comfy.model_management.OOM_EXCEPTION:
            self._run.stop_caching(OUT_OF_MEMORY)
        surgery.discard()
        return output

    def _predicted(
        self, surgery: Surgery, call: ModelCall, decision: Decision, options: dict
    ) -> tuple[Any, Decision]:
        """Prediction for a call, and the decision whether to use it."""
        if surgery.family.end:
            options = model_call.without_patches(options, surgery.family)
        try:
            with self._predicting(surgery, decision, call.x):
                output = call.denoised(options, is_cached=True)
        except comfy.model_management.OOM_EXCEPTION:
            compiler.clean_up()  # the call did not finish
            if not decision.is_open:
                raise
            self._run.stop_caching(OUT_OF_MEMORY)
            output = None
        except _OF_OTHERS as error:  # any other cause makes the full call, which follows, fail too
            compiler.clean_up()
            self._run.stop_caching(f"{WITHOUT_BLOCKS} ({type(error).__name__}: {error})")
            output = None
        finally:
            model_call.reset_unfinished(call.options)
        if decision.is_open:
            decision = self._settled(call, decision)
        if surgery.misfit == RAN:
            self._run.stop_caching(f"caching stopped because {RAN}")
        if decision.is_cached and (surgery.misfit or output is None):
            decision = self._run.refuse(decision, call.branches, surgery.misfit)
        surgery.discard()
        return output, decision

    def _gate_input(self, call: ModelCall, decision: Decision) -> GateInput | None:
        if self._look is Look.LATENT:
            return super()._gate_input(call, decision)
        surgery = self._surgery(call.transformer)
        assert surgery is not None
        assert self._run.gating is not None
        assert decision.step is not None
        assert decision.leader is not None
        gate = self._run.gating.gate
        gate_input = call.gate_input(
            decision.step, decision.sigma, decision.leader, surgery.looked(), surgery.family
        )
        if (gate_input.modulated if gate.look is Look.MODULATED else gate_input.probe) is None:
            return None
        if gate.needs_grid and not gate_input.grid:
            self._run.stop_caching(
                f"caching stopped because {type(gate).__name__} has to know where each token is, "
                "and the image's own cannot be told from those of guides or motion; choose DiCache"
            )
            return None
        return gate_input

    def _remember(self, surgery: Surgery, decision: Decision, branches, x) -> None:
        is_news = surgery.note_rows(len(branches), len(x))  # if so, the branches' keys change
        if is_news or not decision.keeps:
            return
        recorded = surgery.take(len(branches), tokens=self._run.policy.replaces_tokens)
        features = None if recorded is None else [part.feature for part in recorded]
        probes = [part.probe for part in recorded or ()]
        self._run.end_call(decision, branches, features, probes)

    def _predicting(self, surgery: Surgery, decision: Decision, x):
        tail = surgery.family.tail
        if isinstance(self._run.policy, ProbedPrediction):
            return surgery.probing(*decision.probe_anchors(x.device, tail), decision.is_open)
        feature = decision.predicted(self._run.policy, x, tail)
        predicting = surgery.replacing if self._run.policy.replaces_tokens else surgery.adding
        return predicting(feature, decision.is_open)

    def _surgery(self, transformer) -> Surgery | None:
        if id(transformer) not in self._surgeries:
            family = families.detect(transformer)
            policy = self._run.policy
            probe_policy = policy if isinstance(policy, ProbedPrediction) else None
            self._surgeries[id(transformer)] = family and Surgery(
                transformer, family, probe_policy, self._look
            )
        return self._surgeries[id(transformer)]
