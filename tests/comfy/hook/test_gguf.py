"""hook/patching: weights as GGUF loaders keep them, by a stand-in of the same structure.

ComfyUI builds its own class of transformer from the loader's layers. Their weights are packed
bytes in a tensor of the loader's class, which says the shape that they stand for. A layer unpacks
its weight whenever it runs, and adds the LoRAs that the loader's own patcher has put beside it.
"""

import comfy.lora
import comfy.model_patcher
import comfy.ops
import comfy.supported_models
import comfy.utils
import pytest
import torch
from golden_path_pack.gph_core.policies.extrapolation import Reuse, TokenTaylor
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor
from golden_path_pack.nodes.hook import fingerprint
from golden_path_pack.nodes.hook.compatibility import identify

from ...support.comfy import tiny
from ...support.comfy.loras import LAYER, lora

SCHEDULE = "0-2,5/8"
POLICIES = [Reuse(), TwoAnchor(), TokenTaylor()]


def levels(weight):
    """The 16 levels that a weight is rounded to, from 0, and their distance."""
    step = weight.abs().amax() / 7
    return (weight / step).round().add(8).to(torch.uint8), step


class Packed(torch.Tensor):
    """Two weights in a byte; its shape is that of the weights."""

    @staticmethod
    def of(weight):
        numbers, step = levels(weight)
        packed = (numbers[:, ::2] * 16 + numbers[:, 1::2]).as_subclass(Packed)
        packed.stands_for, packed.step, packed.patches = weight.shape, step, []
        return packed

    @property
    def shape(self):
        return self.stands_for

    def to(self, *args, **kwargs):
        return self

    def clone(self, *args, **kwargs):
        return self

    def detach(self, *args, **kwargs):
        return self


def unpacked(packed):
    data = packed.as_subclass(torch.Tensor)
    numbers = torch.stack((data // 16, data % 16), dim=-1).flatten(1)
    weight = (numbers.float() - 8) * packed.step
    for key, patches in packed.patches:
        weight = comfy.lora.calculate_weight(patches, weight, key)
    return weight


class PackedOps(comfy.ops.manual_cast):
    class Linear(comfy.ops.manual_cast.Linear):
        def forward_comfy_cast_weights(self, input):
            return torch.nn.functional.linear(input, unpacked(self.weight), self.bias)


class PackedPatcher(comfy.model_patcher.ModelPatcher):
    """The loader's patcher: it leaves LoRAs beside a packed weight."""

    def patch_weight_to_device(self, key, device_to=None, inplace_update=False, **kwargs):
        weight = comfy.utils.get_attr(self.model, key)
        if key not in self.patches or not isinstance(weight, Packed):
            return super().patch_weight_to_device(key, device_to, inplace_update, **kwargs)
        weight.patches = [(key, self.patches[key])]
        return None

    def load(self, *args, force_patch_weights=False, **kwargs):
        return super().load(*args, force_patch_weights=True, **kwargs)

    def unpatch_model(self, device_to=None, unpatch_weights=True):
        for weight in self.model.parameters():
            if unpatch_weights and isinstance(weight, Packed):
                weight.patches = []
        return super().unpatch_model(device_to, unpatch_weights)


def linears(model):
    return [m for m in model.model.diffusion_model.modules() if isinstance(m, torch.nn.Linear)]


@pytest.fixture
def gguf():
    """The tiny FLUX with packed weights, loaded as such a loader does."""
    config = comfy.supported_models.Flux(dict(tiny.CONFIG))
    config.set_inference_dtype(torch.float32, None)
    config.custom_operations = PackedOps
    model = config.get_model({}, "")
    cpu = torch.device("cpu")
    loaded = PackedPatcher(model, load_device=cpu, offload_device=cpu)
    for layer, plain in zip(linears(loaded), linears(tiny.flux()), strict=True):
        layer.weight = torch.nn.Parameter(Packed.of(plain.weight.data), requires_grad=False)
        layer.bias = plain.bias
    others = {
        key: value
        for key, value in tiny.flux().model.diffusion_model.state_dict().items()
        if value.ndim == 1
    }
    model.diffusion_model.load_state_dict(others, strict=False)
    return loaded


def rounded():
    """The same model with plain weights: rounded beforehand."""
    model = tiny.flux()
    for layer in linears(model):
        numbers, step = levels(layer.weight.data)
        layer.weight.data = (numbers.float() - 8) * step
    return model


def test_the_stand_in_packs_its_weights(gguf):
    weight = gguf.model.get_submodule(LAYER).weight
    plain = tiny.flux().model.get_submodule(LAYER).weight
    assert weight.shape == plain.shape
    assert weight.data.as_subclass(torch.Tensor).numel() * 2 == plain.numel()
    assert identify(gguf)[1] == "FLUX"
    sample = tiny.sample(gguf)
    assert torch.equal(sample, tiny.sample(rounded()))
    assert not torch.equal(sample, tiny.sample(tiny.flux()))


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_packed_weights_are_cached_like_plain_ones(gguf, policy):
    listener = tiny.Listener()
    patched = tiny.attach(gguf, SCHEDULE, policy, listener)
    assert type(patched) is PackedPatcher
    assert torch.equal(tiny.sample(patched), tiny.sample(tiny.attach(rounded(), SCHEDULE, policy)))
    assert listener.records[0].full_steps == (0, 1, 2, 5)
    assert torch.equal(tiny.sample(tiny.attach(gguf, "0-7/8", policy)), tiny.sample(gguf))


def test_no_packed_layer_of_a_block_runs_on_a_cached_step(gguf, monkeypatch):
    with tiny.counted_blocks(monkeypatch) as count:
        tiny.sample(tiny.attach(gguf, SCHEDULE))
    assert count[0] == 4 * 5


def test_a_lora_beside_packed_weights_acts_before_and_after_the_node(gguf):
    before = tiny.sample(tiny.attach(lora(gguf), SCHEDULE))
    after = tiny.sample(lora(tiny.attach(gguf, SCHEDULE)))
    assert torch.equal(before, after)
    # A plain weight gets it once, at loading: it rounds differently.
    expected = tiny.sample(tiny.attach(lora(rounded()), SCHEDULE))
    torch.testing.assert_close(before, expected, rtol=1e-4, atol=1e-4)
    plain = tiny.sample(tiny.attach(gguf, SCHEDULE))
    assert (before - plain).abs().max() > 1e-2
    assert torch.equal(plain, tiny.sample(tiny.attach(rounded(), SCHEDULE)))


def test_a_search_knows_packed_weights_again(gguf):
    found = fingerprint.of_model(gguf)
    assert fingerprint.of_model(tiny.attach(gguf, SCHEDULE)) == found
    with_lora = lora(gguf)
    assert fingerprint.of_model(with_lora) != found
    for model in (gguf, with_lora):
        tiny.sample(model)  # leaves the LoRA beside the weight that both have
        assert fingerprint.of_model(gguf) == found
    assert gguf.model.get_submodule(LAYER).weight.patches
    assert fingerprint.of_architecture(gguf) == fingerprint.of_architecture(tiny.flux())
    assert fingerprint.of_model(rounded()) != found
