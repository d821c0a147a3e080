"""Runs of the demo model that learn, as a cache node makes them."""

import comfy.sample
import comfy.samplers
import torch
from golden_path_pack.demo import comfy_model
from golden_path_pack.nodes.cache.cache import plan_of
from golden_path_pack.nodes.hook import patching
from golden_path_pack.nodes.learn.learner import Learner

from ..zoo import zoo
from . import tiny
from .demo_examples import examples

STEPS, SPEED = 12, "Balanced"  # five full steps
CACHED = 7


class Listener(tiny.Listener):
    """Keeps what is told about learning, too."""

    def __init__(self):
        super().__init__()
        self.fits, self.known = [], []
        self.fitting, self.learned = self.fits.append, self.known.append


def guider_of(cfg=5.0, number=0, kind=comfy.samplers.CFGGuider, model=None, **conds):
    """A guider for a prompt of the demo model."""
    guider, example = kind(model or comfy_model.load_model()), examples()[number]
    guider.set_cfg(cfg)
    guider.inner_set_conds({"positive": example.positive, "negative": example.negative} | conds)
    return guider


def learned(
    seed, wanted=2, sampler="euler", guider=None, images=1, sigmas=None, latent=None, mask=None,
    speed=SPEED, noise=None, callback=None,
):  # fmt: skip
    """Latent and listener of a run that learns; that of a plain run with ``wanted`` None."""
    guider = guider or guider_of()
    listener, model = Listener(), guider.model_patcher
    if wanted is not None:
        learner = Learner(wanted, listener)
        model = patching.attach(model, plan_of(speed, "", None), listener, learner=learner)
    guider.model_patcher, guider.model_options = model, model.model_options
    start = torch.zeros(images, 48, 8, 8) if latent is None else latent
    given = comfy.sample.prepare_noise(start, seed) if noise is None else noise
    if isinstance(sampler, str):
        sampler = comfy.samplers.sampler_object(sampler)
    levels = zoo.sigmas(model, STEPS) if sigmas is None else sigmas
    result = guider.sample(
        given, start, sampler, levels, denoise_mask=mask, callback=callback, disable_pbar=True,
        seed=seed,
    )  # fmt: skip
    return result, listener


def guider_of_case(case, model, kind=comfy.samplers.CFGGuider, **conds):
    """A guider for a model of the zoo."""
    guider = kind(model)
    guider.set_cfg(case.cfg)
    guider.inner_set_conds(
        {"positive": case.conditioning(1, 5), "negative": case.conditioning(2, 5)} | conds
    )
    return guider


def learned_case(seed, case, model, wanted=2, steps=STEPS, conds=None, **how):
    """The same for a model of the zoo, the latent as its streams."""
    guider = how.pop("guider", None) or guider_of_case(case, model, **(conds or {}))
    how = {"sigmas": zoo.sigmas(model, steps), "latent": zoo.empty_latent(case)} | how
    result, listener = learned(seed, wanted, guider=guider, **how)
    return zoo.streams(result), listener


def record(seed, **how):
    """Record of a run that learns."""
    return learned(seed, **how)[1].records[-1]
