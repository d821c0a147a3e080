"""Attach a cache plan to a MODEL: the only file that touches ComfyUI's model options.

The MODEL clone carries one ``OUTER_SAMPLE`` wrapper and the frozen plan. When sampling starts,
that wrapper creates an ``ActiveRun`` and adds, to the options of this run only, an ``APPLY_MODEL``
wrapper. The latter runs outside a compiled model and, being the last one added, inside everything
else. When sampling ends, in whatever way, options and model are what they were.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Protocol

import comfy.model_patcher
from comfy.patcher_extension import WrappersMP, add_wrapper_with_key

from ..gph_core import families, speeds
from ..gph_core.active_run import ActiveRun
from ..gph_core.policies import Policy
from ..gph_core.record import RunRecord
from ..gph_core.schedule import Schedule
from ..gph_core.surgery import Surgery

KEY = "golden_path"


@dataclass(frozen=True, slots=True)
class CachePlan:
    """What the user chose; becomes a schedule when sampling starts and N is known."""

    speed: str
    custom: Schedule | None
    policy: Policy

    def resolve(self, num_steps: int, family: str) -> speeds.Choice:
        if self.custom is not None:
            return speeds.Choice(self.custom, "your schedule")
        return speeds.resolve(self.speed, num_steps, family)


class Reporter(Protocol):
    """Who is told about a run (see ``report.py``)."""

    def planned(self, line: str) -> None: ...
    def refused(self, reason: str) -> None: ...
    def finished(self, record: RunRecord) -> None: ...


def attach(model, plan: CachePlan, reporter: Reporter):
    """A clone of the MODEL that samples under the plan; the MODEL itself stays as it is."""
    patched = model.clone()
    # A second cache node on the same model replaces the first: two would cache each other's steps.
    patched.remove_wrappers_with_key(WrappersMP.OUTER_SAMPLE, KEY)
    patched.add_wrapper_with_key(WrappersMP.OUTER_SAMPLE, KEY, _outer_sample(plan, reporter))
    return patched


def _outer_sample(plan: CachePlan, reporter: Reporter):
    def outer_sample(executor, noise, latent_image, sampler, sigmas, *args, **kwargs):
        if len(sigmas) < 2:  # no step to take
            return executor(noise, latent_image, sampler, sigmas, *args, **kwargs)
        guider = executor.class_obj
        run = _start(plan, reporter, guider.model_patcher.model, sigmas.tolist())
        original = guider.model_options
        guider.model_options = comfy.model_patcher.create_model_options_clone(original)
        options = guider.model_options.setdefault("transformer_options", {})
        calls = _ModelCalls(run)
        add_wrapper_with_key(WrappersMP.PREDICT_NOISE, KEY, calls.predict_noise, options)
        add_wrapper_with_key(WrappersMP.APPLY_MODEL, KEY, calls.apply_model, options)
        try:
            output = executor(noise, latent_image, sampler, sigmas, *args, **kwargs)
        finally:
            guider.model_options = original
            record = run.finish()
        reporter.finished(record)
        return output

    return outer_sample


def _start(plan: CachePlan, reporter: Reporter, base_model, sigmas: list[float]) -> ActiveRun:
    """The run of a plan, or one in full where the plan cannot be applied."""
    num_steps = len(sigmas) - 1
    transformer = _uncompiled(base_model.diffusion_model)
    family = families.detect(transformer)
    if family is None:
        known = ", ".join(row.name for row in families.FAMILIES)
        reason = (
            f"{type(transformer).__name__} is not a supported transformer (supported: {known}); "
            "all steps are computed in full"
        )
        reporter.refused(reason)
        run = ActiveRun(Schedule.all_full(num_steps), plan.policy, sigmas)
        run.note(reason)
        return run
    choice = plan.resolve(num_steps, family.name)
    run = ActiveRun(choice.schedule, plan.policy, sigmas)
    ideal = num_steps / choice.schedule.num_full
    reporter.planned(
        f"{choice.schedule.num_full} of {num_steps} steps full ({choice.origin}: "
        f"{choice.schedule}), policy {plan.policy}, at most {ideal:.1f}x fewer block evaluations"
    )
    return run


class _ModelCalls:
    """The two wrappers of one run."""

    def __init__(self, run: ActiveRun) -> None:
        self._run = run
        self._surgeries: dict[int, Surgery | None] = {}  # by transformer: several devices, one each
        self._seen: Counter[Hashable] = Counter()

    def predict_noise(self, executor, *args, **kwargs):
        self._seen.clear()  # a new evaluation by the sampler: every branch comes once in it
        return executor(*args, **kwargs)

    def apply_model(
        self, executor, x, t, c_concat=None, c_crossattn=None, control=None,
        transformer_options=None, **kwargs,
    ):  # fmt: skip
        def call(options):
            return executor(x, t, c_concat, c_crossattn, control, options, **kwargs)

        options = transformer_options or {}
        surgery = self._surgery(executor.class_obj.diffusion_model)
        branches = self._branches(executor.class_obj, x, control, options)
        decision = self._run.begin_call(float(t[0]), branches)
        if surgery is None or self._run.schedule.num_cached == 0:
            return call(options)
        if decision.residual is not None:
            with surgery.adding(decision.residual):
                return call(options)
        with surgery.recording():
            output = call(_observing_first_block(options, surgery))
        if decision.keeps:
            residuals = surgery.take_residuals(len(branches))
            self._run.end_full_call(decision.step, branches, residuals)
        else:
            surgery.discard()
        return output

    def _surgery(self, diffusion_model) -> Surgery | None:
        transformer = _uncompiled(diffusion_model)
        if id(transformer) not in self._surgeries:
            family = families.detect(transformer)
            self._surgeries[id(transformer)] = family and Surgery(transformer, family)
        return self._surgeries[id(transformer)]

    def _branches(self, base_model, x, control, options: dict) -> list[Hashable]:
        """One key per slice of the batch; equal keys mean the same tokens under the same prompt.

        A uuid alone is not enough: positive and negative area prompts can share one, and some
        guidance methods call the model again with other patches. A ControlNet that starts or ends
        makes another branch, which is computed in full first. Empty if the call does not say
        what its batch consists of.
        """
        uuids = options.get("uuids") or []
        indices = options.get("cond_or_uncond") or []
        if len(uuids) != len(indices) or not uuids or x.shape[0] % len(uuids):
            return []
        window = getattr(options.get("context_window"), "index_list", None)
        common = (
            id(base_model),
            _patch_signature(options),
            tuple(window) if window is not None else None,
            tuple(x.shape[1:]),
            x.shape[0] // len(uuids),
            control is not None,
        )
        branches = [(*common, index, uuid) for index, uuid in zip(indices, uuids, strict=True)]
        self._seen.update(branches)
        if any(self._seen[branch] > 1 for branch in branches):
            self._run.stop_caching(
                "caching stopped because the image is sampled in tiles, "
                "which may move between steps"
            )
        return branches


def _observing_first_block(options: dict, surgery: Surgery) -> dict:
    """Options in which another extension's replacement of the first block lets us see its input.

    It may change the tokens before it calls the block, or not call it at all.
    """
    replacements = options.get("patches_replace", {})
    key, hidden = surgery.family.first_block_key, surgery.family.hidden
    replacement = replacements.get("dit", {}).get(key)
    if replacement is None:
        return options

    def observed(args, extra):
        surgery.note_input(args[hidden])
        return replacement(args, extra)

    blocks = replacements["dit"] | {key: observed}
    return options | {"patches_replace": replacements | {"dit": blocks}}


def _patch_signature(options: dict) -> Hashable:
    """Which patches of other nodes are active in this call."""
    patches = tuple(
        (name, tuple(id(patch) for patch in group))
        for name, group in sorted(options.get("patches", {}).items())
    )
    replacements = tuple(
        (name, tuple(sorted((str(key), id(patch)) for key, patch in group.items())))
        for name, group in sorted(options.get("patches_replace", {}).items())
    )
    return patches, replacements


def _uncompiled(module):
    return getattr(module, "_orig_mod", module)
