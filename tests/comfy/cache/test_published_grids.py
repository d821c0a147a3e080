"""paths/library: the noise levels of the published paths against ComfyUI's own schedulers."""

import comfy.model_sampling
import comfy.samplers
import pytest
from golden_path_pack.gph_core.paths.choice import same_levels
from golden_path_pack.gph_core.paths.library import bundled_paths


def simple(sampling, shift, steps=50):
    model_sampling = sampling()
    model_sampling.set_parameters(shift=shift)
    return comfy.samplers.calculate_sigmas(model_sampling, "simple", steps).tolist()


@pytest.mark.parametrize(
    ("model", "sampling", "shift"),
    [
        ("FLUX.1-dev", comfy.model_sampling.ModelSamplingFlux, 1.15),
        ("HunyuanVideo", comfy.model_sampling.ModelSamplingDiscreteFlow, 7.0),
        ("Wan 2.1 T2V 1.3B", comfy.model_sampling.ModelSamplingDiscreteFlow, 5.0),
    ],
)
def test_the_simple_scheduler_has_the_published_noise_levels(model, sampling, shift):
    paths = [path for path in bundled_paths() if path.model == model]
    assert paths
    for path in paths:
        assert same_levels(path.sigmas, simple(sampling, shift))
        assert not same_levels(path.sigmas, simple(sampling, shift * 1.1))


def test_comfyuis_qwen_image_has_other_noise_levels():
    levels = {path.sigmas for path in bundled_paths() if path.model == "Qwen-Image"} - {()}
    default = simple(comfy.model_sampling.ModelSamplingDiscreteFlow, 3.1)
    assert not any(same_levels(path, default) for path in levels)
