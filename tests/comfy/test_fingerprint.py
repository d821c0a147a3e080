"""A model's fingerprint is that of its file and its patches, whatever ComfyUI did with it since."""

from functools import partial
from types import SimpleNamespace

import comfy.controlnet
import comfy.hooks
import comfy.model_management
import comfy.model_patcher
import pytest
import torch
from golden_path_pack.nodes import fingerprint

from . import tiny, zoo, zoo_videos

quantized = pytest.importorskip("comfy_kitchen.tensor")

KEY = "diffusion_model.double_blocks.0.img_attn.qkv.weight"
CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def inference():
    with torch.inference_mode():
        yield
        comfy.model_management.unload_all_models()


def with_lora(model, by, strength=1.0):
    lora = model.clone()
    change = torch.full_like(model.model.state_dict()[KEY], by)
    lora.add_patches({KEY: ("diff", (change,))}, strength)
    return lora


@pytest.mark.parametrize("in_place", [False, True])
def test_sampling_and_unloading_leave_the_fingerprints_with_and_without_a_lora(in_place):
    model = tiny.flux()
    model.weight_inplace_update = in_place
    lora = with_lora(model, 0.1)
    before = fingerprint.of_model(model), fingerprint.of_model(lora)
    assert before[0] != before[1]
    tiny.sample(lora)
    assert KEY in lora.backup  # the weights of both hold the LoRA now
    assert (fingerprint.of_model(model), fingerprint.of_model(lora)) == before
    comfy.model_management.unload_all_models()
    assert not lora.backup
    assert (fingerprint.of_model(model), fingerprint.of_model(lora)) == before


def test_another_lora_another_strength_and_other_weights_are_told_apart():
    model = tiny.flux()
    other = tiny.flux()
    zoo.randomize(other.model.diffusion_model, seed=1)
    several = [model, other, with_lora(model, 0.1), with_lora(model, 0.2), with_lora(model, 0.1, 2)]
    assert len({fingerprint.of_model(one) for one in several}) == 5


class Patch:
    def __init__(self, scale):
        self.scale = scale

    def call(self, args):
        return args["cond"] * self.scale


def guided(scale):
    return lambda args: args["cond"] * scale


def layers(*numbers):
    chosen = {"layers": [list(numbers)]}
    return lambda args: chosen


def control(strength, hint=0.0):
    found = comfy.controlnet.ControlNet()
    return found.set_cond_hint(torch.full((1, 3, 8, 8), hint), strength)


@pytest.mark.parametrize(
    ("make", "one", "other"),
    [
        (guided, 1.0, 2.0),
        (layers, 7, 8),
        (lambda scale: Patch(scale).call, 1.0, 2.0),
        (lambda scale: partial(guided, scale), 1.0, 2.0),
        (control, 0.5, 0.6),
        (lambda hint: control(1.0, hint), 0.5, 0.6),
    ],
)
def test_functions_and_controls_are_told_apart_by_what_they_were_made_with(make, one, other):
    for of in (fingerprint.of_values, fingerprint.of_conditionings):
        assert of(make(one)) == of(make(one)) != of(make(other))


def test_a_hook_that_acts_leaves_the_fingerprint():
    model = tiny.flux()
    before = fingerprint.of_model(model)
    model.hook_mode = comfy.hooks.EnumHookMode.MinVram
    change = torch.ones_like(model.model.state_dict()[KEY])
    model.patch_hook_weight_to_device(
        comfy.hooks.HookGroup(), {KEY: [(1.0, ("diff", (change,)), 1.0, None, None)]}, KEY,
        model.get_key_patches(), None,
    )  # fmt: skip
    assert KEY in model.hook_backup
    assert fingerprint.of_model(model) == before


def test_weights_that_dynamic_loading_casts_leave_the_fingerprint():
    # ComfyUI keeps them as the file has them, here in 32 bits, until it first loads the model.
    case = next(case for case in zoo_videos.CASES if case.name == "Wan 2.1 14B")
    model = zoo.build(case, torch.bfloat16)
    comfy.model_management.archive_model_dtypes(model.model)
    parameters = dict(model.model.named_parameters())
    for parameter in parameters.values():
        parameter.data = parameter.data.float() + 1e-6
    before = fingerprint.of_model(model)
    model._load_list(for_dynamic=True, default_device=CPU)
    assert parameters["diffusion_model.blocks.0.modulation"].dtype == torch.bfloat16
    key = "diffusion_model.blocks.0.norm3.bias"
    assert parameters[key].dtype == torch.float32
    model.backup[key] = SimpleNamespace(weight=parameters[key], inplace_update=False)
    comfy.utils.set_attr_param(model.model, key, parameters[key].to(torch.bfloat16))
    assert fingerprint.of_model(model) == before


def test_what_a_file_lacks_is_zero_before_and_after_loading():
    model = tiny.flux()
    weights = torch.zeros_like(model.model.state_dict()[KEY])
    found = []
    for missing in (weights.to("meta"), weights):
        comfy.utils.set_attr_param(model.model, KEY, missing)
        found.append(fingerprint.of_model(model))
    assert found[0] == found[1]


def test_a_compiled_block_leaves_the_fingerprint():
    model = tiny.flux()
    before = fingerprint.of_model(model)
    blocks = model.model.diffusion_model.double_blocks
    blocks[0] = torch.compile(blocks[0], backend="eager")
    assert fingerprint.of_model(model) == before


LAYOUTS = ["TensorCoreFP8E4M3Layout", "TensorCoreNVFP4Layout"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_quantized_weights_are_told_apart_by_what_they_store(layout, monkeypatch):
    def quantize(values):
        return quantized.QuantizedTensor.from_float(values, layout)

    values = torch.randn(64, 64, generator=torch.Generator().manual_seed(0))
    several = [quantize(values), quantize(values.clone()), quantize(values.flip(0))]

    def dequantize(self):
        raise AssertionError("all of the weights were read")

    monkeypatch.setattr(quantized.QuantizedTensor, "dequantize", dequantize)
    one, same, other = (
        fingerprint.of_values(torch.nn.Parameter(weight, requires_grad=False)) for weight in several
    )
    assert one == same != other


def test_a_scale_tells_quantized_weights_apart():
    values = torch.ones(64, 64)
    layout = "TensorCoreFP8E4M3Layout"
    found = {
        fingerprint.of_values(quantized.QuantizedTensor.from_float(scale * values, layout, scale=s))
        for scale, s in ((1.0, torch.tensor(1.0)), (2.0, torch.tensor(2.0)))
    }
    assert len(found) == 2


def test_a_vae_that_is_loaded_has_the_fingerprint_of_its_file():
    module = torch.nn.Linear(4, 4)
    patcher = comfy.model_patcher.ModelPatcher(module, CPU, CPU)
    vae = SimpleNamespace(first_stage_model=module, patcher=patcher)
    before = fingerprint.of_module(vae)
    patcher.add_patches({"weight": ("diff", (torch.ones(4, 4),))})
    patcher.patch_model(CPU)
    assert "weight" in patcher.backup
    assert fingerprint.of_module(vae) == before
    patcher.unpatch_model(CPU)
    assert fingerprint.of_module(None) != before
