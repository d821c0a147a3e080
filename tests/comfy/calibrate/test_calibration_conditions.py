"""What a file of calibrations is for: other conditions are an error that names them."""

from contextlib import closing
from dataclasses import replace

import comfy.samplers
import pytest
import torch
from comfy_extras.nodes_custom_sampler import Guider_Basic, Guider_DualCFG
from golden_path_pack.nodes.cache import adaptive
from golden_path_pack.nodes.calibrate import budcache
from golden_path_pack.nodes.library import calibrations
from golden_path_pack.nodes.sample.workload import Workload
from golden_path_pack.nodes.schema.types import COUNT

from ...support.comfy import calibrate_nodes
from ...support.comfy.calibrate_nodes import (
    CASES,
    FULL,
    STEPS,
    calibrated,
    found,
    inputs,
    realised,
    with_lora,
    work_of,
)
from ...support.zoo import zoo

pytestmark = pytest.mark.usefixtures("in_a_run")

runs = calibrate_nodes.runs  # a fixture

DIFFERENT = {
    "cfg": ({"cfg": 4.0}, "cfg 3.0, this one is for 4.0"),
    "sampler": ({"sampler": "dpmpp_2m"}, "sampler euler, this one is for dpmpp_2m"),
    "steps": ({"steps": 13}, "noise levels"),
    "size": ({"size": 12}, "latent 16×8×8, this one is for 16×8×12"),
}


@pytest.mark.parametrize("field", DIFFERENT)
def test_other_conditions_than_the_files_are_an_error_that_names_them(field, runs):
    model = zoo.build(CASES["FLUX dev"])
    calibrated("MagCache", **inputs(count=1, model=model))
    runs.clear()
    changes, named = DIFFERENT[field]
    other = inputs(count=1, model=model, **changes)
    for again in (lambda: calibrated("MagCache", **other), lambda: found("SeaCache", **other)):
        with pytest.raises(
            ValueError, match=f"mine.safetensors holds calibrations for the {named}"
        ):
            again()
    with pytest.raises(ValueError, match="MagCache was calibrated with the"):
        realised("MagCache", other)
    assert runs.count("watched") == 0


def basic(model):
    guider = Guider_Basic(model)
    guider.set_conds(CASES["FLUX dev"].conditioning(0, 5))
    return guider


def dual(model, cfg2):
    guider, cond = Guider_DualCFG(model), CASES["FLUX dev"].conditioning(0, 5)
    guider.set_conds(cond, cond, cond)
    guider.set_cfg(3.0, cfg2)
    return guider


def test_basic_guider_is_one_with_cfg_1():
    given = inputs(count=1, cfg=1.0)
    calibrated("MagCache", **given)
    found("MagCache", **given, guider=basic(given["model"]))
    plan = adaptive.plan_of("MagCache", COUNT, 0.0, "mine", FULL)
    sampling = Workload(
        basic(given["model"]), given["examples"], given["latent"], given["sampler"], given["sigmas"]
    ).sampling(0)
    assert len(sampling.under(plan)[1].cached_steps) == STEPS - FULL


def with_options(model, **options):
    patched = model.clone()
    patched.model_options.update(options)
    return patched


def test_options_of_guider_sampler_and_model_are_conditions_too():
    model = zoo.build(CASES["FLUX dev"])
    given = inputs(count=1, model=model)
    dynamic = {**given, "guider": dual(model, 2.0)}
    churned = comfy.samplers.ksampler("euler", {"s_churn": 0.5})
    calibrated("MagCache", **given)
    others = {
        "guider CFGGuider, this one is for Guider_DualCFG": dynamic,
        "sampler options": given | {"sampler": churned},
        "model patches": given | {"model": with_options(model, sampler_cfg_function=max)},
    }
    for named, other in others.items():
        with pytest.raises(ValueError, match=f"holds calibrations for the {named}"):
            calibrated("MagCache", **other)
    calibrated("MagCache", name="dual", **dynamic)
    with pytest.raises(ValueError, match="holds calibrations for the numbers of the guider"):
        calibrated("MagCache", name="dual", **given | {"guider": dual(model, 4.0)})


def test_examples_of_one_conditioning_are_two_by_the_words_of_their_prompts():
    given = inputs(count=1)
    (example,) = given["examples"]
    several = [replace(example, prompt=words) for words in ("a cat", "a hat", "a cat")]
    work = work_of(given | {"examples": several})
    assert [e.prompt for e in work.examples] == ["a cat", "a hat"]


def test_scores_are_of_one_image_one_mask_and_one_negative_prompt():
    given = inputs(count=2, steps=6)
    bare = [replace(example, negative=None) for example in given["examples"]]
    image = torch.full_like(given["latent"]["samples"], 0.5)
    mask = torch.ones(1, 1, *image.shape[-2:])

    def num_scores(latent=given["latent"], seed=7, searches=False):
        guider = comfy.samplers.CFGGuider(given["model"])
        guider.set_cfg(3.0)
        guider.set_conds(*(CASES["FLUX dev"].conditioning(n, 5) for n in (1, seed)))
        work = Workload(guider, bare, latent, given["sampler"], given["sigmas"])
        file = calibrations.FILES.path_of("mine")
        if searches:
            budcache.search(work, 5, file)
        with closing(budcache._log_of(work, file)) as log:
            return len(log)

    assert num_scores(searches=True) == num_scores() > 0
    assert num_scores(seed=8) == 0
    assert num_scores({"samples": image}) == 0
    assert num_scores(given["latent"] | {"noise_mask": mask}) == 0


def test_a_name_is_free_again_when_its_file_is_deleted():
    given = inputs(count=2, steps=6)
    for model in (given["model"], with_lora(given["model"])):
        calibrated("BudCache", speed=COUNT, full_steps=5, **given | {"model": model})
        calibrations.FILES.path_of("mine").unlink()
