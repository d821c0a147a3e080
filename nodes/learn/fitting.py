"""Fit of weights to remembered images, on the model as it is loaded, and what it is worth."""

from __future__ import annotations

import logging
import math
import statistics
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import comfy.model_management
import comfy.utils
import torch
from torch import Tensor

from ...gph_core.files.condition_diff import plain
from ...gph_core.learning.few_runs import Runs
from ...gph_core.learning.lesson import Learned, budget_of, learn
from ...gph_core.learning.spacings import to_learn
from ...gph_core.paths.evidence import LEARNED_FIGURE, evidence
from ...gph_core.policies.damped_velocity import DampedVelocity
from ...gph_core.policies.extrapolation import Reuse
from ...gph_core.run_plan import by_count
from ...gph_core.texts import counted
from ..hook.starting import Inputs
from ..library import user_paths
from ..sample.sampler_steps import steps_of
from .remembered import REMEMBERED
from .replay import Replay
from .settings import Settings

MOST = 100.0  # dB, of equal pictures
USUAL_CONTRAST = 0.25  # standard deviation of a picture's values, 0 to 1
_LOG = logging.getLogger(__name__)


def fit_and_save(
    settings: Settings, inputs: Inputs, on_fit: Callable[[str], None], seconds: float = 0.0
) -> str:
    """Fit weights to what is remembered and save the path; say what it is worth.

    Or say why there is none: the default is as good, or something failed. Only cancelling raises.

    Args:
        seconds: of one evaluation of one image, as far as is known.
    """
    examples = REMEMBERED.of(settings.folder)
    images = sum(map(len, examples))
    budget = budget_of(settings.setup.num_steps, settings.num_full, images)
    about = f", about {max(1, round(seconds * budget.evaluations))} s" if seconds else ""
    on_fit(f"fitting: {budget.evaluations} evaluations{about}")
    try:
        with torch.random.fork_rng():  # what follows in the workflow draws from it
            learned = _learned(settings, inputs, images)
        result = _saved(settings, learned, images)
    except comfy.model_management.InterruptProcessingException:
        raise
    except Exception as error:  # of any kind, as the model may be another extension's
        settings.failed(str(error) or type(error).__name__)
        _LOG.warning("learning failed", exc_info=True)
        result = ""
    if not result:
        comfy.model_management.soft_empty_cache()  # now that no traceback holds tensors
        return settings.outcome(0)
    REMEMBERED.finished(settings.folder)
    return result


def _learned(settings: Settings, inputs: Inputs, images: int) -> Learned:
    """The best spacing for the remembered images, and its weights."""
    setup, num_full = settings.setup, settings.num_full
    budget = budget_of(setup.num_steps, num_full, images)
    bar = comfy.utils.ProgressBar(budget.evaluations)

    def on_evaluation(count: int) -> None:
        comfy.model_management.throw_exception_if_processing_interrupted()
        bar.update(count)

    replay = Replay(
        REMEMBERED.of(settings.folder), setup.guider, setup.sampler, setup.sigmas, steps_of(setup),
        on_evaluation,
    )  # fmt: skip
    run = setup.known(Reuse(), inputs.continues)
    damped = run.told(DampedVelocity())
    assert isinstance(damped, DampedVelocity)
    default = setup.choice_of(by_count(num_full, None, ()), inputs.continues)
    runs = Runs(
        replay.steps, replay.state, replay.velocities,
        lambda step, anchors: damped.weights(run.sigmas, anchors, step),
    )  # fmt: skip
    picture = setup.patcher.model.latent_format

    def score(image: int, end: Tensor) -> float:
        return decibels(end, replay.state(image, setup.num_steps), picture)

    return learn(
        to_learn(num_full, default.schedule, default.policy == damped), budget, runs, score,
        lambda count: replay.ends(default, count),
    )  # fmt: skip


def _saved(settings: Settings, learned: Learned, images: int) -> str:
    """Save what was learned and say what it is worth."""
    figure, without = statistics.fmean(learned.scores), statistics.fmean(learned.default)
    if not learned.is_better:
        reason = (
            f"learning from {counted(images, 'image')} brought nothing here: about {figure:.0f} dB "
            f"when tried on each other, about {without:.0f} dB without a path"
        )
        settings.save_outcome(images, reason)
        return reason
    conditions = plain(settings.setup.conditions)
    policy = replace(learned.policy, conditions=conditions, examples=images)
    is_picture = settings.setup.sigmas[-1] == 0  # else noise is left, and the figure is not of one
    quality = {LEARNED_FIGURE: round(figure, 2)} if is_picture else {}
    path = settings.path(policy, learned.schedule, quality)
    user_paths.library().save(path, overwrite=True)
    factor = settings.setup.num_steps / settings.num_full
    little = f" (little more than the {without:.0f} without a path)" if figure < without + 1 else ""
    return f"{evidence(path)}{little}; from the next image on about {factor:.1f} times faster"


def decibels(end: Tensor, wanted: Tensor, latent_format: Any) -> float:
    """PSNR of a picture, estimated from latents ``[1, C, ...]``; usually some dB too low.

    The error of the picture is taken to be as large a part of its contrast as that of the latents
    is of theirs. The contrast is that of ComfyUI's preview, which is linear in the latents.
    """
    error, whole = float((end - wanted).square().mean()), float(wanted.var())
    if not math.isfinite(error):
        return -math.inf
    if not error or not whole:
        return MOST if not error else -MOST
    return 10 * math.log10(whole / error) - 20 * math.log10(contrast(wanted, latent_format))


def contrast(latent: Tensor, latent_format: Any) -> float:
    """Standard deviation of a picture's values, from 0 to 1, as ComfyUI previews its latent."""
    factors = getattr(latent_format, "latent_rgb_factors", None)
    if factors is None or len(factors) != latent.shape[1]:
        return USUAL_CONTRAST
    colors = latent.float().movedim(1, -1) @ torch.tensor(factors)  # from -1 to 1
    spread = colors.flatten(0, -2).var(0).mean().sqrt() / 2
    return min(0.5, max(0.05, float(spread)))
