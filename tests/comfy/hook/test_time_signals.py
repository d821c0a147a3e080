"""model/signals: Wan's time signal is that of a computation by hand and of the model."""

import math

import comfy.ops
import pytest
import torch
from golden_path_pack.gph_core.model import families, signals

from ...support.selection import later
from ...support.zoo import zoo, zoo_videos
from ...support.zoo.zoo_all import FAMILIES, cases

WAN = [case for case in zoo_videos.CASES if case.family.startswith("Wan")]
T2V = next(case for case in WAN if case.name == "Wan 2.1 1.3B")
LEVELS = torch.tensor([1.0, 0.9375, 0.5, 0.1, 0.0])


def time_layers(transformer):
    first, _, second = transformer.time_embedding
    return first, second, transformer.time_projection[1]


def by_hand(transformer, sigmas):
    """Six rows for each noise level, in float64 and one by one."""
    half = transformer.freq_dim // 2
    rows = []
    for sigma in sigmas.tolist():
        angles = [1000 * sigma / 10_000 ** (i / half) for i in range(half)]
        x = torch.tensor([*map(math.cos, angles), *map(math.sin, angles)], dtype=torch.float64)
        first, second, third = (
            (layer.weight.double(), layer.bias.double()) for layer in time_layers(transformer)
        )
        for weight, bias in (first, second, third):
            x = weight @ x + bias
            if weight is not third[0]:
                x = x / (1 + (-x).exp())  # silu
        rows.append(x.reshape(6, transformer.dim))
    return torch.stack(rows)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_the_time_signal_is_that_of_a_computation_by_hand(dtype):
    transformer = zoo.build(T2V, dtype).model.diffusion_model
    found = signals.wan_time(transformer, LEVELS)
    assert found.dtype is torch.float32
    torch.testing.assert_close(found, by_hand(transformer, LEVELS).float(), rtol=1e-4, atol=1e-5)
    assert {layer.weight.dtype for layer in time_layers(transformer)} == {dtype}


@pytest.mark.parametrize("dtype", [torch.float32, *later(torch.bfloat16)], ids=["fp32", "bf16"])
@pytest.mark.parametrize("case", cases(FAMILIES.values(), WAN))
def test_the_time_signal_is_what_the_model_computes(case, dtype):
    model = zoo.build(case, dtype)
    transformer = model.model.diffusion_model
    computed = []
    transformer.time_projection.register_forward_hook(
        lambda _module, _args, result: computed.append(result.flatten(0, -2).unflatten(-1, (6, -1)))
    )
    zoo.sample(case, model, steps=3)
    levels = zoo.sigmas(model, 3)[:-1]
    family = families.detect(transformer)
    steps = iter(family.signal.of_time(transformer, levels))
    expected, tolerance = None, 1e-3 if dtype is torch.float32 else 0.03
    for rows in computed:
        # Rows of given frames and references are at timestep zero.
        def near(signal, rows=rows):
            distances = (rows.float() - signal).flatten(1).norm(dim=1) / signal.norm()
            return distances.min() < tolerance

        if expected is None or not near(expected):
            expected = next(steps)
            assert near(expected)
    assert next(steps, None) is None


def replace_time_layers(transformer, make):
    """Put in the place of each layer what ``make`` makes of its weight and bias."""
    for layers, index in (
        (transformer.time_embedding, 0),
        (transformer.time_embedding, 2),
        (transformer.time_projection, 1),
    ):
        layers[index] = make(layers[index].weight.data, layers[index].bias.data)


class CastingLinear(comfy.ops.manual_cast.Linear):
    """Weights of another dtype than the computation; ComfyUI may keep what it casts them from."""

    def forward(self, x):
        assert self.weight.dtype is torch.float8_e4m3fn
        return super().forward(x)


def test_layers_that_cast_their_weights_do_so_for_the_time_signal():
    def casting(weight, bias):
        layer = CastingLinear(*weight.shape[::-1])
        layer.weight = torch.nn.Parameter(weight.to(torch.float8_e4m3fn), requires_grad=False)
        layer.bias = torch.nn.Parameter(bias.bfloat16(), requires_grad=False)
        return layer

    transformer = zoo.build(T2V).model.diffusion_model
    replace_time_layers(transformer, casting)
    found = signals.wan_time(transformer, LEVELS)
    torch.testing.assert_close(found, by_hand(transformer, LEVELS).float(), rtol=1e-4, atol=1e-5)


def test_quantised_layers_compute_the_time_signal_in_their_own_way():
    operations = comfy.ops.mixed_precision_ops({}, torch.bfloat16)

    def quantised(weight, bias):
        layer = operations.Linear(*weight.shape[::-1])
        scale = weight.abs().max() / 448  # the largest number of this dtype
        kind = torch.tensor([*b'{"format": "float8_e4m3fn"}'], dtype=torch.uint8)
        layer.load_state_dict(
            {
                "weight": (weight / scale).to(torch.float8_e4m3fn),
                "weight_scale": scale,
                "bias": bias.bfloat16(),
                "comfy_quant": kind,
            }
        )
        return layer

    transformer = zoo.build(T2V).model.diffusion_model
    expected = by_hand(transformer, LEVELS).float()
    replace_time_layers(transformer, quantised)
    found = signals.wan_time(transformer, LEVELS)
    assert found.dtype is torch.float32
    # Weights and inputs of each layer have three bits behind the point.
    assert (found - expected).norm() < 0.1 * expected.norm()
