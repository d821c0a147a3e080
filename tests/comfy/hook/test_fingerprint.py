"""A model's fingerprint is that of its file and its patches, whatever ComfyUI did with it since."""

from functools import partial
from types import SimpleNamespace

import comfy.controlnet
import comfy.hooks
import comfy.model_management
import comfy.model_patcher
import pytest
import torch
from comfy.patcher_extension import WrappersMP
from comfy_extras.nodes_context_windows import ContextWindowsManualNode
from golden_path_pack.nodes.hook import fingerprint

from ...support.comfy import tiny
from ...support.zoo import zoo, zoo_videos

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


class Kept:
    """As ComfyUI's control patches: what it encodes at the size of a run is no input of it."""

    def __init__(self, image, strength):
        self._image, self.strength = image, strength
        self.encoded, self.size = torch.rand(1), 0

    def __call__(self, args):
        self.encoded, self.size = torch.rand(4), self.size + 1


class Knot:
    def __init__(self, inner):
        self.inner = inner


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
        (lambda scale: Kept(torch.ones(1, 8, 8, 3), scale), 1.0, 2.0),
        (lambda pixel: Kept(torch.full((1, 8, 8, 3), pixel), 1.0), 0.5, 0.6),
        (lambda scale: [Knot(Patch(scale).call)], 1.0, 2.0),
        (lambda number: SimpleNamespace(number=number), 1, 2),
        (control, 0.5, 0.6),
        (lambda hint: control(1.0, hint), 0.5, 0.6),
    ],
)
def test_functions_and_controls_are_told_apart_by_what_they_were_made_with(make, one, other):
    for of in (fingerprint.of_values, fingerprint.of_conditionings):
        assert of(make(one)) == of(make(one)) != of(make(other))


def test_what_an_object_comes_to_hold_and_a_ring_of_objects_leave_the_fingerprint():
    kept = Kept(torch.ones(1, 8, 8, 3), 1.0)
    before = fingerprint.of_values(kept)
    kept({})
    assert fingerprint.of_values(kept) == before
    ring = Knot(None)
    ring.inner = ring
    assert fingerprint.of_values(ring) == fingerprint.of_values(ring)


def test_weights_behind_a_patch_are_told_apart():
    def patched(by):
        module = torch.nn.Linear(4, 4)
        torch.nn.init.constant_(module.weight, by)
        torch.nn.init.zeros_(module.bias)
        return fingerprint.of_values(Knot(comfy.model_patcher.ModelPatcher(module, CPU, CPU)))

    assert patched(1.0) == patched(1.0) != patched(2.0)


WINDOWS = {
    "context_length": 16, "context_overlap": 4, "context_schedule": "standard_static",
    "context_stride": 1, "closed_loop": False, "fuse_method": "pyramid", "dim": 2,
    "freenoise": False,
}  # fmt: skip


def test_context_windows_are_options_of_a_model():
    def of(**changes):
        (windowed,) = ContextWindowsManualNode.execute(tiny.flux(), **WINDOWS | changes).result
        return fingerprint.of_model_options(windowed)

    changes = (
        {"context_length": 8},
        {"context_schedule": "looped_uniform"},
        {"fuse_method": "flat"},
    )
    assert of() == of()
    assert len({of(), fingerprint.of_model_options(tiny.flux()), *(of(**c) for c in changes)}) == 5


def test_wrappers_are_options_of_a_model_but_a_cache_is_none():
    def of(scale, key="other"):
        model = tiny.flux()
        wrapper = lambda executor, *args: scale * executor(*args)  # noqa: E731
        model.add_wrapper_with_key(WrappersMP.DIFFUSION_MODEL, key, wrapper)
        model.add_wrapper_with_key(WrappersMP.APPLY_MODEL, "gone", wrapper)
        model.remove_wrappers_with_key(WrappersMP.APPLY_MODEL, "gone")
        return fingerprint.of_model_options(model)

    plain = fingerprint.of_model_options(tiny.flux())
    assert of(2.0) == of(2.0)
    assert len({plain, of(1.0), of(2.0)}) == 3
    assert of(2.0, key=fingerprint.KEY) == plain
    assert fingerprint.of_model_options(tiny.attach(tiny.flux(), "0,2/4")) == plain


def padded(tokens, seed):
    """A conditioning as Wan's: zeros behind the prompt; all begin with the same number."""
    cross = torch.zeros(1, 512, 4096)
    cross[0, :tokens] = torch.randn(tokens, 4096, generator=torch.Generator().manual_seed(seed))
    cross[0, 0, 0] = 0.5
    return [[cross, {"pooled_output": None}]]


@pytest.mark.parametrize("tokens", [1, 6, 8])
def test_short_prompts_are_told_apart_though_zeros_follow(tokens):
    of = fingerprint.of_conditionings
    assert len({of(padded(tokens, seed)) for seed in range(10)}) == 10
    # Two digits are the same on another device, which computes a little else.
    other = padded(tokens, 0)
    other[0][0] *= 1 + 1e-6
    assert of(other) == of(padded(tokens, 0))
    assert of([[torch.zeros(1, 512, 4096), {}]]) == of([[torch.zeros(1, 512, 4096), {}]])


def test_a_mask_is_told_from_others_by_all_of_its_columns():
    # 64 values of 512 x 512, every 4096th one, would be of the first column.
    masks = [torch.zeros(1, 512, 512) for _ in range(3)]
    masks[1][..., 200:300] = 1
    masks[2][..., 300:] = 1
    assert len({fingerprint.of_values(mask) for mask in masks}) == 3


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
