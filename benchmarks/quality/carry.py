"""How far fitted weights carry: under another CFG, size, scheduler, LoRA, kind of prompt.

The weights of two paths of the demo model, of 13 of 50 and of 8 of 20 full steps at CFG 5, are used
where they were not fitted, against what a run gets there without a path, against as many plain
steps, and against a fit of the same schedule made there. Beside the figures stands what the pack
says: what it refuses is forced here.

Where the pack takes the weights, they have to be ahead of both others. It takes about half an hour
of one core; what is sampled is kept in ``.dev/``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import comfy.samplers
import torch
from golden_path_pack.gph_core import run_plan
from golden_path_pack.gph_core.policies.fitted import Fitted

from benchmarks.lab import demo, fitted, report
from benchmarks.lab.lab import Lab, Prompts
from benchmarks.lab.results import interval, seen
from benchmarks.lab.shots import Way
from benchmarks.lab.ways import PLAIN, fixed, plain_steps
from benchmarks.quality.fitted_paths import psnr

FILE = "carry.json"
STEPS, FULL, CFG = 50, 13, 5.0
OTHER = 20, 8  # at other CFGs alone
CFGS = (3.5, 4.0, 4.5, 5.5, 6.0)
DEFAULT = "the default"
UNSEEN = 60  # prompts
# Of a random LoRA: its rank, and its change of each weight matrix relative to the matrix.
RANK, STRENGTH = 4, 0.05
BIGGER = 12  # latent rows and columns instead of 8
PAIR = (" above ", " left of ")
REFUSED = "refused: "


@dataclass(frozen=True)
class Elsewhere(Lab):
    """A lab where something is not as it was when the weights were fitted.

    Args:
        name: of what is changed.
        full: number of full steps.
        change: makes a workload one of there.
    """

    name: str = ""
    full: int = FULL
    change: Callable[[Any], Any] = lambda workload: workload

    def __str__(self) -> str:
        return f"{super().__str__()}, {self.name or 'as fitted'}"

    def workload(self, count: int, seed: int, held_out: bool):
        return self.change(super().workload(count, seed, held_out))


def labs() -> list[Elsewhere]:
    """The place of the fit first, then the others; the same for the other path."""
    some = Prompts(unseen=UNSEEN)

    def lab(name: str = "", cfg: float = CFG, change=lambda workload: workload) -> Elsewhere:
        return Elsewhere(STEPS, cfg, prompts=some, name=name, change=change)

    def other(cfg: float) -> Elsewhere:
        steps, full = OTHER
        name = "" if cfg == CFG else f"CFG {cfg:g}"
        return Elsewhere(steps, cfg, prompts=some, name=name, full=full)

    return [
        lab(), *(lab(f"CFG {cfg:g}", cfg) for cfg in CFGS), lab("scheduler beta", change=beta),
        lab("96 x 96 pixels", change=larger), lab("LoRA", change=with_lora),
        lab("pairs of shapes alone", change=lambda work: of_kind(work, True)),
        lab("single shapes and counts alone", change=lambda work: of_kind(work, False)),
        other(CFG), *map(other, CFGS),
    ]  # fmt: skip


def beta(workload):
    """The noise levels of another scheduler."""
    levels = workload.guider.model_patcher.get_model_object("model_sampling")
    sigmas = comfy.samplers.calculate_sigmas(levels, "beta", workload.num_steps)
    return replace(workload, sigmas=sigmas)


def larger(workload):
    """Larger pictures."""
    channels = workload.latent["samples"].shape[1]
    return replace(workload, latent={"samples": torch.zeros(1, channels, BIGGER, BIGGER)})


def with_lora(workload):
    """A LoRA of random directions on every matrix of the blocks."""
    guider = copy.copy(workload.guider)
    model = guider.model_patcher.clone()
    random = torch.Generator().manual_seed(0)
    changes = {}
    for name, weight in model.model.state_dict().items():
        if "blocks" in name and weight.ndim == 2:
            up = torch.randn(len(weight), RANK, generator=random)
            change = up @ torch.randn(RANK, weight.shape[1], generator=random)
            change *= STRENGTH * weight.float().norm() / change.norm()
            changes[name] = (change.to(weight.dtype),)
    model.add_patches(changes)
    guider.model_patcher, guider.model_options = model, model.model_options
    return replace(workload, guider=guider)


def of_kind(workload, pairs: bool):
    """The examples whose caption is, or is not, of two shapes and how they lie."""
    some = [e for e in workload.examples if any(word in e.prompt for word in PAIR) == pairs]
    return replace(workload, examples=some)


def row(lab: Elsewhere) -> dict:
    """PSNR of the carried weights, what they are ahead of, and what the pack says to them."""
    path = fitted.load()[lab.steps, lab.full, CFG]
    # Without conditions nothing is refused.
    weights = path.policy
    assert isinstance(weights, Fitted)
    carried, here = (
        psnr(lab, fixed("", path.schedule, replace(policy, conditions={})))
        for policy in (weights, fitted_there(lab, path.schedule))
    )
    plan = run_plan.by_count(lab.full, None, ())
    default = psnr(lab, Way(DEFAULT, f"{DEFAULT} {lab.full}", plan, lab.full))
    plain = psnr(lab, plain_steps(lab.full))
    return {
        "path": f"{lab.full} of {lab.steps}", "place": lab.name or "as fitted",
        "prompts": len(carried), "psnr": interval(carried), **seen(carried),
        "ahead": {DEFAULT: interval(carried - default), PLAIN: interval(carried - plain)},
        "behind a fit there": interval(here - carried), "the pack says": said(lab, path),
    }  # fmt: skip


def fitted_there(lab: Elsewhere, schedule):
    """The policy whose weights are fitted to this schedule at this place."""
    some = lab.workload(fitted.SCORING, fitted.SCORING_SEED, held_out=False)
    with torch.inference_mode():
        return replace(lab.fits(some).policy_for(schedule), conditions={})


def said(lab: Elsewhere, path) -> str:
    """What the pack answers when this path is used here."""
    plan = run_plan.fixed(path.schedule, path.policy)
    try:
        with torch.inference_mode():
            _, record = lab.unseen.sampling(0).under(plan)
    except ValueError as error:
        return f"{REFUSED}{error}"
    return "; ".join(record.notes) or "nothing"


def measure(options) -> dict:
    return {"rows": report.printed(map(row, labs()))}


def misses(figures: dict) -> list[str]:
    """Places where the pack takes the weights, and they are not surely ahead of a control."""
    return [
        f"{one['path']}, {one['place']}: {report.within((mean, half))} dB over {name}, though it "
        "is taken"
        for one in figures["rows"]
        if not one["the pack says"].startswith(REFUSED)
        for name, (mean, half) in one["ahead"].items()
        if mean - half <= 0
    ]


def summary(figures: dict) -> str:
    head = ["path", "where", "PSNR dB", "worst tenth", "good", f"over {DEFAULT}", f"over {PLAIN}"]
    head.append("behind a fit there")
    lines = [
        [
            one["path"], one["place"], f"{one['psnr'][0]:.2f}", one["worst tenth"],
            f"{one['good']:.0%}",
            *map(report.within, one["ahead"].values()),
            report.within(one["behind a fit there"]), one["the pack says"],
        ]
        for one in figures["rows"]
    ]  # fmt: skip
    return report.table([*head, "what the pack says"], lines)


def conditions(options) -> dict:
    return {
        "model": "demo model", "sampling": f"{demo.SAMPLER}, {demo.SCHEDULER} unless said",
        "fitted": f"{FULL} of {STEPS} and {OTHER[1]} of {OTHER[0]} full steps, CFG {CFG:g}, "
        f"64 x 64 pixels, all kinds of prompts; a fit there has as many prompts, {fitted.SCORING}, "
        "or those of its kind",
        "LoRA": f"random, rank {RANK}, changes each matrix of the blocks by {STRENGTH:.0%}",
        "prompts": f"{UNSEEN} that no fit saw, or those of the kind; one noise each",
        "unit": "PSNR in dB of 8-bit images to the full run of the same place: mean and half of "
        "its 95 % interval by Student's t, differences paired by prompt",
    }  # fmt: skip
