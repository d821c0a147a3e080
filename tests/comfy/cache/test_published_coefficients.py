"""gates/coefficients: which models of ComfyUI get published coefficients, by their configurations.

ComfyUI reads a configuration off a checkpoint's tensors; here they have shapes, but no values.
"""

from dataclasses import replace

import comfy.model_detection
import comfy.model_patcher
import comfy.samplers
import pytest
import torch
from golden_path_pack.gph_core.gates.coefficients import magnitudes, polynomials
from golden_path_pack.gph_core.methods.table import ALL, BASELINES, METHODS
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.run_plan import adaptive, setting_of
from golden_path_pack.nodes.hook import patching
from golden_path_pack.nodes.hook.setup import SamplingSetup

from ...support.comfy import tiny
from ...support.comfy.gated import FEW, fitted
from ...support.zoo import zoo, zoo_images, zoo_videos

CASES = {case.name: case for case in (*zoo_images.CASES, *zoo_videos.CASES)}
FLUX = {
    "hidden_size": 3072, "num_heads": 24, "depth": 19, "depth_single_blocks": 38,
    "context_in_dim": 4096, "vec_in_dim": 768, "mlp_ratio": 4.0, "axes_dim": [16, 56, 56],
}  # fmt: skip
HUNYUAN = FLUX | {"depth": 20, "depth_single_blocks": 40, "in_channels": 16}
WAN = {"dim": 1536, "ffn_dim": 8960, "num_heads": 12, "num_layers": 30}
WAN_14B = {"dim": 5120, "ffn_dim": 13824, "num_heads": 40, "num_layers": 40}
LTX = {
    "num_layers": 28, "attention_head_dim": 64, "num_attention_heads": 32,
    "cross_attention_dim": 2048, "caption_channels": 4096,
}  # fmt: skip
QWEN = {"num_layers": 60, "attention_head_dim": 128, "num_attention_heads": 24}
IMAGE = "Wan 2.1, image to video"
# Name, case of the zoo and what differs from it in the published configuration, whose polynomial.
MODELS = [
    ("FLUX.1 dev, Krea, Kontext", "FLUX dev", FLUX, "FLUX.1-dev"),
    ("FLUX.1 schnell", "FLUX schnell", FLUX, None),
    ("FLUX.1 Fill", "FLUX Fill", FLUX, None),
    ("FLUX.1 Canny, Depth", "FLUX Control", FLUX, None),
    ("Qwen-Image, Edit", "Qwen-Image", QWEN, None),
    ("Qwen-Image-Edit 2511", "Qwen-Image-Edit 2511", QWEN, None),
    ("HunyuanVideo", "HunyuanVideo", HUNYUAN, "HunyuanVideo"),
    ("HunyuanVideo I2V", "HunyuanVideo, image to video", HUNYUAN | {"in_channels": 33}, None),
    ("Wan 2.1 T2V 1.3B", "Wan 2.1 1.3B", WAN, "Wan 2.1 T2V 1.3B"),
    ("Wan 2.1 VACE 1.3B", "Wan VACE", WAN | {"vace_layers": 15}, None),
    ("Wan 2.1, 2.2 T2V 14B", "Wan 2.1 1.3B", WAN_14B, "Wan 2.1 T2V 14B"),
    ("Wan 2.1 I2V 14B", IMAGE, WAN_14B, "Wan 2.1 I2V 14B 480P"),
    ("Wan 2.1 FLF2V 14B", IMAGE, WAN_14B | {"flf_pos_embed_token_number": 514}, None),
    ("Wan 2.2 I2V 14B", "Wan 2.2 14B, image to video", WAN_14B, None),
    ("LTX-Video 2B", "LTX-Video", LTX, "LTX-Video 2B"),
    ("LTX-Video 13B", "LTX-Video", LTX | {"num_layers": 48, "attention_head_dim": 128}, None),
]
# Whose ratios of MagCache, by the same names.
RATIOS = {
    "FLUX.1 dev, Krea, Kontext": "FLUX.1-dev",
    "Qwen-Image, Edit": "Qwen-Image",
    "HunyuanVideo": "HunyuanVideo 540p",
}


def setting(case_name, published):
    """What a method knows of a run of a model of the published size."""
    case = CASES[case_name]
    with torch.device("meta"):
        made = case.config(case.unet | published).get_model({}, "", device="meta")
    shapes = made.diffusion_model.state_dict()
    config = comfy.model_detection.model_config_from_unet(shapes, "")
    model = config.get_model(shapes, "", device="meta")
    patcher = comfy.model_patcher.ModelPatcher(model, torch.device("cpu"), torch.device("cpu"))
    guider = comfy.samplers.CFGGuider(patcher)
    setup = SamplingSetup(guider, comfy.samplers.sampler_object("euler"), [1.0, 0.5, 0.0], (1, 16))
    return setting_of(setup.known(Reuse()), None)


def published(method, found):
    row = ALL[method].published(found)
    return row and row.model


@pytest.mark.parametrize(
    ("name", "case_name", "config", "polynomial"), MODELS, ids=[m[0] for m in MODELS]
)
def test_a_model_gets_the_coefficients_of_its_configuration(name, case_name, config, polynomial):
    found = setting(case_name, config)
    expected = {"TeaCache": polynomial, "MagCache": RATIOS.get(name)}
    for method, row in ALL.items():
        assert published(method, found) == expected.get(row.name)


def test_every_row_that_is_there_is_reached():
    assert {model for *_, model in MODELS if model} == {row.model for row in polynomials()}
    assert set(RATIOS.values()) == {row.model for row in magnitudes()}


@pytest.mark.parametrize(
    ("method", "case_name", "model"),
    [
        ("TeaCache", "FLUX dev", "FLUX.1-dev"),
        ("TeaCache", "Wan 2.1 1.3B", "Wan 2.1 T2V 1.3B"),  # settles its schedule before the run
        ("MagCache", "FLUX dev", "FLUX.1-dev"),
    ],
)
def test_a_run_says_whose_coefficients_it_takes_unless_they_are_its_own(
    method, case_name, model, monkeypatch
):
    case, rows = CASES[case_name], {"TeaCache": polynomials, "MagCache": magnitudes}[method]()
    row = replace(ALL[method], published=lambda _: next(r for r in rows if r.model == model))
    for table in (ALL, METHODS, BASELINES):
        if method in table:
            monkeypatch.setitem(table, method, row)
    listener, tiny_model = tiny.Listener(), zoo.build(case)
    for own in (None, fitted(method, case)):
        plan = replace(adaptive(row, row.policy, 0.3, calibration=own), calibration=None)
        zoo.sample(case, patching.attach(tiny_model, plan, listener))
    others, own = ([n for n in record.notes if n != FEW] for record in listener.records)
    assert others == [f"coefficients published for {model}"]
    assert own == []
