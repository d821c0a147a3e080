"""``signals`` of blocks that make norm and modulation in one function, as newer ComfyUI has them.

The functions of this file stand for those of a layer file: they compute in float64, so that they
round in another way than norm and modulation one after the other.
"""

from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn import functional

from gph_core.model import signals

WIDTH = 8


def fused(normed, scale, shift):
    return (normed.double() * (1 + scale.double()) + shift.double()).to(scale.dtype)


def modulated_norm(x, norm, scale, shift, modulation_dims=None):
    assert modulation_dims is None
    return fused(norm(x.double()), scale, shift)


def modulate(x, norm, shift, scale):
    return fused(norm(x.double()), scale, shift)


def rms_adaln(x, scale, shift):
    return fused(functional.rms_norm(x.double(), x.shape[-1:], eps=1e-6), scale, shift)


comfy = SimpleNamespace(quant_ops=SimpleNamespace(ck=SimpleNamespace(rms_adaln=rms_adaln)))


class Block(nn.Module):
    """A block whose attention notes what it receives."""

    def __init__(self):
        super().__init__()
        self.norm = self.img_norm1 = self.norm1 = nn.LayerNorm(WIDTH, elementwise_affine=False)
        self.modulation = nn.Parameter(torch.randn(1, 6, WIDTH))
        self.scale_shift_table = nn.Parameter(torch.randn(6, WIDTH))
        self.attended = None

    def attend(self, tokens):
        self.attended = tokens
        return tokens


class Double(Block):
    def forward(self, *, img, vec):
        (first, _), _ = vec
        return self.attend(modulated_norm(img, self.img_norm1, first.scale, first.shift))


class Wan(Block):
    def forward(self, x, *, e):
        shift, scale = (self.modulation + e).chunk(6, dim=1)[:2]
        return self.attend(modulate(x, self.norm1, shift, scale))


class LTX(Block):
    def forward(self, x, *, timestep):
        rows = self.scale_shift_table + timestep.unflatten(-1, (6, WIDTH))
        shift, scale = rows[:, :, :2].unbind(2)
        return self.attend(comfy.quant_ops.ck.rms_adaln(x, scale, shift))


class Elsewhere(Double):
    """A class of another file, which inherits the code that it runs."""


Elsewhere.__module__ = "another_file"


class Compiled(nn.Module):
    """A block in the wrapper that ``torch.compile`` puts around a module."""

    def __init__(self, block):
        super().__init__()
        self._orig_mod = block

    def forward(self, *args, **kwargs):
        return self._orig_mod(*args, **kwargs)

    def __getattr__(self, name):
        if name == "_orig_mod":
            return super().__getattr__(name)
        return getattr(self._orig_mod, name)


class InTwoSteps(Block):
    """Its file has the function, too, but it does not call it."""

    def forward(self, *, img, vec):
        (first, _), _ = vec
        return self.attend(torch.addcmul(first.shift, self.img_norm1(img), 1 + first.scale))


def of_double(tokens, random):
    first = SimpleNamespace(shift=random(2, 1, WIDTH), scale=random(2, 1, WIDTH))
    return (), {"img": tokens, "vec": ((first, None), None)}


def of_wan(tokens, random):
    return (tokens,), {"e": random(2, 6, WIDTH)}


def of_ltx(tokens, random):
    return (tokens,), {"timestep": random(2, 1, 6 * WIDTH)}


CASES = {
    "double": (Double, signals.double_stream, of_double),
    "of another file": (Elsewhere, signals.double_stream, of_double),
    "in two steps": (InTwoSteps, signals.double_stream, of_double),
    "Wan": (Wan, signals.wan, of_wan),
    "LTX-Video": (LTX, signals.ltx_video, of_ltx),
}


@pytest.mark.parametrize("compiled", [False, True], ids=["as it is", "compiled"])
@pytest.mark.parametrize(("kind", "signal", "arguments"), CASES.values(), ids=CASES.keys())
def test_the_signal_is_what_the_attention_of_a_fused_block_receives(
    kind, signal, arguments, compiled
):
    generator = torch.Generator().manual_seed(0)

    def random(*shape):
        return torch.randn(shape, generator=generator).bfloat16()

    block = kind().bfloat16()
    args, kwargs = arguments(random(2, 50, WIDTH), random)
    with torch.inference_mode():
        block(*args, **kwargs)
        called = Compiled(block) if compiled else block
        found = signal(called, *args, **kwargs)
    assert torch.equal(found, block.attended)


def test_the_two_ways_of_computing_it_round_differently():
    # Without this the test above would say nothing.
    tokens, scale, shift = torch.randn(3, 2, 50, WIDTH, generator=torch.Generator().manual_seed(0))
    args = (tokens.bfloat16(), nn.LayerNorm(WIDTH, elementwise_affine=False))
    one = modulated_norm(*args, scale.bfloat16(), shift.bfloat16())
    two = torch.addcmul(shift.bfloat16(), args[1](args[0]), 1 + scale.bfloat16())
    assert not torch.equal(one, two)
    torch.testing.assert_close(one, two, rtol=0.1, atol=0.1)
